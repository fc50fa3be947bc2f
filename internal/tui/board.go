package tui

import (
	"context"
	"io"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kt-bench/kt/internal/theme"
)

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
