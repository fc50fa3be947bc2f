package cmd

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestAReaderThatHasGoneIsNoSecondSignal(t *testing.T) {
	s := newStopper(func() { t.Error("it left at once") }, func(int) {}, func(string) { t.Error("it told somebody") })
	s.begin()
	for range 3 {
		s.stop(syscall.SIGPIPE)
	}
	select {
	case <-s.asked:
	default:
		t.Error("the load goes on")
	}
	must.Match(t, exitUnread, s.code(), "code")
}

func TestAReaderThatGoesAfterASignalChangesNothing(t *testing.T) {
	s := newStopper(func() { t.Error("it left at once") }, func(int) {}, func(string) {})
	s.begin()
	s.stop(os.Interrupt)
	s.stop(syscall.SIGPIPE)
	must.Match(t, exitInterrupted, s.code(), "code")
}

func TestASignalAfterTheRunEndsWhatIsLeftAndKeepsTheExitCode(t *testing.T) {
	aborted := 0
	s := newStopper(func() { aborted++ }, func(int) { t.Error("kt exits at once") }, func(text string) { t.Errorf("kt says %q", text) })
	s.begin()
	s.end()
	s.stop(os.Interrupt)
	must.Match(t, []int{1, exitOK}, []int{aborted, s.code()}, "aborted %d times, exit code %d", aborted, s.code())
}

// The main goroutine hangs, wherever it is.
func TestASecondSignalEndsTheProcessWithinASecond(t *testing.T) {
	const never = -1
	for _, tc := range []struct {
		name  string
		stage func(*stopper)
		by    []os.Signal // nil in it: an order, or a key
		code  int         // never: the process is not ended
	}{
		{"while it connects", func(*stopper) {}, []os.Signal{os.Interrupt, os.Interrupt}, exitInterrupted},
		{"while it is asked to end by its service manager", func(*stopper) {}, []os.Signal{syscall.SIGTERM, syscall.SIGTERM}, exitTerminated},
		{"in the load", (*stopper).begin, []os.Signal{syscall.SIGTERM, os.Interrupt}, exitTerminated},
		{"by the keyboard", (*stopper).begin, []os.Signal{nil, nil}, exitFailed},
		{"on other hosts", func(s *stopper) { s.elsewhere(context.Background()) }, []os.Signal{os.Interrupt, os.Interrupt}, exitInterrupted},
		{"when the run is over", func(s *stopper) { s.begin(); s.end() }, []os.Signal{os.Interrupt, os.Interrupt}, exitInterrupted},
		{"after a key, when the run is over", func(s *stopper) { s.begin(); s.stop(nil); s.end() }, []os.Signal{os.Interrupt}, exitInterrupted},
		{"one signal alone", func(*stopper) {}, []os.Signal{os.Interrupt}, never},
		{"a reader that has gone", (*stopper).begin, []os.Signal{syscall.SIGPIPE, syscall.SIGPIPE}, never},
		{"orders before the load", func(*stopper) {}, []os.Signal{nil, nil}, never},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				code, began := never, time.Now()
				var took time.Duration
				s := newStopper(func() {}, func(c int) { code, took = c, time.Since(began) }, func(string) {})
				tc.stage(s)
				for _, by := range tc.by {
					s.stop(by)
				}
				<-time.After(time.Minute)
				synctest.Wait()
				if code != tc.code || took >= time.Second {
					t.Errorf("it ends with %d after %s, want %d", code, took, tc.code)
				}
			})
		})
	}
}

// A screen of a run on other hosts goes on after the context.
func TestTheTerminalIsGivenBackBeforeTheProcessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen context.Context
		given := false // back, when the process ends
		s := newStopper(func() {}, func(int) { given = screen.Err() != nil }, func(string) {})
		screen = s.elsewhere(t.Context())
		s.stop(os.Interrupt)
		s.stop(os.Interrupt)
		if synctest.Wait(); screen.Err() != nil {
			t.Error("the screen is over before the hosts had time to leave")
		}
		<-time.After(time.Minute)
		if synctest.Wait(); !given {
			t.Error("the screen was left as it was")
		}
	})
}
