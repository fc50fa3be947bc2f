package tui

import (
	"context"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kt-bench/kt/internal/theme"
)

// Board shows a text that changes, on a whole terminal. It takes no keys: Ctrl-C stays a signal.
type Board struct {
	program *tea.Program
	over    chan struct{}
}

// OpenBoard shows what draw returns for a size in columns and rows, every half second until Close. draw is called on a
// goroutine of the board.
func OpenBoard(ctx context.Context, out io.Writer, th *theme.Theme, draw func(width, height int) string) *Board {
	b := &Board{over: make(chan struct{})}
	b.program = tea.NewProgram(boardModel{draw: draw}, tea.WithContext(ctx), tea.WithOutput(out), tea.WithInput(nil),
		tea.WithColorProfile(th.Profile()), tea.WithoutSignalHandler())
	go func() {
		defer close(b.over)
		_, _ = b.program.Run() // without a board the study goes on
	}()
	return b
}

// Close ends the board; the terminal is as before when it returns.
func (b *Board) Close() {
	b.program.Quit()
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
