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

// makeStudy makes the runs of a study that are not done, part by part if it has parts, and writes what it says.
func makeStudy(ctx context.Context, env *Env, form studyForm, f *study.Folder, b *lab) error {
	for _, part := range f.Study.All() {
		one, err := f.Begin(part)
		if err == nil {
			if open, _ := one.IsOpen(); open && part != f.Study && !form.quiet { // making its runs fails with the error
				env.say("part %s: %s", part.Name, part.About)
			}
			err = makePart(ctx, env, form, one, b)
		}
		if err != nil {
			if !form.quiet && !errors.Is(err, study.ErrBusy) {
				env.say("go on with: kt study resume %s", f.ID)
			}
			return err
		}
	}
	return writeStudy(env, form, f)
}

// makePart makes the runs of a study without parts that are not done.
func makePart(ctx context.Context, env *Env, form studyForm, f *study.Folder, b *lab) error {
	board, err := env.openBoard(ctx, form, f)
	if err != nil {
		return err
	}
	follow := func(p study.Progress) {
		if !form.quiet {
			env.say("%s", report.StudyProgress(p))
		}
	}
	if board != nil {
		follow, b.say, b.observers = board.follow, board.say, []run.Observer{board}
	} else if !form.quiet {
		env.say("study %s", f.ID)
	}
	err = study.Execute(ctx, f, b, follow)
	if board != nil {
		board.close(env)
	}
	return err
}

// writeStudy writes what a study says, whatever kind it is of.
func writeStudy(env *Env, form studyForm, f *study.Folder) error {
	o := env.reportOptions(form.look, false)
	if len(f.Study.Parts) > 0 {
		doc, err := f.Whole()
		if err != nil {
			return err
		}
		return orPage(form.output, report.WholeFormats, asPage(report.WholeDoc))(env.Stdout, doc, o)
	}
	if f.Study.Find != nil {
		doc, err := f.Find()
		if err == nil {
			err = orPage(form.output, report.FindFormats, asPage(report.FindDoc))(env.Stdout, doc, o)
		}
		if err == nil {
			err = judgeFind(doc)
		}
		return err
	}
	if f.Study.Trial != nil {
		doc, err := f.Trial()
		if err != nil {
			return err
		}
		return orPage(form.output, report.TrialFormats, asPage(report.TrialDoc))(env.Stdout, doc, o)
	}
	doc, err := f.Document()
	if err != nil {
		return err
	}
	err = orPage(form.output, report.StudyFormats, asPage(report.StudyDoc))(env.Stdout, doc, o)
	if err == nil && doc.Wanted == 0 {
		err = errors.New("no run was made: every cell was left out")
	}
	return err
}
