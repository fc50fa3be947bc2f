package cmd

import (
	"context"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui"
)

// studyBoard is the screen of a study that goes on.
type studyBoard struct {
	folder *study.Folder
	screen *tui.Board

	mu    sync.Mutex // guards what follows
	state report.StudyBoard
	begun time.Time // the run of now
	waits bool      // it is prepared
	since time.Time // of what is shown as now
	later []string  // for when the screen is over
}

// openBoard shows a study on the terminal; nil: there is none, or nobody wants to see it.
func (e *Env) openBoard(ctx context.Context, form config.Written, f *study.Folder) *studyBoard {
	w, tty := e.screen()
	b := &studyBoard{folder: f}
	if !tty || form.Quiet || form.Output != "text" || b.read() != nil { // making its runs fails with the error
		return nil
	}
	th := e.screenTheme(w, form.Look)
	b.screen = tui.OpenBoard(ctx, w, th, func(width, height int) string {
		b.mu.Lock()
		defer b.mu.Unlock()
		state := b.state
		if b.waits {
			state.Now = state.Now + ", " + theme.TickDuration(time.Since(b.since).Truncate(time.Second))
		}
		return report.StudyBoardText(&state, report.Options{Theme: th, Width: width}, height)
	})
	return b
}

// Observe shows what the run of now says of its newest second.
func (b *studyBoard) Observe(s run.Second) {
	n, text := &s.Snapshot.Second, ""
	rate, latency := n.Acknowledged.Records, n.Response
	if n.Read.Records > 0 {
		rate, latency = n.Read.Records, n.EndToEnd
	}
	text = theme.PerSecond(rate) + " records/s"
	if latency.Count > 0 {
		text += ", p99 " + theme.Duration(latency.P99.Duration())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Now, b.waits = text, false
}

// say keeps a line until the screen is over.
func (b *studyBoard) say(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.later = append(b.later, text)
}

// read reads what the study says so far.
func (b *studyBoard) read() error {
	d, err := b.folder.Document()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.state.Document = d
	}
	return err
}

// follow shows what happens. It is called between the runs, so it may read the folder.
func (b *studyBoard) follow(p study.Progress) {
	_ = b.read() // the end says what is wrong
	b.mu.Lock()
	defer b.mu.Unlock()
	switch p.Kind {
	case study.Begun:
		if !b.begun.IsZero() {
			b.state.Took += time.Since(b.begun)
			b.state.Made++
		}
		b.begun = time.Now()
		b.state.Turn, b.state.Turns, b.state.Now, b.since, b.waits = p.Turn, p.Turns, "preparing its topic", time.Now(), true
	case study.Preparing:
		b.state.Now, b.since, b.waits = "preparing "+p.Name, time.Now(), true
	case study.Finished, study.Skipped, study.Entered:
	}
}

// close ends the screen, and says what it had no room for.
func (b *studyBoard) close(env *Env) {
	b.screen.Close()
	for _, text := range b.later {
		env.say("%s", text)
	}
}
