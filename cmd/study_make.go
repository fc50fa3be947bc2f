package cmd

import (
	"context"
	"errors"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/study"
)

// studyForm is how a study is written.
type studyForm struct {
	output string
	look   config.Look
	quiet  bool
}

func formOf(flags *config.Study) studyForm { return studyForm{flags.Output, flags.Look, flags.Quiet} }

// makeStudy makes the runs of a study that are not done, and writes what it says.
func makeStudy(ctx context.Context, env *Env, form studyForm, f *study.Folder, b *runner) error {
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
			if open, _ := p.Part.IsOpen(); open && p.Part != f && !form.quiet {
				env.say("part %s: %s", p.Part.Study.Name, p.Part.Study.About)
			}
			if board = env.openBoard(ctx, form, p.Part); board != nil {
				b.say, b.observers = board.say, []run.Observer{board}
			} else if !form.quiet {
				env.say("study %s", p.Part.ID)
			}
		case board != nil:
			board.follow(p)
		case !form.quiet:
			env.say("%s", report.StudyProgress(p))
		}
	})
	closeBoard()
	if err != nil {
		if !form.quiet && !errors.Is(err, study.ErrBusy) {
			env.say("go on with: kt study resume %s", f.ID)
		}
		return err
	}
	return writeStudy(env, form, f)
}

// writeStudy writes what a study says, whatever kind it is of.
func writeStudy(env *Env, form studyForm, f *study.Folder) error {
	d, err := f.Document()
	if err != nil {
		return err
	}
	err = env.document(form.output, form.look, report.StudyDoc(d), d)
	switch {
	case err != nil:
		return err
	case d.FindDoc != nil:
		return judgeFind(d)
	case d.GridDoc != nil && d.Wanted == 0:
		return errors.New("no run was made: every cell was left out")
	}
	return nil
}
