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
