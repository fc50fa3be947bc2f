//go:build !race

package tui

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// size is that of a terminal.
type size struct{ w, h int }

func (s size) String() string { return fmt.Sprintf("%dx%d", s.w, s.h) }

// looks are the kinds of terminal.
var looks = []struct {
	name    string
	options theme.Options
}{
	{"plain", theme.Options{Dark: true}},
	{"ascii", theme.Options{ASCII: true}},
	{"colour", theme.Options{Profile: colorprofile.TrueColor, Dark: true}},
	{"light", theme.Options{Profile: colorprofile.TrueColor}},
	{"16-colours", theme.Options{Profile: colorprofile.ANSI, Dark: true}},
}

// states are what a run can look like. keep lists the frames, as size and look,
// that are compared with a file: about one for each layout, state and width that differs in
// kind. All others are checked for their size and their characters, and at 120x36 for what
// they say, parted by "; ".
var states = []struct {
	name string
	make func() *canned
	keys []string
	keep string
	says string
}{
	{"running", newCanned, nil, "40x8/plain 60x15/ascii 80x24/plain 100x30/plain 120x36/plain 120x36/colour 120x36/16-colours 200x60/plain", ""},
	{"warming", but(newCanned, func(c *canned) { c.seconds, c.warmup, c.last = 8, 10, result.WarmingUp }), nil, "80x24/plain", ""},
	{"failover", failover, nil, "120x36/ascii", ""},
	{"draining", but(newCanned, func(c *canned) { c.last = result.Draining }), []string{"q"}, "80x24/plain", "DRAIN"},
	{"done", but(newCanned, func(c *canned) { c.last = result.Finished }), nil, "120x36/plain", ""},
	{"embedded", but(newCanned, func(c *canned) { c.header.TargetRate, c.header.Notice, c.header.Duration = 0, result.EmbeddedNotice, 0 }), nil, "80x24/plain", ""},
	{"unlimited", but(newCanned, func(c *canned) { c.header.TargetRate = 0 }), nil, "120x36/plain", ""},
	{"empty", but(newCanned, func(c *canned) { c.seconds = 0 }), nil, "80x24/plain", ""},
	{"throughput", newCanned, []string{"1", "]", "]"}, "80x24/plain", ""},
	{"latency", newCanned, []string{"2", "["}, "", "Response (due; -15s"},
	{"heatmap", failover, []string{"3"}, "80x24/plain", ""},
	{"partitions", but(newCanned, func(c *canned) { c.header.Partitions = 500 }), []string{"4"}, "80x24/plain", ""},
	{"topics", but(newCanned, severalTopics), nil, "80x24/plain 120x36/plain", ""},
	{"topics-zoomed", but(newCanned, severalTopics), []string{"4", "down", "down", "o"}, "80x24/ascii", "others"},
	{"topics-last", but(newCanned, severalTopics), append([]string{"4", "o", "o", "o", "o", "o"}, slices.Repeat([]string{"down"}, 29)...), "80x24/ascii", "orders-29"},
	{"topics-by-row", but(roundtrip, func(c *canned) { severalTopics(c); c.header.Partitions = 1500 }), []string{"4"}, "80x24/plain", ""},
	{"brokers", but(newCanned, func(c *canned) { c.failover = 54 }), []string{"5", "u"}, "80x24/plain", ""},
	{"client", newCanned, []string{"6"}, "80x24/plain", ""},
	{"help", newCanned, []string{"?"}, "60x15/plain", ""},
	{"frozen", newCanned, []string{"space"}, "", "FROZEN"},

	{"consume", cannedConsumer, nil, "120x36/plain", ""},
	{"consume-stamped", catchingUp, nil, "40x5/plain 80x24/plain", ""},
	{"consume-joining", but(cannedConsumer, func(c *canned) { c.seconds = 3 }), nil, "80x24/plain", ""},
	{"consume-nothing", but(cannedConsumer, func(c *canned) { c.read.waiting, c.read.appended, c.seconds = 0, 0, 8 }), nil, "", "Consumer lag; no record read in the last"},
	{"consume-stuck", but(cannedConsumer, func(c *canned) { c.read.joining, c.failover, c.seconds, c.header.Duration = 0, 50, 54, 0 }), nil, "80x24/plain", ""},
	{"consume-stopping", cannedConsumer, []string{"q", "?"}, "80x24/plain", ""},
	{"consume-partitions", cannedConsumer, []string{"4"}, "80x24/ascii", ""},
	{"consume-crowded", but(cannedConsumer, func(c *canned) { c.header.Partitions = 500 }), []string{"4"}, "", "Partitions"},
	{"consume-brokers", cannedConsumer, []string{"5"}, "80x24/plain", ""},
	{"consume-shares", but(cannedConsumer, func(c *canned) { c.header.Group, c.header.Tags = "shares", []string{"group shares", "share group"} }), nil, "80x24/plain 120x36/plain", "acquired; in work; acknowledged; 1. 42.3M 2. 476k; 1,900 of 2,000 a partition"},
	{"roundtrip", roundtrip, nil, "80x24/plain 120x36/plain", ""},
	{"roundtrip-brokers", roundtrip, []string{"5"}, "80x24/plain", ""},
	{"roundtrip-client", roundtrip, []string{"6"}, "", "waiting; buffer; in-flight"},
	{"roundtrip-done", but(roundtrip, func(c *canned) { c.outage, c.failover, c.last = 40, 40, result.Finished }), nil, "80x24/plain", ""},
	{"outage", outage, nil, "60x15/plain 80x24/plain 120x36/colour", ""},
	{"silent", silent, nil, "40x5/plain 120x36/plain", ""},
	{"events", outage, []string{"7"}, "80x24/plain", ""},
	{"events-silent", silent, []string{"7"}, "", "no acknowledgement for; longest ack gap"},
	{"events-none", newCanned, []string{"7"}, "80x24/plain", ""},
	{"events-consume", catchingUp, []string{"7"}, "", "longest read gap; has 7 new partitions"},

	{"hosts", hostsRunning, nil, "40x5/plain 80x24/plain 120x30/plain 120x30/light 200x60/plain", ""},
	{"hosts-gathering", hostsGathering, nil, "80x24/plain", ""},
	{"hosts-starting", hostsStarting, nil, "80x24/plain", ""},
	{"hosts-gone", hostsGone, nil, "120x30/plain", ""},
	{"hosts-lost", hostsLost, nil, "60x15/plain", ""},
	{"hosts-one", hostsRunning, []string{"down", "down", "enter"}, "120x30/plain", ""},
	{"hosts-64", hosts64, slices.Repeat([]string{"down"}, 30), "80x24/plain", ""},
	{"hosts-one-away", hostsGone, []string{"down", "enter"}, "", "Throughput, producer-2; – rec/s"},
	{"hosts-events", hostsLost, []string{"6"}, "80x24/plain", ""},
	{"hosts-alike", hosts200, []string{"enter"}, "", "kafka-l…enerator-000"},
	{"hosts-stalled", but(hostsPaced, func(c *canned) { c.failover, c.seconds = 40, 44 }), nil, "", "STALL; oldest"},
	{"hosts-paced", hostsPaced, []string{"enter"}, "", "Throughput, producer-1; target 1.12M; for its share"},
	{"hosts-watched", hostsGone, []string{"up", "down", "down", "down", "down", "enter"}, "80x24/plain", ""},
	{"hosts-done", but(hostsRunning, func(c *canned) { c.last = result.Finished }), nil, "120x30/plain", ""},
	{"hosts-consume", hostsConsume, nil, "80x24/plain", ""},
	{"hosts-roundtrip", hostsRoundtrip, nil, "", "e2e p50; ack p99"},
	{"hosts-other-chart", hostsRunning, []string{"tab"}, "", "Throughput"},
	{"hosts-alone", hostsGone, []string{"3"}, "", "Hosts; kafka-2"},
	{"hosts-heatmap", hostsRunning, []string{"4"}, "", "heatmap, all hosts"},
	{"hosts-stopping", hostsGathering, []string{"q"}, "", "STOP; stopping; q again to leave"},
	{"hosts-waiting", hostsWaiting, nil, "40x5/plain 80x24/plain", ""},
	{"hosts-waiting-stopping", hostsWaiting, []string{"q"}, "", "q: without it"},
	{"hosts-help", hostsRunning, []string{"?"}, "80x24/ascii", ""},
}

// but returns a run with something changed.
func but(base func() *canned, change func(*canned)) func() *canned {
	return func() *canned { c := base(); change(c); return c }
}

// severalTopics lets a run have 30 topics.
func severalTopics(c *canned) {
	c.header.Topic, c.header.Partitions, c.header.Tags = "orders-{00..29}", 90, []string{"acks=all", "30 topics", "90 partitions"}
}

func failover() *canned { c := newCanned(); c.failover, c.warmup = 40, 10; return c }

// fakeClock stands still until it is moved.
type fakeClock struct{ now time.Time }

func newModel(c *canned, th *theme.Theme) (Model, *fakeClock) {
	clock := &fakeClock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	m := NewModel(c.header, Options{Theme: th, Now: func() time.Time { return clock.now }})
	c.each(func(t Tick) {
		clock.now = clock.now.Add(time.Second)
		m = send(m, t)
	})
	return m, clock
}

// models are the states. A frame does not change them, so that one set is enough
// for all tests.
var models = sync.OnceValue(func() []Model {
	var out []Model
	for _, state := range states {
		m, _ := newModel(state.make(), nil)
		for _, k := range state.keys {
			m = send(m, press(k))
		}
		out = append(out, m)
	}
	return out
})

// send is Update without its command.
func send(m Model, msg tea.Msg) Model {
	next, _ := m.Update(msg)
	return next.(Model)
}

// press is what the terminal sends for a key.
func press(key string) tea.KeyPressMsg {
	if k, ok := map[string]tea.KeyPressMsg{
		"space": {Code: tea.KeySpace, Text: " "}, "tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
		"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape},
		"ctrl+c": {Code: 'c', Mod: tea.ModCtrl},
	}[key]; ok {
		return k
	}
	r, _ := utf8.DecodeRuneInString(key)
	return tea.KeyPressMsg{Code: r, Text: key}
}

// checkFrame checks what holds for all frames.
func checkFrame(t *testing.T, name string, look theme.Options, frame string, w, h int) {
	t.Helper()
	lines := strings.Split(frame, "\n")
	must.Hold(t, len(lines) == h, "%s: %d lines, want %d", name, len(lines), h)
	for i, l := range lines {
		got := ansi.StringWidth(l)
		must.Hold(t, got == w, "%s: line %d is %d wide, want %d: %q", name, i, got, w, l)
	}
	must.True(t, look.Profile >= colorprofile.ANSI || !strings.Contains(frame, "\x1b"), "%s: it has escapes", name)
	if text := ansi.Strip(frame); look.ASCII && strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		t.Errorf("%s: it is not ASCII", name)
	}
}

// golden compares a frame with its file. Escapes are written as ␛, so that the
// file can be read and its differences too.
func golden(t *testing.T, file, frame string) {
	t.Helper()
	must.Golden(t, filepath.Join("testdata", "frames", file), strings.ReplaceAll(frame, "\x1b", "␛")+"\n")
}

// checkNoOthers finds files that no test compares with.
func checkNoOthers(t *testing.T, kept map[string]bool) {
	t.Helper()
	files := must.Have(os.ReadDir(filepath.Join("testdata", "frames")))(t)
	for _, f := range files {
		must.True(t, kept[f.Name()], "testdata/frames/%s: no frame has this name", f.Name())
	}
}

// BenchmarkScreen is the share of a core that the screen takes, with the snapshots that it
// draws: a minute that is known, then ten seconds of ticks, on a terminal of 120×36.
func BenchmarkScreen(b *testing.B) {
	c := newCanned()
	m, _ := newModel(c, theme.New(theme.Options{Profile: colorprofile.TrueColor, Dark: true}))
	m.options.Now = time.Now
	w := c.window(57)
	for b.Loop() {
		program := tea.NewProgram(m, tea.WithInput(strings.NewReader("")), tea.WithOutput(io.Discard), tea.WithFPS(m.options.FPS),
			tea.WithColorProfile(colorprofile.TrueColor), tea.WithWindowSize(120, 36), tea.WithoutSignalHandler())
		var before, after syscall.Rusage
		start := time.Now()
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
		go func() {
			seconds := time.Tick(time.Second)
			for range 10 {
				<-seconds
				w.Start, w.End = w.End, w.End+time.Second
				program.Send(c.feed().tick(result.Running, w))
			}
			program.Quit()
		}()
		must.Have(program.Run())(b)
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
		b.ReportMetric(100*cpu.Seconds()/time.Since(start).Seconds(), "%core")
	}
}
