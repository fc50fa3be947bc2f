package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

func tickOf(i int) Tick {
	at := time.Duration(i) * time.Second
	w := stats.Window{Start: at, End: at + time.Second, Acknowledged: 10}
	return Tick{Windows: []stats.Window{w}, Snapshot: result.Snapshot{At: w.End, Live: result.Live{InFlight: i}}}
}

func TestOfTicksThatTheScreenHasNotTakenTheLastCountsWithAllLatencies(t *testing.T) {
	s := NewScreen(NewModel(Header{}, Options{}), nil, io.Discard)
	var senders sync.WaitGroup
	for i := range 100 {
		senders.Go(func() { s.Send(tickOf(i)) })
	}
	senders.Wait()
	s.Send(tickOf(100))
	if w := s.pending.Windows; len(w) != 1 || w[0].Acknowledged != 1010 || w[0].End != 101*time.Second || s.pending.Snapshot.InFlight != 100 {
		t.Errorf("windows %+v, %d in flight", w, s.pending.Snapshot.InFlight)
	}
}

func TestMergedTicksKeepHostsOfTheEarlier(t *testing.T) {
	vitals := &host.Vitals{Cores: 4}
	earlier := Tick{Hosts: []HostState{{Name: "a", State: "running", Vitals: vitals}, {Name: "b", Note: "gone soon"}}}
	later := Tick{Hosts: []HostState{{Name: "c"}, {Name: "a", State: "draining"}}}
	got := merge(earlier, later).Hosts
	if len(got) != 3 || got[1].State != "draining" || got[1].Vitals != vitals || got[2].Note != "gone soon" || later.Hosts[1].Vitals != nil {
		t.Errorf("hosts %+v", got)
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
	if m.data.At != 5*time.Second {
		t.Errorf("it shows %v", m.data.At)
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

// BenchmarkScreen is the share of a core that the screen takes, with the snapshots that it
// draws: a minute that is known, then ten seconds of ticks, on a terminal of 120×36.
func BenchmarkScreen(b *testing.B) {
	c := newCanned()
	m, _ := newModel(c, theme.New(theme.Options{Profile: colorprofile.TrueColor, Dark: true}))
	m.options.Now = time.Now
	w := c.tick(57).Windows[0]
	for b.Loop() {
		program := tea.NewProgram(m, tea.WithInput(strings.NewReader("")), tea.WithOutput(io.Discard), tea.WithFPS(m.options.FPS),
			tea.WithColorProfile(colorprofile.TrueColor), tea.WithWindowSize(120, 36), tea.WithoutSignalHandler())
		var before, after syscall.Rusage
		start := time.Now()
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
		go func() {
			for range 10 {
				time.Sleep(time.Second)
				w.Start, w.End = w.End, w.End+time.Second
				program.Send(c.feed().tick(result.Running, w))
			}
			program.Quit()
		}()
		if _, err := program.Run(); err != nil {
			b.Fatal(err)
		}
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
		b.ReportMetric(100*cpu.Seconds()/time.Since(start).Seconds(), "%core")
	}
}
