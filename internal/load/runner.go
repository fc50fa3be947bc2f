package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/study"
)

// Runner makes the runs of a study, as the commands for loads make theirs.
type Runner struct {
	Say       func(text string) // of warnings, each once
	Observers []run.Observer    // of the runs of now
	Protected string            // a protected cluster that a load goes to without --yes; "": none

	maker *Maker
	host  *HostTuner // of this machine
	sink  bool       // for a calibration: loads on a sink of kt's own, which has no security

	adapt func(*config.Run) error // what a workload changes of a load before it is checked; nil: limits are refused, as in a study

	mu   sync.Mutex
	said map[string]bool // guarded by mu; warnings
}

var _ study.Runner = (*Runner)(nil)

// NewRunner makes a runner.
func NewRunner(m *Maker) *Runner {
	return &Runner{Say: m.Say, maker: m, host: NewHostTuner(m, "/"), said: make(map[string]bool)}
}

// Load returns a load with everything that is known of it before kt connects.
func (b *Runner) Load(l study.Load) (*Load, error) {
	sys := b.maker.Config
	sys.Warn = b.warn
	sys.LeftOut = config.IsLimit // of loads by themselves, in a file for all
	if b.sink {
		sys.LeftOut = func(flag string) bool { return !config.CountsInCalibration(flag) }
	}
	asked, err := config.LoadOf(plan.Command(l.Command), assigned(l), sys)
	for _, w := range asked.Warnings {
		b.warn(w)
	}
	if err == nil && b.adapt != nil {
		err = b.adapt(asked)
	} else if err == nil && (asked.Strict || len(asked.Limits)+len(asked.AbortOn) > 0) {
		err = errors.New("limit, abort-on, strict: they judge a run by itself, and not the runs of a study: use kt find --slo, or kt compare --fail-on on the runs")
	}
	if err != nil {
		return nil, err
	}
	if b.sink {
		if p := asked.Security.Given()["security.protocol"].Value; p != "" && !strings.EqualFold(p, security.Plaintext) {
			b.warn("the sink has no TLS and no SASL: this measures without them, and no ceiling counts for loads with security.protocol=" + p)
		}
		asked.Security = config.Security{}
	}
	silent := *b.maker // a study would say the same of every run
	silent.Say = func(string) {}
	return silent.Check(asked)
}

// assigned returns the flags of a load as those of a command.
func assigned(l study.Load) (flags []config.Assignment) {
	for _, f := range l.Flags {
		flags = append(flags, config.Assignment{Name: f.Name, Values: []string{f.Value}, Foreign: !l.IsTyped(f)})
	}
	return flags
}

// warn gives a warning once.
func (b *Runner) warn(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.said[text] {
		b.said[text] = true
		b.Say(text)
	}
}

// Plans returns the plan that the flags of a load make, and of a workload one for each of its loads.
func (b *Runner) Plans(l study.Load) (plans []plan.Plan, err error) {
	w := &Workload{Made: make([]*Load, 1)}
	if l.IsWorkload() {
		w, err = b.Workload(l)
	} else {
		w.Made[0], err = b.Load(l)
	}
	if err != nil {
		return nil, err
	}
	for _, ld := range w.Made {
		if plans = append(plans, ld.Plan); !ld.Yes {
			b.Protected = cmp.Or(b.Protected, ld.Protected)
		}
	}
	return plans, nil
}

// Run makes one run.
func (b *Runner) Run(ctx context.Context, l study.Load, path string, opened func(made []string) error) (result.Result, error) {
	var file *run.File
	var err error
	if path != "" {
		if file, err = run.CreateFile(path); err != nil {
			return result.Result{}, err
		}
		defer file.Discard()
	}
	if l.IsWorkload() {
		return b.runWorkload(ctx, l, file, opened)
	}
	ld, err := b.Load(l)
	if err != nil {
		return result.Result{}, misfit(err)
	}
	do, _, remove, err := ld.Func(ctx)
	if err != nil {
		return result.Result{}, err
	}
	defer remove()
	r := ld.Request(file)
	if b.sink {
		r.Ceiling = nil // it is what is measured
	}
	r.Opened, r.Notify = func(result.Header) error { return opened(nil) }, b.notify
	res, err := do(ctx, r, b.Observers...)
	var process *cluster.ProcessError
	if errors.As(err, &process) && res.RunID != "" && MissingParts(&res) == nil {
		err = process.Err // the result tells the faults of processes, as of a run that is made here
	}
	return res, err
}

// notify gives the warnings among what a run says.
func (b *Runner) notify(n run.Notice) {
	if n.Kind.Warning() {
		b.warn(n.Text)
	}
}

// BrokerCount returns the number of brokers of the cluster that a load goes to.
func (b *Runner) BrokerCount(ctx context.Context, l study.Load) (int, error) {
	a, err := b.admin(ctx, l)
	if err != nil || a == nil {
		return kafka.EmbeddedBrokers, err
	}
	defer a.Close()
	return len(a.Brokers()), nil
}

// place returns a load of which only the place is that of another: its brokers, and the hosts that make it.
func (b *Runner) place(l study.Load) (*Load, error) {
	if l.IsWorkload() { // whose loads all go to one place
		w, _, err := b.Changed(l)
		if err != nil {
			return nil, err
		}
		l = w.Loads[0]
	}
	p := study.Load{Command: string(plan.Roundtrip), Typed: l.Typed} // which takes the properties of both clients
	for _, f := range l.Flags {
		if slices.Contains([]string{bootstrapServer, "url", "cluster", "command-config", "command-property", "config", "on", "watch", "join", "peers", "key-file"}, f.Name) {
			p.Flags = append(p.Flags, f)
		}
	}
	return b.Load(p)
}

const bootstrapServer = "bootstrap-server" // the flag of a load

// admin connects to the brokers that a load goes to; nil: there are none that can be asked.
func (b *Runner) admin(ctx context.Context, l study.Load) (run.Admin, error) {
	ld, err := b.place(l)
	if err != nil {
		return nil, err
	}
	if s, ok := ld.System.(run.Administered); ok {
		return s.Administer(ctx)
	}
	return nil, nil
}

// What the names of topics of studies, and of workloads by themselves, begin with.
const (
	studyTopics = "kt-study-"
	runTopics   = "kt-run-"
)

// DeleteTopic deletes the topics of the study that a name means.
func (b *Runner) DeleteTopic(ctx context.Context, l study.Load, name string) error {
	names, err := plan.ParseTopics(name)
	if err == nil {
		err = b.mayDelete(l, names)
	}
	if err != nil {
		return fmt.Errorf("delete topic %s: %w", name, err)
	}
	ld, err := b.place(l)
	if err != nil {
		return fmt.Errorf("delete topic %s: %w", name, err)
	}
	s, ok := ld.System.(run.TopicDeleter)
	if !ok {
		return Cannot("delete topic "+name, &ld.Plan, "delete it by its own tools")
	}
	return s.DeleteTopic(ctx, name)
}

// mayDelete returns an error for topics that no run of a load has made.
func (b *Runner) mayDelete(l study.Load, names []string) error {
	var own []string // of the loads of a workload: the log has those that a run has made
	if l.IsWorkload() {
		plans, err := b.Plans(l)
		if err != nil {
			return err
		}
		for _, p := range plans {
			own = append(own, p.Topic.Names()...)
		}
	}
	if slices.ContainsFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, studyTopics) && !strings.HasPrefix(name, runTopics) && !slices.Contains(own, name)
	}) {
		return fmt.Errorf("kt deletes only topics of studies here: their names begin with %s", studyTopics)
	}
	return nil
}

// NewStudy makes the folder of a new study. It keeps the brokers that the environment or a file named: to go on,
// and to put back what was changed, kt has to find the same ones.
func (b *Runner) NewStudy(dir, id string, s *study.Study) (*study.Folder, error) {
	sys := b.maker.Config // the brokers alone are asked for, so nothing is refused to them
	sys.Kafka.Security = nil
	own, err := config.LoadOf(plan.Produce, nil, sys)
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
	return study.Create(dir, s, id)
}

// Foresee checks a study and each of its parts before anything is made or changed, and returns what they will take: of a search
// it is not known. Only a dry run does without brokers.
func (b *Runner) Foresee(ctx context.Context, s *study.Study, dry bool) (all []*study.Forecast, err error) {
	for _, whole := range s.All() {
		part, err := whole.AtPeak(0)
		if err == nil {
			err = errors.Join(part.Check(), part.CheckLoads(b.Plans))
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
		f, err := b.forecast(ctx, part, dry, nil)
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

// forecast returns the time and the room that a study takes, and the cells that the brokers cannot carry. check may end it; nil: it does not.
func (b *Runner) forecast(ctx context.Context, s *study.Study, dry bool, check func(context.Context, run.Admin) error) (*study.Forecast, error) {
	ask := len(s.Systems()) == 1
	if ld, err := b.place(s.First()); err == nil && ask {
		_, ask = ld.System.(run.Administered)
	}
	if !ask {
		f, err := s.Forecast(b.Plans, nil)
		if err == nil {
			f.NotKnown = append(f.NotKnown, "whether there is room, and enough nodes for every run: kt asks only in a study of Kafka alone")
		}
		return f, err
	}
	a, err := b.admin(ctx, s.First())
	if err != nil && !dry {
		return nil, err
	}
	var fits func(plan.Plan) error
	var dirs []result.LogDir
	room := fmt.Sprint(err)
	switch {
	case a != nil:
		defer a.Close()
		if check != nil {
			if err := check(ctx, a); err != nil {
				return nil, err
			}
		}
		if !s.Sets("url") { // else it is not the cluster of every cell
			fits = func(p plan.Plan) error {
				if !p.Writes() {
					return nil
				}
				return a.Fits(ctx, p)
			}
		}
		if dirs, err = a.LogDirs(ctx); err != nil {
			room = err.Error()
		}
	case err == nil:
		err, room = errNoBrokers, "a broker inside kt has no log directories"
	}
	f, wrong := s.Forecast(b.Plans, fits)
	if wrong != nil {
		return nil, wrong
	}
	if err != nil {
		f.NotKnown = append(f.NotKnown, "how much room there is: "+room)
	}
	f.Place(dirs)
	return f, ctx.Err()
}
