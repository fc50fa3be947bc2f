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

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/stats"
)

// moment is a command of the user's own and when it is to run: to let a broker fail
// in the middle of a run, say.
type moment struct {
	after   time.Duration // since the start of the run
	command string        // for sh
}

// moments runs the commands and tells when each began and ended. What they write
// goes to stderr, line by line.
type moments struct {
	list     []moment
	stderr   io.Writer
	patience time.Duration // from SIGTERM to SIGKILL

	running sync.WaitGroup
	writing sync.Mutex // one line after the other; apart from mu, for a terminal may take nothing

	mu     sync.Mutex // guards events
	events []stats.Event
}

var _ engine.Source = (*moments)(nil)

const (
	momentPatience = 2 * time.Second

	// lastWords is how long kt reads on what the processes have written that a
	// command has left in the background, once the run has ended.
	lastWords = 100 * time.Millisecond

	momentPrefix  = "kt: exec: "
	maxMomentLine = 64 << 10 // a longer line is written in pieces
)

func newMoments(list []moment, stderr io.Writer) *moments {
	return &moments{list: list, stderr: stderr, patience: momentPatience}
}

// Start waits for the moments, until ctx ends. A command that still runs then is
// ended.
func (m *moments) Start(ctx context.Context, now func() time.Duration) {
	for _, one := range m.list {
		m.running.Go(func() {
			due := time.NewTimer(one.after - now())
			defer due.Stop()
			select {
			case <-ctx.Done():
			case <-due.C:
				m.run(ctx, one.command, now)
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

// wait returns when no command runs any more.
func (m *moments) wait() { m.running.Wait() }

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
	go func() {
		defer close(heard)
		m.pass(r)
	}()
	go func() {
		defer close(ended)
		m.tell(stats.ExecEnded, now(), name+": "+exitText(cmd.Wait()))
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		m.end(cmd.Process.Pid, ended)
	}
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

// pass writes what a command writes, as it comes.
func (m *moments) pass(r io.Reader) {
	lines := bufio.NewReaderSize(r, maxMomentLine)
	for {
		line, _, err := lines.ReadLine()
		if err != nil {
			return
		}
		m.writing.Lock()
		fmt.Fprintf(m.stderr, "%s%s\n", momentPrefix, line)
		m.writing.Unlock()
	}
}

func (m *moments) tell(kind stats.EventKind, at time.Duration, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, stats.Event{At: at, Kind: kind, Broker: -1, To: -1, Text: text})
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
