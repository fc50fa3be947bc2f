package tui

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"

	"github.com/kt-bench/kt/internal/run"
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
