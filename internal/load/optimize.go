package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/study"
)

// someTime is how long a run of a search for the best settings is if nobody says it.
const someTime = 10 * time.Second

// Optimum returns the search for the best settings of a load. It looks at the brokers' hosts for --over tune, and at nothing else.
func (b *Runner) Optimum(ctx context.Context, l study.Load, flags *config.Optimize) (*study.Study, error) {
	o := study.Optimum{By: study.Metric(cmp.Or(map[string]string{"bytes": metric.WireBytes}[flags.For], flags.For)), Delta: flags.Delta}
	var errs []error
	for _, text := range flags.SLO {
		slo, err := metric.Parse(text)
		switch {
		case l.IsWorkload(): // each load keeps its own
			l.Flags = append(l.Flags, study.Flag{Name: "limit", Value: text})
		case err != nil:
			errs = append(errs, fmt.Errorf("--slo %w", err))
		default:
			o.SLO = append(o.SLO, slo)
		}
	}
	of, err := b.loads(l)
	if err == nil {
		err = of.judges(o.By)
	}
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	var factors []study.Factor
	if i := slices.Index(flags.Over, "tune"); i >= 0 {
		var found []study.HostFinding
		if found, err = b.LookAtHosts(ctx, l, map[bool]study.HostDo{true: study.LookAtHost, false: study.TryHost}[flags.DryRun]); err == nil {
			factors, err = o.OverTune(found, slices.Delete(flags.Over, i, i+1), of.now)
		}
	} else if len(flags.Over) > 0 {
		factors, err = o.Over(flags.Over, of.now)
	} else {
		factors, err = o.Choose(of.commands, flags.MayChange, of.now, b.takes(l))
	}
	if err != nil {
		return nil, err
	}
	if of.made[0].Plan.System() != plan.Kafka {
		o.Defaults = o.Present
	}
	for i := range factors {
		f := &factors[i]
		_, flag := of.target(f.Name)
		f.Client, f.Property = config.JavaOf(flag)
		for _, v := range f.Values { // the person who starts the search says so
			l.Typed = append(l.Typed, study.Flag{Name: f.Name, Value: v})
		}
	}
	s, err := study.NewOptimum(l, factors, o)
	if err != nil {
		return nil, err
	}
	s.Rest, s.Discard = plan.Duration(flags.Rest), flags.Discard
	if flags.RunTime > 0 {
		s.LimitTo(flags.RunTime)
	} else if !l.IsWorkload() && !slices.ContainsFunc(l.Flags, func(f study.Flag) bool {
		return slices.Contains([]string{"duration", "num-records", "messages"}, f.Name)
	}) {
		s.LimitTo(someTime)
	}
	if flags.Budget > 0 {
		err = s.Fit(flags.Budget, b.Plans)
	}
	return s, err
}

// loads are those of a workload with their names, or one load.
type loads struct {
	names    []string // "": it is no workload
	made     []*Load
	commands []string
}

func (b *Runner) loads(l study.Load) (ls loads, err error) {
	w := &Workload{Made: make([]*Load, 1)}
	if ls.names = []string{""}; !l.IsWorkload() {
		w.Made[0], err = b.Load(l)
	} else if w, err = b.Workload(l); err == nil {
		ls.names = w.Names()
	}
	for ls.made = w.Made; err == nil && len(ls.commands) < len(w.Made); {
		ls.commands = append(ls.commands, string(w.Made[len(ls.commands)].Plan.Command))
	}
	return ls, err
}

// judges returns an error if a metric says nothing of how good the settings of the loads are.
func (ls loads) judges(by study.Metric) error {
	load, name := ls.target(string(by))
	m, err := metric.Find(name)
	if err != nil {
		return fmt.Errorf("--for: %w", err)
	}
	isLatency := m.Kind == metric.Latency
	switch {
	case (isLatency || m.Name == metric.WireBytes) && load == "" && ls.names[0] != "":
		return fmt.Errorf("--for %s: all loads together have none: name a load, as %s.%s", by, ls.names[0], by)
	case m.Name == metric.CPU && load != "":
		return fmt.Errorf("--for %s: it is of the process that makes all loads: write --for cpu", by)
	}
	for i, ld := range ls.made {
		hasRate, lacks, alone := ld.Plan.RecordsPerSecond() > 0, m.Lacks(&ld.Plan), load != "" || len(ls.made) == 1
		switch {
		case load != "" && load != ls.names[i]:
		case lacks != "" && alone:
			return fmt.Errorf("--for %s: %s", by, lacks)
		case hasRate && (m.Name == metric.Rate || m.Name == metric.Throughput):
			return fmt.Errorf("--for %s: the load has a rate, and more it will not do: leave the rate out, or ask for --for p99, cpu or bytes", by)
		case !hasRate && (isLatency || m.Name == metric.CPU) && len(ls.made) == 1:
			return fmt.Errorf("--for %s: at full speed a latency is that of a queue, and CPU is used for more records: add --rate to the load, or ask for --for rate", by)
		}
	}
	return nil
}

// target returns the load that a setting is of, and its flag; "": it is of all that have it.
func (ls loads) target(name string) (load, flag string) {
	if load, flag, ok := strings.Cut(name, "."); ok && slices.Contains(ls.names, load) {
		return load, flag
	}
	return "", name
}

// now returns what a setting is, as study.Present says it.
func (ls loads) now(name string) string {
	var values []string
	for i, ld := range ls.made {
		load, flag := ls.target(name)
		if load != "" && load != ls.names[i] {
			continue
		}
		if v, has := ld.now(flag); has && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	if len(values) == 1 {
		return values[0]
	}
	return study.Default
}

// now returns what a flag of the load is, or a setting of its topic, and whether the load has it.
func (l *Load) now(flag string) (value string, has bool) {
	if setting, ok := strings.CutPrefix(flag, "topic."); ok {
		return l.Plan.Topic.Configs[setting], l.Plan.Writes()
	}
	value, has = l.Flags[flag]
	client, property := config.JavaOf(flag)
	given := l.Properties
	if client == "consumer" {
		given = l.ConsumerProperties
	}
	if g, ok := given[property]; ok {
		value = g.Value
		if level, ok := given["compression."+value+".level"]; ok && flag == "compression" {
			value += ":" + level.Value
		}
	}
	if value == "" && l.Plan.System() != plan.Kafka {
		value = study.Default
	}
	return value, has
}

// takes returns a function that reports whether a load takes a value of a flag.
func (b *Runner) takes(l study.Load) func(study.Flag) bool {
	silent := NewRunner(b.maker)
	silent.Say = func(string) {}
	return func(f study.Flag) bool {
		one := l
		one.Flags = append(slices.Clone(l.Flags), f)
		_, err := silent.Plans(one)
		return err == nil
	}
}
