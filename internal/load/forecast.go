package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/study"
)

// Foresee checks a study and each of its parts before anything is made or changed, and returns what they will take: of a search
// it is not known. Only a dry run does without brokers.
func (b *Runner) Foresee(ctx context.Context, s *study.Study, dry bool) (all []*study.Forecast, err error) {
	for _, whole := range s.All() {
		part, err := whole.AtPeak(0)
		if err == nil {
			err = errors.Join(part.Check(), part.CheckLoads(b))
		}
		if err != nil {
			return nil, misfit(err)
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
			return nil, misfit(err)
		}
		if part != whole {
			f.NotKnown = append(f.NotKnown, "which peak the searches find: some rate stands for it here")
		}
		all = append(all, f)
	}
	return all, nil
}

// forecast returns the time and the room that a study takes, and the cells that the brokers cannot carry.
func (b *Runner) forecast(ctx context.Context, s *study.Study, dry bool) (*study.Forecast, error) {
	ask := len(s.Systems()) == 1
	if ld, err := b.place(s.First()); err == nil && ask {
		_, ask = ld.System.(run.Administered)
	}
	if !ask {
		f, err := s.Forecast(b, nil)
		if err == nil {
			f.NotKnown = append(f.NotKnown, "whether there is room, and enough nodes for every run: kt asks only in a study of Kafka alone")
		}
		return f, err
	}
	a, err := b.admin(ctx, s.First())
	if err != nil && !dry {
		return nil, err
	}
	var fits func(study.Load) error
	var dirs []result.LogDir
	room := fmt.Sprint(err)
	switch {
	case a != nil:
		defer a.Close()
		if !s.Sets("url") { // else it is not the cluster of every cell
			fits = func(l study.Load) error { return b.fits(ctx, a, l) }
		}
		if dirs, err = a.LogDirs(ctx); err != nil {
			room = err.Error()
		}
	case err == nil:
		err, room = errNoBrokers, "a broker inside kt has no log directories"
	}
	f, wrong := s.Forecast(b, fits)
	if wrong != nil {
		return nil, wrong
	}
	if err != nil {
		f.NotKnown = append(f.NotKnown, "how much room there is: "+room)
	}
	f.Place(dirs)
	return f, ctx.Err()
}

// fits returns a *result.MisfitError if brokers cannot carry a load that writes.
func (b *Runner) fits(ctx context.Context, a run.Admin, l study.Load) error {
	ld, err := b.Load(l)
	if err != nil || !ld.Plan.Writes() {
		return err
	}
	return a.Fits(ctx, ld.Plan)
}
