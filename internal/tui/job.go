package tui

import (
	"context"
	"io"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kt-bench/kt/internal/host"
)

// job is a program on a terminal, as a shell sees it. While it is suspended, or in the background, it has no terminal.
type job struct {
	*tea.Program
	terminal uintptr
	kill     context.CancelFunc
	left     context.Context
	leave    context.CancelFunc // ends run after the messages that were sent before
	stops    chan struct{}
}

func newJob(ctx context.Context, m tea.Model, out io.Writer, options ...tea.ProgramOption) *job {
	j := &job{stops: make(chan struct{}, 1)}
	j.left, j.leave = context.WithCancel(ctx)
	ctx, j.kill = context.WithCancel(context.WithoutCancel(ctx)) // run decides: a program that ends touches the terminal
	if f, ok := out.(interface{ Fd() uintptr }); ok {
		j.terminal = f.Fd()
	}
	j.Program = tea.NewProgram(m, append(options, tea.WithContext(ctx), tea.WithOutput(out), tea.WithoutSignalHandler(),
		tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg {
			if _, suspend := msg.(tea.SuspendMsg); !suspend {
				return msg
			}
			j.stops <- struct{}{}
			return nil
		}))...)
	return j
}

// run shows the program until it leaves, or ctx ends. What was typed before, or is not read by then, is dropped.
func (j *job) run(ctx context.Context) error {
	over := make(chan error, 1)
	host.FlushInput(j.terminal)
	defer host.FlushInput(j.terminal)
	go func() {
		_, err := j.Run()
		over <- err
	}()
	for left, ended := j.left.Done(), ctx.Done(); ; {
		select {
		case err := <-over:
			return err
		case <-ended:
			ended = nil
			j.kill()
		case <-left:
			left = nil
			go j.Send(leaveMsg{})
		case <-j.stops:
			if j.ReleaseTerminal() != nil {
				continue
			}
			_ = syscall.Kill(0, syscall.SIGTSTP) // the whole job, as a terminal does; without a shell nothing stops
			for away := true; away; away = !host.Foreground(j.terminal) {
				select {
				case <-j.left.Done():
					return nil // the program must not touch the terminal again, which is as before
				case <-time.After(100 * time.Millisecond):
				}
			}
			host.FlushInput(j.terminal)
			_ = j.RestoreTerminal() // else there is no screen, and the load goes on
		}
	}
}
