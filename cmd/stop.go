package cmd

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// stopper turns signals and keys into the two ways to end a run: the first asks
// for the load to end and the rest to be drained, the second ends everything.
// Before the load has begun there is nothing to drain. After the second, kt ends within a second,
// whatever hangs.
type stopper struct {
	asked chan struct{}
	abort func()
	exit  func(code int)
	tell  func(text string)

	mu    sync.Mutex // guards what follows
	begun bool
	over  bool
	once  bool          // it was asked before
	by    os.Signal     // the first, before the run was over
	grace time.Duration // how long leaving at once may take
	leave func()        // gives the terminal back, before exit
}

func newStopper(abort context.CancelFunc, exit func(code int), tell func(text string)) *stopper {
	return &stopper{asked: make(chan struct{}), abort: abort, exit: exit, tell: tell, grace: lastResort, leave: func() {}}
}

// elsewhere notes that the run is on other hosts, and returns the context of the screen, which ends later than ctx.
func (s *stopper) elsewhere(ctx context.Context) (screen context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	screen, s.leave = context.WithCancel(context.WithoutCancel(ctx))
	s.begun = true
	return screen
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
	again := s.once
	if again && by == syscall.SIGPIPE {
		return
	}
	s.once = true
	if !again && !s.over {
		s.by = by
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
	if again && (s.begun || by != nil) { // before the load, an agent's order leaves time to undo preparations
		s.leaveLate(by)
	}
}

// leaveLate ends the process after the grace. A process that ends in order by then is not held up. The caller holds mu.
func (s *stopper) leaveLate(by os.Signal) {
	code := cmp.Or(codeOf(s.by), codeOf(by), exitFailed) // the last of a key: records in flight stay unknown
	leave := s.leave
	time.AfterFunc(s.grace-restoreTime, func() {
		go s.tell("not everything ended within a second: kt leaves without it")
		leave()
	})
	time.AfterFunc(s.grace, func() { s.exit(code) })
}

const (
	// lastResort is the time that kt gets to leave at once, so that it is gone within a second. If it takes longer, something
	// hangs, such as a write to a full pipe or a server that does not answer.
	lastResort = 800 * time.Millisecond

	// restoreTime is the part of that time in which the terminal is given back.
	restoreTime = 100 * time.Millisecond
)

// code returns the exit code of a run that a signal ended; exitOK when none did.
func (s *stopper) code() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return codeOf(s.by)
}

// codeOf returns the exit code of a signal, exitOK of none.
func codeOf(by os.Signal) int {
	switch by {
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

// ended returns the error of a run with the exit code of the signal that ended it, if one did.
func (s *stopper) ended(err error) error {
	code := s.code()
	if err == nil || code == exitOK || exitCode(err) == exitLost {
		return err
	}
	if errors.Is(err, context.Canceled) {
		err = nil // what the signal asked for
	}
	return &exitError{code, err}
}

// stoppable returns a context and a stopper for a run that signals, and a reader of stdout that has gone, end in order.
func (e *Env) stoppable(ctx context.Context, quiet bool) (_ context.Context, _ *stopper, end func()) {
	ctx, abort := context.WithCancel(ctx)
	s := newStopper(abort, e.Exit, func(text string) {
		if _, screen := e.screen(); !screen || quiet {
			e.say("%s", text)
		}
	})
	signals, ignore := e.Signals()
	deaf := s.listen(signals)
	e.unread = func() { s.stop(syscall.SIGPIPE) }
	return ctx, s, func() { deaf(); ignore(); abort() }
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
