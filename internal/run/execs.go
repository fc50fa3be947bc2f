package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/stats"
)

// execs runs the commands beside a load. It tells their beginnings and ends as events, and each line of theirs as a notice.
type execs struct {
	engine.Events
	list     []plan.Exec
	notify   func(Notice)
	patience time.Duration // from SIGTERM to SIGKILL
	writing  sync.Mutex    // one line after the other; whoever is notified may hang
}

var _ engine.Source = (*execs)(nil)

const (
	execPatience = 2 * time.Second

	// lastWords is the time for reading the output of a command after its failure or the end of
	// the run. Its background processes may write on.
	lastWords = time.Second

	maxExecLine = 64 << 10 // a longer line is written in pieces
	maxReason   = 200      // characters of a line in an event
)

func newExecs(list []plan.Exec, notify func(Notice)) *execs {
	return &execs{list: list, notify: notify, patience: execPatience}
}

// Start waits until each command is due, or ctx ends. A command that still runs then is
// ended.
func (e *execs) Start(ctx context.Context, now func() time.Duration) {
	for _, one := range e.list {
		e.Go(func() {
			due := time.NewTimer(one.After - now())
			defer due.Stop()
			select {
			case <-ctx.Done():
			case <-due.C:
				e.run(ctx, one, now)
			}
		})
	}
}

// run carries out one command.
func (e *execs) run(ctx context.Context, one plan.Exec, now func() time.Duration) {
	name := secret.Hide(strings.ReplaceAll(strings.TrimSpace(one.Command), "\n", "; ")) // an event is one line
	cmd := exec.Command("sh", "-c", one.Command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that Ctrl-C is kt's alone, and its children end with it
	// With a pipe of its own, Wait returns at the end of the command. Background processes of the
	// command keep the pipe open.
	r, w, err := os.Pipe()
	if err == nil {
		cmd.Stdout, cmd.Stderr = w, w
		err = cmd.Start()
		_ = w.Close() // the command has a copy
	}
	if err != nil {
		e.tell(stats.ExecEnded, now(), fmt.Sprintf("%s%s: %v", one.Of, name, err))
		return
	}
	e.tell(stats.Exec, now(), one.Of+"ran: "+name)

	heard, ended := make(chan struct{}), make(chan struct{})
	var last atomic.Pointer[string] // line that holds anything
	go func() {
		defer close(heard)
		e.pass(r, &last)
	}()
	var at time.Duration
	go func() {
		defer close(ended)
		err = cmd.Wait()
		at = now()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		e.end(cmd.Process.Pid, ended)
	}
	text := name + ": exit 0"
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited(): // one that was killed has no reason to give
		text = fmt.Sprintf("%s: exit %d", name, exit.ExitCode())
		select {
		case <-heard:
		case <-time.After(lastWords):
		}
		if said := last.Load(); said != nil {
			text += ": " + *said
		}
	case err != nil:
		text = name + ": " + err.Error() // "signal: killed"
	}
	e.tell(stats.ExecEnded, at, one.Of+text)
	// Background processes of the command, such as a broker, may write until the run ends. They may
	// outlive it.
	select {
	case <-heard:
	case <-ctx.Done():
		_ = r.SetReadDeadline(time.Now().Add(lastWords)) // a pipe takes deadlines
		<-heard
	}
	_ = r.Close()
}

// end ends a command with all that it has started: politely first.
func (e *execs) end(pid int, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	default:
	}
	_ = syscall.Kill(-pid, syscall.SIGTERM) // it may have ended by itself just now
	select {
	case <-ended:
		return
	case <-time.After(e.patience):
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	<-ended
}

// pass makes a notice of each line that a command writes, and keeps the last one.
func (e *execs) pass(r io.Reader, last *atomic.Pointer[string]) {
	lines := bufio.NewReaderSize(r, maxExecLine)
	for {
		line, _, err := lines.ReadLine()
		if err != nil {
			return
		}
		text := secret.Scrub(string(line)) // before it is cut
		if said := []rune(strings.TrimSpace(text)); len(said) > 0 {
			last.Store(new(string(said[:min(len(said), maxReason)])))
		}
		e.writing.Lock()
		e.notify(Notice{Kind: CommandOutput, Text: text})
		e.writing.Unlock()
	}
}

func (e *execs) tell(kind stats.EventKind, at time.Duration, text string) {
	e.Add(stats.Event{At: at, Kind: kind, Broker: -1, To: -1, Text: text})
}
