package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

func tickAt(i int) run.Second {
	at := time.Duration(i+1) * time.Second
	return run.Second{Snapshot: result.Snapshot{At: at}}
}

func TestQuitEndsTheScreenAfterEverySecondWasShown(t *testing.T) {
	m := NewModel(Header{Command: "produce"}, Options{})
	s := NewScreen(t.Context(), m, strings.NewReader(""), new(bytes.Buffer))
	var sender sync.WaitGroup
	sender.Go(func() {
		for i := range 5 {
			s.Observe(tickAt(i))
		}
		s.Quit()
	})
	must.Do(t, s.Run(t.Context()))
	sender.Wait()
	must.Match(t, 5*time.Second, m.data.At, "it shows")
}

func TestTheEndOfTheContextEndsTheScreen(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("SIGTERM")
	cancel(reason)
	s := NewScreen(ctx, NewModel(Header{}, Options{}), strings.NewReader(""), new(bytes.Buffer))
	err := s.Run(ctx)
	must.True(t, errors.Is(err, reason), "%v", err)
	s.Observe(tickAt(1)) // neither may block now
	s.Quit()
}

func TestTwoQuitKeysStopThenAbortThenEndTheScreen(t *testing.T) {
	in, keys := io.Pipe()
	defer keys.Close()
	order := make(chan string, 2)
	s := NewScreen(t.Context(), NewModel(Header{}, Options{
		Stop: func() {
			order <- "stop"
			_, _ = keys.Write([]byte("q"))
		},
		Abort: func() { order <- "abort" },
	}), in, new(bytes.Buffer))
	go func() { _, _ = keys.Write([]byte("q")) }()
	must.Do(t, s.Run(t.Context()))
	first, then := <-order, <-order
	must.True(t, first == "stop" && then == "abort", "%s, then %s", first, then)
}

func TestTheScreenTellsForWhomTheRunWaits(t *testing.T) {
	until := time.Date(2026, 1, 1, 1, 32, 3, 0, time.UTC)
	waits := func(hosts ...string) (list []run.Host) {
		list = []run.Host{{Name: "vm14"}}
		for _, h := range hosts {
			list = append(list, run.Host{Name: h, Until: until})
		}
		return list
	}
	for i, step := range []struct {
		hosts []run.Host
		want  string
	}{
		{waits(), ""},
		{waits("vm16"), "waiting for vm16 until 01:32:03 UTC; q: without it"},
		{waits("vm16"), "waiting for vm16 until 01:32:03 UTC; q: without it"}, // for as long as it is so
		{waits("vm16", "vm17"), "waiting for vm16 and vm17 until 01:32:03 UTC; q: without them"},
		{waits("vm16", "vm17", "vm18"), "waiting for vm16 and 2 others until 01:32:03 UTC; q: without them"},
		{waits("vm17"), "waiting for vm17 until 01:32:03 UTC; q: without it"},
		{waits(), ""},
	} {
		must.Match(t, step.want, notice(step.hosts), "tick %d", i)
	}
}
