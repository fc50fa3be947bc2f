package cmd

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui"
)

// runStudy makes a new study.
func runStudy(ctx context.Context, env *Env, flags *config.Study, args []string) (*finding, error) {
	s, err := readStudy(args[0])
	if err == nil {
		err = adapt(s, flags)
	}
	if err != nil {
		return nil, usageError(err)
	}
	b := load.NewRunner(env.maker())
	brokers := 0
	if s.NeedsBrokers() {
		if brokers, err = b.BrokerCount(ctx, s.All()[0].Loads[0]); err != nil {
			return nil, err
		}
	}
	if err = s.Fill(brokers); err == nil {
		err = s.Check()
	}
	if err != nil {
		return nil, usageError(err)
	}
	return startStudy(ctx, env, flags.Written, s, b, flags.DryRun, flags.Yes)
}

// startStudy checks a new study and makes it. A dry run returns what it will take instead.
func startStudy(ctx context.Context, env *Env, w config.Written, s *study.Study, b *load.Runner, dry, yes bool) (*finding, error) {
	forecasts, err := b.Foresee(ctx, s, dry)
	switch {
	case err == nil && dry:
		p := &report.StudyPlan{Study: s, Parts: forecasts}
		return found(report.PlanDoc(p), p), nil
	case err == nil:
		err = env.permitStudy(ctx, b, s, yes)
	}
	if err != nil {
		return nil, err
	}
	dir, err := env.studiesDir()
	if err != nil {
		return nil, err
	}
	f, err := b.NewStudy(dir, env.studyID(s.Name), s)
	if err != nil {
		return nil, err
	}
	return makeStudy(ctx, env, w, f, b)
}

// studyID returns a new ID for a study.
func (e *Env) studyID(name string) string {
	return fmt.Sprintf("%s-%s-%s", e.Now().UTC().Format("20060102-150405"), name, strings.ToLower(rand.Text()[:5]))
}

// adapt changes a study as the command line says.
func adapt(s *study.Study, flags *config.Study) error {
	for _, set := range flags.Set {
		s.Set(set.Name, set.Values)
	}
	for _, part := range s.All() {
		for _, name := range []string{"bootstrap-server", "cluster"} { // of a variable or a file: a url in the study wins
			if flags.IsTyped(name) && part.Sets("url") {
				return fmt.Errorf("--%s: url in the study, or --set url, says where its loads go: leave one of them out", name)
			}
		}
		load.Share(part, flags.Shared())
		if flags.RunTime > 0 {
			part.LimitTo(flags.RunTime)
		}
		if flags.Rest >= 0 {
			part.Rest = plan.Duration(flags.Rest)
		}
		if part.Find != nil { // its trials are no repeats
			continue
		}
		part.Repeats, part.Bytes = cmp.Or(flags.Repeats, part.Repeats), cmp.Or(flags.Bytes, part.Bytes)
		if flags.Discard >= 0 {
			part.Discard = flags.Discard
		}
	}
	return nil
}

// makeStudy makes the runs of a study that are not done, and returns what it says.
func makeStudy(ctx context.Context, env *Env, w config.Written, f *study.Folder, b *load.Runner) (*finding, error) {
	var board *studyBoard
	closeBoard := func() {
		if board != nil {
			board.close(env)
		}
	}
	err := study.Execute(ctx, f, b, func(p study.Progress) {
		switch {
		case p.What == study.Entered:
			closeBoard()
			if s, _ := p.Part.Status(); s.Open && p.Part != f && !w.Quiet {
				env.say("part %s", strings.TrimSuffix(p.Part.Study.Name+": "+p.Part.Study.About, ": "))
			}
			if board = env.openBoard(ctx, w, p.Part); board != nil {
				b.Say, b.Observers = board.say, []run.Observer{board}
			} else if !w.Quiet {
				env.say("study %s", p.Part.ID)
			}
		case board != nil:
			board.follow(p)
		case !w.Quiet:
			env.say("%s", report.StudyProgress(p))
		}
	})
	closeBoard()
	if err != nil {
		if !w.Quiet && !errors.Is(err, study.ErrBusy) {
			env.say("go on with: kt study resume %s", f.ID)
		}
		return nil, err
	}
	return foundInStudy(f, w.Doubts)
}

// foundInStudy returns what a study says, whatever kind it is of.
func foundInStudy(f *study.Folder, doubts config.Doubts) (*finding, error) {
	d, err := f.Document()
	if err != nil {
		return nil, err
	}
	switch {
	case d.FindDoc != nil:
		err = judgeFind(d)
	case d.WholeDoc != nil && len(d.Parts) > 0 && d.Parts[0].Name == study.AllPart && d.Parts[0].Find != nil:
		err = judgeFind(d.Parts[0].Find)
	case d.Optimum != nil && d.Over && !slices.ContainsFunc(d.Optimum.Tried, func(t study.Tried) bool { return t.Measures[d.Study.Optimum.By].N > 0 }):
		err = fmt.Errorf("no run has measured %s", d.Study.Optimum.By)
	case d.GridDoc != nil && d.Wanted == 0:
		err = errors.New("no run was made: every cell was left out")
	}
	if d.Accept(doubts.Accept); doubts.Strict {
		err = run.Strict(d.Doubts, err)
	}
	return found(report.StudyDoc(d), d), err
}

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
		return report.StudyBoardText(&state, report.Options{Options: doc.Options{Theme: th, Width: width}}, height)
	})
	return b
}

// Observe shows what the run of now says of its newest second.
func (b *studyBoard) Observe(s run.Second) {
	n := &s.Snapshot.Second
	rate, latency := n.Acknowledged.Records, n.Response
	if n.Read.Records > 0 {
		rate, latency = n.Read.Records, n.EndToEnd
	}
	text := theme.PerSecond(rate) + " records/s"
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
	switch p.What {
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
