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

	"github.com/kt-bench/kt/internal/stats"
)

func tickOf(i int) Tick {
	at := time.Duration(i) * time.Second
	return Tick{
		Windows:  []stats.Window{{Start: at, End: at + time.Second, Offered: 10, Acknowledged: 10}},
		State:    Running,
		InFlight: i,
	}
}

func TestTicksThatTheScreenHasNotTakenAreMerged(t *testing.T) {
	s := NewScreen(NewModel(Header{}, Options{}), nil, io.Discard)
	var senders sync.WaitGroup
	for i := range 100 {
		senders.Go(func() { s.Send(tickOf(i)) })
	}
	senders.Wait()
	s.Send(tickOf(100))
	w := s.pending.whole()
	if w.Acknowledged != 1010 || w.End != 101*time.Second || s.pending.InFlight != 100 {
		t.Errorf("%d records until %v, %d in flight", w.Acknowledged, w.End, s.pending.InFlight)
	}
}

func TestMergingTicksKeepsTheWarmupApart(t *testing.T) {
	window := func(second int, warmup bool, n int64) stats.Window {
		at := time.Duration(second) * time.Second
		return stats.Window{Start: at, End: at + time.Second, Warmup: warmup, Acknowledged: n}
	}
	a := Tick{Windows: []stats.Window{window(0, true, 1)}}
	b := Tick{Windows: []stats.Window{window(1, true, 2), window(1, false, 4)}}
	c := Tick{Windows: []stats.Window{window(2, false, 8)}, State: Running}
	for name, got := range map[string]Tick{"left first": merge(merge(a, b), c), "right first": merge(a, merge(b, c))} {
		if len(got.Windows) != 2 || got.State != Running ||
			got.Windows[0].Acknowledged != 3 || !got.Windows[0].Warmup || got.Windows[0].End != 2*time.Second ||
			got.Windows[1].Acknowledged != 12 || got.Windows[1].Warmup || got.Windows[1].Start != time.Second {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestQuitEndsTheScreenAfterEveryTickWasShown(t *testing.T) {
	m := NewModel(Header{Command: "produce"}, Options{})
	s := NewScreen(m, strings.NewReader(""), new(bytes.Buffer))
	for i := range 5 {
		s.Send(tickOf(i))
	}
	s.Quit()
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.data.count[acked] != 50 {
		t.Errorf("%d records were shown", m.data.count[acked])
	}
}

func TestTheEndOfTheContextEndsTheScreen(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("SIGTERM")
	cancel(reason)
	s := NewScreen(NewModel(Header{}, Options{}), strings.NewReader(""), new(bytes.Buffer))
	if err := s.Run(ctx); !errors.Is(err, reason) {
		t.Errorf("%v", err)
	}
	s.Send(tickOf(1)) // neither may block now
	s.Quit()
}

func TestTwoQuitKeysStopThenAbortThenEndTheScreen(t *testing.T) {
	in, keys := io.Pipe()
	defer keys.Close()
	order := make(chan string, 2)
	s := NewScreen(NewModel(Header{}, Options{
		Stop: func() {
			order <- "stop"
			_, _ = keys.Write([]byte("q"))
		},
		Abort: func() { order <- "abort" },
	}), in, new(bytes.Buffer))
	go func() { _, _ = keys.Write([]byte("q")) }()
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if first, then := <-order, <-order; first != "stop" || then != "abort" {
		t.Errorf("%s, then %s", first, then)
	}
}
