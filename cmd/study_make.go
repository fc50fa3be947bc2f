package cmd

import (
	"context"
	"errors"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/study"
)

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
		case p.Kind == study.Entered:
			closeBoard()
			if open, _ := p.Part.IsOpen(); open && p.Part != f && !w.Quiet {
				env.say("part %s: %s", p.Part.Study.Name, p.Part.Study.About)
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
	return foundInStudy(f)
}

// foundInStudy returns what a study says, whatever kind it is of.
func foundInStudy(f *study.Folder) (*finding, error) {
	d, err := f.Document()
	if err != nil {
		return nil, err
	}
	switch {
	case d.FindDoc != nil:
		err = judgeFind(d)
	case d.GridDoc != nil && d.Wanted == 0:
		err = errors.New("no run was made: every cell was left out")
	}
	return found(report.StudyDoc(d), d), err
}
