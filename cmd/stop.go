package cmd

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// stopper turns signals and keys into the two ways to end a run: the first asks
// for the load to end and the rest to be drained, the second ends everything.
// Before the load has begun there is nothing to drain.
type stopper struct {
	asked chan struct{}
	abort func()
	exit  func(code int)
	tell  func(text string)

	mu    sync.Mutex // guards what follows
	begun bool
	over  bool
	once  bool
	by    os.Signal     // the first
	grace time.Duration // how long leaving at once may take
}

func newStopper(abort context.CancelFunc, exit func(code int), tell func(text string)) *stopper {
	return &stopper{asked: make(chan struct{}), abort: abort, exit: exit, tell: tell, grace: lastResort}
}

// elsewhere notes that the run is on other hosts. grace is the time that they get to leave at once.
// Preparations there have to be undone in order too.
func (s *stopper) elsewhere(grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grace, s.begun = grace, true
}

// begin notes that the load begins.
func (s *stopper) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
}

// end notes that the run is over, with its result: a signal or a key ends what is left at once, and is not in the exit code.
func (s *stopper) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// stop asks for the end; by is the signal that did, nil for a key. SIGPIPE stands for a
// reader of stdout that has gone: it is never a second signal, however often a write fails.
func (s *stopper) stop(by os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		s.abort()
		return
	}
	if s.once && by == syscall.SIGPIPE {
		return
	}
	if !s.once {
		s.once, s.by = true, by
		close(s.asked)
		if by != nil && by != syscall.SIGPIPE && s.begun {
			// On a goroutine of its own: a terminal that takes nothing must not keep
			// the next signal from being seen.
			go s.tell("stopping after the records in flight; press again to leave at once")
		}
		if s.begun {
			return
		}
	}
	s.abort()
	if s.begun {
		code := s.exitCode()
		if code == exitOK {
			code = exitFailed // it was a key, and what is outstanding stays unknown
		}
		time.AfterFunc(s.grace, func() { s.exit(code) })
	}
}

// lastResort is the time that kt gets to leave at once. If it takes longer, a call hangs that cannot
// be interrupted, such as a write to a full pipe.
const lastResort = 3 * time.Second

// code returns the exit code of a run that a signal ended; exitOK when none did.
func (s *stopper) code() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exitCode()
}

// exitCode is code for a caller that holds mu.
func (s *stopper) exitCode() int {
	switch s.by {
	case os.Interrupt:
		return exitInterrupted
	case syscall.SIGPIPE:
		return exitUnread
	case syscall.SIGTERM:
		return exitTerminated
	case syscall.SIGHUP:
		return exitHungUp
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

// interruptible calls run with a context that a signal ends. The exit code is then that of the
// signal, unless run's error has one of its own. An error that is not the end of the context is told.
func (e *Env) interruptible(ctx context.Context, run func(context.Context) error) error {
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	stop := newStopper(abort, e.Exit, func(text string) { e.say("%s", text) })
	signals, ignore := e.Signals()
	defer ignore()
	defer stop.listen(signals)()

	err := run(ctx)
	code := stop.code()
	var own *exitError
	switch {
	case code == exitOK:
		return err
	case err == nil || errors.Is(err, context.Canceled):
		return &exitError{code, nil}
	case errors.As(err, &own):
		return err
	}
	return &exitError{code, err}
}
