package cmd

import (
	"os"
	"syscall"
	"testing"
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
	if got := s.code(); got != exitUnread {
		t.Errorf("code %d, want %d", got, exitUnread)
	}
}

func TestAReaderThatGoesAfterASignalChangesNothing(t *testing.T) {
	s := newStopper(func() { t.Error("it left at once") }, func(int) {}, func(string) {})
	s.begin()
	s.stop(os.Interrupt)
	s.stop(syscall.SIGPIPE)
	if got := s.code(); got != exitInterrupted {
		t.Errorf("code %d, want %d", got, exitInterrupted)
	}
}

func TestASignalAfterTheRunEndsWhatIsLeftAndKeepsTheExitCode(t *testing.T) {
	aborted := 0
	s := newStopper(func() { aborted++ }, func(int) { t.Error("kt exits at once") }, func(text string) { t.Errorf("kt says %q", text) })
	s.begin()
	s.end()
	s.stop(os.Interrupt)
	if aborted != 1 || s.code() != exitOK {
		t.Errorf("aborted %d times, exit code %d", aborted, s.code())
	}
}
