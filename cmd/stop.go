package cmd

import (
	"context"
	"os"
	"sync"
	"syscall"
)

// stopper turns signals and keys into the two ways to end a run: the first asks
// for the load to end and the rest to be drained, the second ends everything.
// Before the load has begun there is nothing to drain.
type stopper struct {
	asked chan struct{}
	abort context.CancelFunc

	mu    sync.Mutex // guards what follows
	begun bool
	once  bool
	by    os.Signal // the first
}

func newStopper(abort context.CancelFunc) *stopper {
	return &stopper{asked: make(chan struct{}), abort: abort}
}

// begin tells that the load begins.
func (s *stopper) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
}

// stop asks for the end; by is the signal that did, nil for a key.
func (s *stopper) stop(by os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.once {
		s.once, s.by = true, by
		close(s.asked)
		if s.begun {
			return
		}
	}
	s.abort()
}

// code is the exit code of a run that a signal ended; exitOK when none did.
func (s *stopper) code() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.by {
	case os.Interrupt:
		return exitInterrupted
	case syscall.SIGTERM:
		return exitTerminated
	}
	return exitOK
}

// listen follows the signals until the function that it returns is called.
func (s *stopper) listen(signals <-chan os.Signal) (end func()) {
	over := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		for {
			select {
			case sig := <-signals:
				s.stop(sig)
			case <-over:
				return
			}
		}
	})
	return func() {
		close(over)
		listening.Wait()
	}
}
