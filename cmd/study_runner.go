package cmd

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
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/profiles"
)

// runner makes the runs of a study, as the commands for loads make theirs.
type runner struct {
	env  *Env
	host hostTuner // of this machine
	sink bool      // made by newSinkRunner

	mu   sync.Mutex
	said map[string]bool // guarded by mu; warnings

	protected string // a protected cluster that a load goes to without --yes; "": none

	say       func(text string) // of warnings
	observers []run.Observer    // of the runs of now
}

var _ study.Runner = (*runner)(nil)

func newRunner(env *Env) *runner {
	return &runner{env: env, host: hostTuner{env: env, root: "/"}, said: make(map[string]bool), say: func(text string) { env.say("%s", text) }}
}

// newSinkRunner is newRunner for calibrations: loads on a sink of kt's own, which has no security.
func newSinkRunner(env *Env) *runner {
	b := newRunner(env)
	b.sink = true
	return b
}

// load returns a load with everything that is known of it before kt connects.
func (b *runner) load(l study.Load) (*load, error) {
	sys := b.env.configSystem()
	sys.Profiles, sys.Warn = profiles.Of(l.Command), b.warn
	sys.LeftOut = config.IsLimit // of loads by themselves, in a file for all
	if b.sink {
		sys.LeftOut = func(flag string) bool { return !config.CountsInCalibration(flag) }
	}
	var flags []config.Assignment
	for _, f := range l.Flags {
		flags = append(flags, config.Assignment{Name: f.Name, Values: []string{f.Value}, Foreign: !l.IsTyped(f)})
	}
	asked, err := config.LoadOf(plan.Command(l.Command), flags, sys)
	for _, w := range asked.Warnings {
		b.warn(w)
	}
	if err == nil && len(asked.Limits)+len(asked.AbortOn) > 0 {
		err = errors.New("limit, abort-on: they judge a run by itself, and not the runs of a study: use kt find --slo, or kt compare --fail-on on the runs")
	}
	if err != nil {
		return nil, err
	}
	if b.sink {
		if p := asked.Security.Given()["security.protocol"].Value; p != "" && !strings.EqualFold(p, plaintext) {
			b.warn("the sink has no TLS and no SASL: this measures without them, and no ceiling counts for loads with security.protocol=" + p)
		}
		asked.Security = config.Security{}
	}
	return checkLoad(b.env.silent(), &asked) // a study would say the same of every run
}

// warn gives a warning once.
func (b *runner) warn(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.said[text] {
		b.said[text] = true
		b.say(text)
	}
}

// Plan returns the plan that the flags of a load make.
func (b *runner) Plan(l study.Load) (plan.Plan, error) {
	ld, err := b.load(l)
	if err != nil {
		return plan.Plan{}, err
	}
	if !ld.Yes {
		b.protected = cmp.Or(b.protected, ld.Protected)
	}
	return ld.Plan, nil
}

// forecast returns the time and the room that a study takes, and the cells that the brokers cannot carry. Only a dry run does without
// brokers.
func (b *runner) forecast(ctx context.Context, s *study.Study, dry bool) (*study.Forecast, error) {
	if !slices.Equal(s.Systems(), []plan.System{plan.Kafka}) {
		f, err := s.Forecast(b, nil)
		if err == nil {
			f.NotKnown = append(f.NotKnown, "whether there is room, and enough nodes for every run: kt asks only in a study of Kafka alone")
		}
		return f, err
	}
	c, err := b.connect(ctx, s.First())
	if err != nil && !dry {
		return nil, err
	}
	var fits func(study.Load) error
	var dirs []result.LogDir
	room := fmt.Sprint(err)
	switch {
	case c != nil:
		defer c.Close()
		if !s.Sets("url") { // else it is not the cluster of every cell
			fits = func(l study.Load) error { return b.fits(ctx, c, l) }
		}
		if dirs, err = c.LogDirs(ctx); err != nil {
			room = err.Error()
		}
	case err == nil:
		err, room = errNoCluster, "a broker inside kt has no log directories"
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

// fits returns a *result.MisfitError if a cluster cannot carry a load that writes.
func (b *runner) fits(ctx context.Context, c *kafka.Cluster, l study.Load) error {
	ld, err := b.load(l)
	if err != nil || !ld.Plan.Writes() {
		return err
	}
	_, err = c.CheckTopic(ctx, ld.Plan, ld.kafka.Producer.Compression() != "none")
	if misfit := new(result.MisfitError); errors.As(err, &misfit) {
		return err
	}
	return nil // it may not be asked, which a run tells
}

// Run makes one run.
func (b *runner) Run(ctx context.Context, l study.Load, path string, opened func()) (result.Result, error) {
	ld, err := b.load(l)
	if err != nil {
		return result.Result{}, usageError(err)
	}
	var file *run.File
	if path != "" {
		if file, err = run.CreateFile(path); err != nil {
			return result.Result{}, err
		}
		defer file.Discard()
	}
	do, _, remove, err := ld.maker(ctx, b.env.silent())
	if err != nil {
		return result.Result{}, err
	}
	defer remove()
	r := ld.request(b.env, file)
	if b.sink {
		r.Ceiling = nil // it is what is measured
	}
	r.Opened = func(result.Header) error { opened(); return nil }
	r.Notify = func(n run.Notice) {
		if n.Kind.Warning() {
			b.warn(n.Text)
		}
	}
	res, err := do(ctx, r, b.observers...)
	var process *cluster.ProcessError
	if errors.As(err, &process) && res.RunID != "" && apart(&res) == nil {
		err = process.Err // the result tells the faults of processes, as of a run that is made here
	}
	return res, err
}

// brokers returns the number of brokers of the cluster that a load goes to.
func (b *runner) brokers(ctx context.Context, l study.Load) (int, error) {
	c, err := b.connect(ctx, l)
	if err != nil || c == nil {
		return kafka.EmbeddedBrokers, err
	}
	defer c.Close()
	return len(c.Info.Brokers), nil
}

const bootstrapServer = "bootstrap-server" // the flag of a load

// connect returns the cluster that a load goes to; nil: a broker inside kt, of which each run has its own.
func (b *runner) connect(ctx context.Context, l study.Load) (*kafka.Cluster, error) {
	ld, err := b.place(l)
	if err != nil || ld.Plan.Embedded() || ld.kafka == nil {
		return nil, err
	}
	return kafka.Connect(ctx, kafka.Access{Bootstrap: ld.Plan.Bootstrap, ClientID: "kt-admin", Timeout: kafka.AdminTimeout, Security: ld.kafka.Security})
}

// place returns a load of which only the place is that of another: its brokers, and the hosts that make it.
func (b *runner) place(l study.Load) (*load, error) {
	p := study.Load{Command: string(plan.Produce), Typed: l.Typed}
	for _, f := range l.Flags {
		if slices.Contains([]string{bootstrapServer, "url", "cluster", "command-config", "command-property", "config", "on", "watch", "join", "peers", "key-file"}, f.Name) {
			p.Flags = append(p.Flags, f)
		}
	}
	return b.load(p)
}

// studyTopics is what the names of topics of studies begin with.
const studyTopics = "kt-study-"

// DeleteTopic deletes a topic of the study.
func (b *runner) DeleteTopic(ctx context.Context, l study.Load, name string) error {
	if !strings.HasPrefix(name, studyTopics) {
		return fmt.Errorf("delete topic %s: kt deletes only topics of studies here: their names begin with %s", name, studyTopics)
	}
	ld, err := b.place(l)
	if err == nil && ld.kafka == nil {
		system, ok := ld.system.(topicAdmin)
		if !ok {
			return fmt.Errorf("delete topic %s: kt cannot delete topics of %s", name, ld.Plan.System())
		}
		return system.DeleteTopic(ctx, name)
	}
	c, err := b.connect(ctx, l)
	if err != nil {
		return fmt.Errorf("delete topic %s: %w", name, err)
	}
	if c == nil { // it went with the broker inside kt
		return nil
	}
	defer c.Close()
	return c.DeleteTopic(ctx, name)
}
