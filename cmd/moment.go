package cmd

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
	"syscall"
	"time"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/stats"
)

// moments runs the commands and tells when each began and ended. What they write goes
// to the conversation, line by line. A screen or --quiet leaves none: so the last line
// of a command that failed goes into the event of its end too.
type moments struct {
	list     []config.Moment
	stderr   io.Writer     // the conversation
	patience time.Duration // from SIGTERM to SIGKILL

	running sync.WaitGroup
	writing sync.Mutex // one line after the other; apart from mu, for a terminal may take nothing

	mu     sync.Mutex // guards events
	events []stats.Event
}

var _ engine.Source = (*moments)(nil)

const (
	momentPatience = 2 * time.Second

	// lastWords is how long kt reads on what was written, once the run has ended or a
	// command has failed: processes that it has left in the background may write on.
	lastWords = 100 * time.Millisecond

	momentPrefix  = prefix + "exec: "
	maxMomentLine = 64 << 10 // a longer line is written in pieces
	maxReason     = 200      // characters of a line in an event
)

func newMoments(list []config.Moment, stderr io.Writer) *moments {
	return &moments{list: list, stderr: stderr, patience: momentPatience}
}

// Start waits for the moments, until ctx ends. A command that still runs then is
// ended.
func (m *moments) Start(ctx context.Context, now func() time.Duration) {
	for _, one := range m.list {
		m.running.Go(func() {
			due := time.NewTimer(one.After - now())
			defer due.Stop()
			select {
			case <-ctx.Done():
			case <-due.C:
				m.run(ctx, one.Command, now)
			}
		})
	}
}

// Take hands over the events since the last call.
func (m *moments) Take() stats.Window {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events
	m.events = nil
	return stats.Window{Events: events}
}

// Wait returns when no command runs any more.
func (m *moments) Wait() { m.running.Wait() }

// run carries out one command.
func (m *moments) run(ctx context.Context, command string, now func() time.Duration) {
	name := strings.ReplaceAll(strings.TrimSpace(command), "\n", "; ") // an event is one line
	cmd := exec.Command("sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that Ctrl-C is kt's alone, and its children end with it
	// A pipe of our own: what a command leaves in the background holds on to it, and
	// the command has ended all the same.
	r, w, err := os.Pipe()
	if err == nil {
		cmd.Stdout, cmd.Stderr = w, w
		err = cmd.Start()
		_ = w.Close() // the command has a copy
	}
	if err != nil {
		m.tell(stats.ExecEnded, now(), fmt.Sprintf("%s: %v", name, err))
		return
	}
	m.tell(stats.Exec, now(), "ran: "+name)

	heard, ended := make(chan struct{}), make(chan struct{})
	var last lastLine
	go func() {
		defer close(heard)
		m.pass(r, &last)
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
		m.end(cmd.Process.Pid, ended)
	}
	text := name + ": " + exitText(err)
	if failed(err) {
		select {
		case <-heard:
		case <-time.After(lastWords):
		}
		if said := last.get(); said != "" {
			text += ": " + said
		}
	}
	m.tell(stats.ExecEnded, at, text)
	// What it has left in the background may go on writing until the run ends, and
	// running after that: a broker that it has started, say.
	select {
	case <-heard:
	case <-ctx.Done():
		_ = r.SetReadDeadline(time.Now().Add(lastWords)) // a pipe takes deadlines
		<-heard
	}
	_ = r.Close()
}

// end ends a command with all that it has started: politely first.
func (m *moments) end(pid int, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	default:
	}
	_ = syscall.Kill(-pid, syscall.SIGTERM) // it may have ended by itself just now
	select {
	case <-ended:
		return
	case <-time.After(m.patience):
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	<-ended
}

// pass writes what a command writes, as it comes, and keeps the last line of it.
func (m *moments) pass(r io.Reader, last *lastLine) {
	lines := bufio.NewReaderSize(r, maxMomentLine)
	for {
		line, _, err := lines.ReadLine()
		if err != nil {
			return
		}
		last.set(line)
		m.writing.Lock()
		passOn(m.stderr, momentPrefix, line)
		m.writing.Unlock()
	}
}

func (m *moments) tell(kind stats.EventKind, at time.Duration, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, stats.Event{At: at, Kind: kind, Broker: -1, To: -1, Text: text})
}

// lastLine is the last line that a command has written which holds anything.
type lastLine struct {
	mu   sync.Mutex
	text string
}

// set keeps of a line what fits an event.
func (l *lastLine) set(line []byte) {
	text := strings.TrimSpace(string(line))
	if text == "" {
		return
	}
	if runes := []rune(text); len(runes) > maxReason {
		text = string(runes[:maxReason])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = text
}

func (l *lastLine) get() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}

// failed tells whether a command has ended by itself and not well; who is killed has
// no reason to tell.
func failed(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Exited()
}

// exitText is how a command ended.
func exitText(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "exit 0"
	case errors.As(err, &exit) && exit.Exited():
		return fmt.Sprintf("exit %d", exit.ExitCode())
	default:
		return err.Error() // "signal: killed"
	}
}
