package tui

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
)

// Screen shows a model on a terminal. Its methods are safe for concurrent use.
type Screen struct{ job *job }

// NewScreen prepares a screen, which lives no longer than ctx. A nil in means standard
// input, or the terminal itself where standard input is not one. Signals are left to the
// caller, who must also have decided that kt is in the foreground of a terminal, out.
func NewScreen(ctx context.Context, m Model, in io.Reader, out io.Writer) *Screen {
	options := []tea.ProgramOption{
		tea.WithFPS(m.options.FPS),
		tea.WithColorProfile(m.options.Theme.Profile()),
	}
	if in != nil {
		options = append(options, tea.WithInput(in))
	}
	return &Screen{newJob(ctx, m, out, options...)}
}

// Run shows the screen until Quit, until the user leaves, or until the context ends,
// which is an error. The terminal is as before when it returns. Call it once.
func (s *Screen) Run(ctx context.Context) error {
	err := s.job.run(ctx)
	if ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrProgramPanic) {
		return context.Cause(ctx)
	}
	return err
}

// Observe shows a second. It waits until the screen has taken it, or is over.
func (s *Screen) Observe(now run.Second) {
	s.job.Send(Tick{
		Snapshot: now.Snapshot, Hosts: now.Hosts, StartsIn: now.StartsIn, Notice: notice(now.Hosts),
	})
}

// Quit ends Run after the seconds that were observed before.
func (s *Screen) Quit() { s.job.leave() }

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

// Board shows a text that changes, on a whole terminal. Its only keys are Ctrl-C and Ctrl-Z, which do what they do elsewhere.
type Board struct {
	job  *job
	over chan struct{}
}

// OpenBoard shows what draw returns for a size in columns and rows, every half second until Close. draw is called on a
// goroutine of the board.
func OpenBoard(ctx context.Context, out io.Writer, th *theme.Theme, draw func(width, height int) string) *Board {
	b := &Board{over: make(chan struct{})}
	b.job = newJob(ctx, boardModel{draw: draw}, out, tea.WithColorProfile(th.Profile()))
	go func() {
		defer close(b.over)
		_ = b.job.run(ctx) // without a board the study goes on
	}()
	return b
}

// Close ends the board; the terminal is as before when it returns.
func (b *Board) Close() {
	b.job.leave()
	<-b.over
}

type boardModel struct {
	draw          func(width, height int) string
	width, height int
}

type boardTick struct{}

func nextBoard() tea.Cmd {
	return tea.Tick(time.Second/2, func(time.Time) tea.Msg { return boardTick{} })
}

func (m boardModel) Init() tea.Cmd { return nextBoard() }

func (m boardModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case leaveMsg:
		return m, tea.Quit
	case tea.KeyPressMsg:
		switch msg.String() {
		case "ctrl+c":
			return m, call(func() { _ = syscall.Kill(0, syscall.SIGINT) })
		case "ctrl+z":
			return m, tea.Suspend
		}
	case boardTick:
		return m, nextBoard()
	}
	return m, nil
}

func (m boardModel) View() tea.View {
	text := ""
	if m.width > 0 {
		text = m.draw(m.width, m.height)
	}
	v := tea.NewView(text)
	v.AltScreen = true
	return v
}
