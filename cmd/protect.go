package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// permit asks before loads of a cluster that is marked as protected. Where nobody can be asked it refuses them.
func (e *Env) permit(ctx context.Context, cluster, loads string) error {
	yes, err := e.confirm(ctx, fmt.Sprintf("cluster %s is protected: %s?", cluster, loads))
	switch {
	case err != nil:
		return fmt.Errorf("cluster %s is protected: %w", cluster, err)
	case !yes:
		return usageError(errors.New("nothing was done"))
	}
	return nil
}

// permitLoad asks before one load, if it goes to a protected cluster.
func (e *Env) permitLoad(ctx context.Context, r *config.Run) error {
	if r.Protected == "" || r.Yes {
		return nil
	}
	return e.interruptible(ctx, func(ctx context.Context) error {
		return e.permit(ctx, r.Protected, describeLoad(&r.Plan))
	})
}

// describeLoad tells what a load will do to a cluster.
func describeLoad(p *plan.Plan) string {
	end := "until it is stopped"
	switch l := p.Load; {
	case l.Records > 0:
		end = theme.Plural(l.Records, "record", "records")
	case l.Duration > 0:
		end = "for " + theme.Duration(l.Duration.Std())
	case p.Read.ToEnd:
		end = "to the end"
	}
	rate := "at no limit"
	if !p.Load.Rate.IsUnlimited() {
		rate = "at " + theme.Amount(p.RecordsPerSecond()) + " records/s"
	}
	topic := p.Topic.Name
	if topic == "" {
		topic = p.Read.Include
	}
	return fmt.Sprintf("kt %s with topic %s at %s, %s, %s", p.Command, topic, strings.Join(p.Servers(), ","), rate, end)
}

// permitStudy asks once before all runs of a study, if one of them goes to a protected cluster. The loads were planned.
func (e *Env) permitStudy(ctx context.Context, b *load.Runner, s *study.Study, yes bool) error {
	if b.Protected == "" || yes {
		return nil
	}
	return e.permit(ctx, b.Protected, "all runs of "+s.Name)
}
