package tui

import (
	"context"
	"errors"
	"io"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// Screen shows a model on a terminal. Its methods are safe for concurrent use.
type Screen struct {
	model Model
	in    io.Reader
	out   io.Writer

	mu      sync.Mutex
	pending *Tick // guarded by mu; the program has not taken it yet
	leaving bool  // guarded by mu; Quit was called

	wake chan struct{} // holds one: there is something to hand on
}

// NewScreen prepares a screen. A nil in means standard input, or the terminal
// itself where standard input is not one. Signals are left to the caller, who
// must also have decided that out is a terminal.
func NewScreen(m Model, in io.Reader, out io.Writer) *Screen {
	return &Screen{model: m, in: in, out: out, wake: make(chan struct{}, 1)}
}

// Run shows the screen until Quit, until the user leaves, or until the context
// ends, which is an error. The terminal is as before when it returns. Call it
// once.
func (s *Screen) Run(ctx context.Context) error {
	options := []tea.ProgramOption{
		tea.WithContext(ctx),
		tea.WithOutput(s.out),
		tea.WithFPS(s.model.options.FPS),
		tea.WithColorProfile(s.model.options.Theme.Profile()),
		tea.WithoutSignalHandler(),
	}
	if s.in != nil {
		options = append(options, tea.WithInput(s.in))
	}
	program := tea.NewProgram(s.model, options...)
	over := make(chan struct{})
	var forwarder sync.WaitGroup
	forwarder.Go(func() { s.forward(program, over) })
	_, err := program.Run()
	close(over)
	forwarder.Wait() // the program takes no messages any more, so that none blocks
	if ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrProgramPanic) {
		return context.Cause(ctx)
	}
	return err
}

// Send shows a tick. It never waits for the screen: ticks that the screen has not
// come to yet are merged into one, so that none is lost.
func (s *Screen) Send(t Tick) {
	s.mu.Lock()
	if s.pending != nil {
		t = merge(*s.pending, t)
	}
	s.pending = &t
	s.mu.Unlock()
	s.notify()
}

// Quit ends Run, once every tick sent before has been shown.
func (s *Screen) Quit() {
	s.mu.Lock()
	s.leaving = true
	s.mu.Unlock()
	s.notify()
}

// notify wakes the forwarder. When it has been woken already, it has not looked
// yet, and will find this news too.
func (s *Screen) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// forward hands on what is pending. It may wait for the program; nobody waits for
// it.
func (s *Screen) forward(program *tea.Program, over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-s.wake:
		}
		s.mu.Lock()
		tick, leaving := s.pending, s.leaving
		s.pending = nil
		s.mu.Unlock()
		if tick != nil {
			program.Send(*tick)
		}
		if leaving {
			program.Send(leaveMsg{})
		}
	}
}
