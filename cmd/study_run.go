package cmd

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/profiles"
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
	b := newRunner(env)
	brokers := 0
	if s.NeedsBrokers() {
		if brokers, err = b.brokers(ctx, s.All()[0].Loads[0]); err != nil {
			return nil, err
		}
	}
	if err = s.Fill(brokers); err == nil {
		err = s.Check()
	}
	if err != nil {
		return nil, usageError(err)
	}
	return startStudy(ctx, flags.Written(), s, b, flags.DryRun, flags.Yes)
}

// startStudy checks a new study and makes it. A dry run returns what it will take instead.
func startStudy(ctx context.Context, w config.Written, s *study.Study, b *runner, dry, yes bool) (*finding, error) {
	forecasts, err := b.foresee(ctx, s, dry)
	switch {
	case err == nil && dry:
		p := &report.StudyPlan{Study: s, Parts: forecasts}
		return found(report.PlanDoc(p), p), nil
	case err == nil:
		err = b.permitStudy(ctx, s, yes)
	}
	if err != nil {
		return nil, err
	}
	f, err := b.env.createStudy(s, b)
	if err != nil {
		return nil, err
	}
	return makeStudy(ctx, w, f, b)
}

// foresee checks a study and each of its parts before anything is made or changed, and returns what they will take: of a search it is
// not known.
func (b *runner) foresee(ctx context.Context, s *study.Study, dry bool) (all []*study.Forecast, err error) {
	for _, whole := range s.All() {
		part, err := whole.AtPeak(0)
		if err == nil {
			err = errors.Join(part.Check(), part.CheckLoads(b))
		}
		if err != nil {
			return nil, usageError(err)
		}
		for _, l := range part.Loads {
			if _, err := b.chosen(ctx, l); err != nil {
				return nil, err
			}
		}
		if err := part.CheckOutside(ctx, b); err != nil {
			return nil, err
		}
		f, err := b.forecast(ctx, part, dry)
		if err != nil {
			return nil, err
		}
		if err := f.Err(); err != nil && !dry {
			return nil, usageError(err)
		}
		if part != whole {
			f.NotKnown = append(f.NotKnown, "which peak the searches find: some rate stands for it here")
		}
		all = append(all, f)
	}
	return all, nil
}

// adapt changes a study as the command line says.
func adapt(s *study.Study, flags *config.Study) error {
	for _, set := range flags.Set {
		s.Set(set.Name, set.Values)
	}
	for _, part := range s.All() {
		for _, shared := range flags.Shared() {
			var unless []string
			if shared.Name == bootstrapServer || shared.Name == "cluster" { // of a variable or a file: a url in the study wins
				unless = []string{"url"}
				if flags.IsTyped(shared.Name) && part.Sets("url") {
					return fmt.Errorf("--%s: url in the study, or --set url, says where its loads go: leave one of them out", shared.Name)
				}
			}
			part.Share(shared.Name, strings.Join(shared.Values, ","), !shared.Foreign, unless...)
		}
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

// createStudy makes the folder of a new study. It keeps the brokers that the environment or a file named: to go on,
// and to put back what was changed, kt has to find the same ones.
func (e *Env) createStudy(s *study.Study, b *runner) (*study.Folder, error) {
	sys, noLogin := e.configSystem(), b.kafka // the brokers alone are asked for, so nothing is refused to them
	sys.Profiles, noLogin.Security = profiles.Of(string(plan.Produce)), nil
	own, err := config.LoadOf(plan.Produce, nil, sys, noLogin)
	if err != nil {
		return nil, err
	}
	for _, part := range s.All() {
		switch {
		case own.Cluster != "":
			part.Share("cluster", own.Cluster, true, bootstrapServer, "cluster", "url")
		case !own.Plan.Embedded():
			part.Share(bootstrapServer, strings.Join(own.Plan.Bootstrap, ","), !own.Foreign, bootstrapServer, "cluster", "url")
		}
	}
	dir, err := e.studiesDir()
	if err != nil {
		return nil, err
	}
	return study.Create(dir, s, fmt.Sprintf("%s-%s-%s", e.Now().UTC().Format("20060102-150405"), s.Name, strings.ToLower(rand.Text()[:5])))
}
