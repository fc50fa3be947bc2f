package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

func TestACommandRunsAtItsMomentAndIsTold(t *testing.T) {
	for _, r := range must.Rows[[]struct{ Command, Ends string }](t, "execs") {
		t.Run(r.Command, func(t *testing.T) {
			p := play(t, plan.Exec{After: 5 * time.Millisecond, Command: r.Command})
			p.await(2)
			began, ended := p.events[0], p.events[1]
			name, _, _ := strings.Cut(r.Ends, ": ")
			if began.Kind != stats.Exec || began.Text != "ran: "+name || began.Broker != -1 || began.To != -1 || began.At < 5*time.Millisecond {
				t.Errorf("it began as %+v", began)
			}
			must.True(t, ended.Kind == stats.ExecEnded && ended.Text == r.Ends && ended.Broker == -1 && ended.To == -1 && ended.At >= began.At,
				"it ended as %+v, want %q", ended, r.Ends)
		})
	}
}

func TestCommandsRunAtTheirOwnMomentsWhateverTheirOrder(t *testing.T) {
	p := play(t, plan.Exec{After: 30 * time.Millisecond, Command: "echo two"}, plan.Exec{Command: "echo one"})
	p.await(4)
	p.end()
	for _, e := range p.events {
		must.True(t, e.Kind != stats.Exec || e.Text != "ran: echo two" || e.At >= 30*time.Millisecond, "the second command ran at %v", e.At)
	}
	for _, want := range []string{"one\n", "two\n"} {
		must.Has(t, "stderr", p.said(), want)
	}
}

func TestACommandOfALaterMomentDoesNotRun(t *testing.T) {
	p := play(t, plan.Exec{After: time.Hour, Command: "true"})
	p.end()
	must.True(t, p.events == nil, "events %v, want none", p.events)
}

func TestWhatACommandWritesIsPassedOnByLines(t *testing.T) {
	long := strings.Repeat("x", maxExecLine+1)
	p := play(t, plan.Exec{Command: fmt.Sprintf("echo out; echo err >&2; printf %s; printf '\\nno end'; cat", long)})
	p.await(2)
	p.end()
	want := "out\nerr\n" + long[1:] + "\nx\nno end\n"
	got := p.said()
	must.True(t, got == want, "stderr has %d bytes, want %d: %.80q", len(got), len(want), got)
}

func TestACommandThatStillRunsIsEndedWithTheRun(t *testing.T) {
	for _, r := range []struct{ name, command, ends string }{
		{"politely", "sleep 60; echo on", "signal: terminated"},
		{"with what it has started", "sleep 60 & wait", "signal: terminated"},
		{"by force, when it does not listen", "trap '' TERM; echo on; while :; do sleep 1; done", "signal: killed"},
		{"in time to say a last word", "trap 'echo bye; exit 7' TERM; echo on; while :; do sleep 0.01; done", "exit 7: bye"},
	} {
		t.Run(r.name, func(t *testing.T) {
			p := play(t, plan.Exec{Command: r.command})
			p.await(1)
			if strings.Contains(r.command, "trap") {
				p.awaitText("on\n") // the trap is set
			}
			p.end()
			p.await(2)
			got := p.events[1].Text
			must.True(t, strings.HasSuffix(got, ": "+r.ends), "it ended as %q, want %q", got, r.ends)
			must.Match(t, strings.Contains(r.command, "bye"), strings.Contains(p.said(), "bye"), "stderr: %q", p.said())
		})
	}
}

// The run file is not the command's to fill. What of it a terminal may see is decided where
// it is shown.
func TestTheLastLineOfACommandIsCut(t *testing.T) {
	for _, r := range []struct{ name, line, want string }{
		{"nothing", "", "before"},
		{"blanks", " \t ", "before"},
		{"a line", "  no such host\r", "no such host"},
		{"colours", "\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"},
		{"letters of any language", "Gerät fehlt", "Gerät fehlt"},
		{"a long line", strings.Repeat("ä", maxReason+1), strings.Repeat("ä", maxReason)},
	} {
		var last atomic.Pointer[string]
		newExecs(nil, func(Notice) {}).pass(strings.NewReader("before\n"+r.line+"\n"), &last)
		must.Match(t, r.want, *last.Load(), "%s", r.name)
	}
}

func TestACommandThatFailedDoesNotWaitForWhatItLeft(t *testing.T) {
	p := play(t, plan.Exec{Command: "echo why; sleep 60 & exit 2"})
	p.await(2)
	p.end()
	got := p.events[1]
	must.True(t, strings.HasSuffix(got.Text, ": exit 2: why"), "it ended as %+v", got)
}

// A broker that a command starts is to outlive it, and the run.
func TestWhatACommandLeftInTheBackgroundGoesOn(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "go-on")
	p := play(t, plan.Exec{Command: fmt.Sprintf("mkfifo %[1]s; (read line <%[1]s; echo $line >%[1]s.done) & echo left", pipe)})
	p.await(2)
	p.end()
	must.Do(t, os.WriteFile(pipe, []byte("alive\n"), 0))
	must.Eventually(t, "a word of the process in the background", func() bool {
		said, _ := os.ReadFile(pipe + ".done")
		return string(said) == "alive\n"
	})
}

// played is a run with nothing in it but commands.
type played struct {
	*execs
	t      *testing.T
	cancel context.CancelFunc
	stderr must.Lines
	events []stats.Event // those seen
}

func play(t *testing.T, list ...plan.Exec) *played {
	t.Helper()
	p := &played{t: t}
	p.execs = newExecs(list, func(n Notice) { p.stderr.Add(n.Text) })
	p.patience = 20 * time.Millisecond
	if slices.ContainsFunc(list, func(m plan.Exec) bool { return strings.Contains(m.Command, "bye") }) {
		p.patience = execPatience
	}
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(t.Context())
	t.Cleanup(p.end)
	start := time.Now()
	p.Start(ctx, func() time.Duration { return time.Since(start) })
	return p
}

// end ends the run.
func (p *played) end() {
	p.cancel()
	p.Wait()
}

// await waits for events.
func (p *played) await(n int) {
	p.t.Helper()
	must.Eventually(p.t, fmt.Sprintf("%d events", n), func() bool {
		p.events = append(p.events, p.Take().Events...)
		return len(p.events) >= n
	})
}

// said returns the notices so far, a line each.
func (p *played) said() string { return p.stderr.String() + "\n" }

func (p *played) awaitText(text string) {
	p.t.Helper()
	must.Eventually(p.t, fmt.Sprintf("%q", text), func() bool { return strings.Contains(p.said(), text) })
}
