package load

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/workload"
)

// Workload is a workload on request, with everything known of it before kt connects to a broker.
type Workload struct {
	*workload.Workload
	Made      []*Load // of Loads, in their order
	Protected string  // a protected cluster that a load goes to without --yes; "": none
	Embedded  bool    // all loads share the broker inside kt

	runner  *Runner
	changes *config.Workload
	topic   string // what the names of its own topics begin with
}

// Changed returns the workload of a load of kt run, whose loads have the flags that its own give them, and the changes that are left.
func (b *Runner) Changed(l study.Load) (*workload.Workload, *config.Workload, error) {
	sys := b.maker.Config
	sys.Warn = b.warn
	w, err := workload.Of(l)
	c, wrong := config.WorkloadOf(assigned(l), sys)
	if err := cmp.Or(err, w.Placed("", wrong)); err != nil {
		return nil, nil, err
	}
	Share(&study.Study{Loads: w.Loads}, c.Shared())
	for _, set := range c.Set {
		if err := w.Set(set.Name, strings.Join(set.Values, ","), !set.Foreign, CheckFlag); err != nil {
			return nil, nil, err
		}
	}
	return w, c, nil
}

// elsewhere are flags of loads that say where, how long and by whom they are made, and not what they are.
var elsewhere = []string{bootstrapServer, "url", "cluster", "command-config", "config", "on", "hosts", "processes", "watch", "join", "peers", "key-file", "yes", "tag", "accept", "duration", "warmup"}

// SameWorkload returns an error that names the first difference between a workload of a file and that of a search, as it was changed there.
// It has no values, which may be secret.
func (b *Runner) SameWorkload(file study.Load, of *study.Study) error {
	made := of.First()
	if !made.IsWorkload() {
		return nil
	}
	var is [2][][2]string // what it is of, and the value
	for i, l := range []study.Load{file, made} {
		w, err := b.Workload(l)
		if err != nil {
			return err
		}
		for j, of := range w.Loads {
			is[i] = append(is[i], [2]string{"load " + of.Name + " (its command, its system, or what it reads)", fmt.Sprint(of.Command, w.Made[j].Plan.System(), of.Reads)})
			for _, f := range of.Flags {
				if !slices.Contains(elsewhere, f.Name) {
					is[i] = append(is[i], [2]string{of.Name + "." + f.Name, f.Value})
				}
			}
		}
	}
	for i := range is {
		j := slices.IndexFunc(is[i], func(one [2]string) bool { return !slices.Contains(is[1-i], one) })
		if j >= 0 && of.Without != nil && strings.HasSuffix(is[i][j][0], ".replication-factor") {
			return fmt.Errorf("the search lowered %s while a broker was stopped: name the whole search, and not that part of it", is[i][j][0])
		} else if j >= 0 {
			return fmt.Errorf("the find is of another workload: %s differs", is[i][j][0])
		}
	}
	return nil
}

// Share gives all loads of a study flags. A load with a url goes there, and not to the brokers of the flags.
func Share(s *study.Study, flags []config.Assignment) {
	for _, f := range flags {
		var unless []string
		if f.Name == bootstrapServer || f.Name == "cluster" {
			unless = []string{"url"}
		}
		s.Share(f.Name, strings.Join(f.Values, ","), !f.Foreign, unless...)
	}
}

// CheckFlag returns an error for a flag that a load does not have, or that no file may give it.
func CheckFlag(command, flag string) error { return config.CheckFlag(plan.Command(command), flag) }

// Workload checks a workload without connecting to a broker. Its errors have the places in the file, as far as they are known.
func (b *Runner) Workload(l study.Load) (*Workload, error) {
	w, c, err := b.Changed(l)
	if err != nil {
		return new(Workload), misfit(err)
	}
	own := NewRunner(b.maker)
	own.Say = b.warn
	all := &Workload{Workload: w, Made: make([]*Load, len(w.Loads)), runner: own, changes: c, topic: cmp.Or(l.Topic, runTopics+strings.ToLower(rand.Text()[:6]))}
	made := make(map[string]*Load)
	for err = all.findBrokers(); err == nil && len(made) < len(w.Loads); { // the sources of others first
		for i, of := range w.Loads {
			if source := made[of.Reads]; made[of.Name] == nil && (of.Reads == "" || source != nil) {
				ld, wrong := all.load(of, source)
				made[of.Name], all.Made[i], err = ld, ld, errors.Join(err, w.Placed(of.Name, wrong))
			}
		}
	}
	if err == nil {
		err = errors.Join(all.agree(), all.limit(), all.addExecs())
	}
	return all, misfit(err)
}

// findBrokers finds out whether all loads go to the broker inside kt, which they share.
func (w *Workload) findBrokers() error {
	for i, l := range w.Loads {
		ld, err := w.runner.place(l)
		switch {
		case err != nil:
			return w.Placed(l.Name, err)
		case i == 0:
			w.Embedded = ld.Plan.Embedded()
		case w.Embedded != ld.Plan.Embedded():
			return w.Placed(l.Name, plan.About(bootstrapServer, errors.New("some loads name brokers, and others go to the broker inside kt: name brokers for all, as with --bootstrap-server")))
		}
	}
	return nil
}

// load makes one load. source is the one that it reads; nil: none of the workload.
func (w *Workload) load(l study.Load, source *Load) (*Load, error) {
	l.Flags = slices.Clone(l.Flags)
	add := func(name, value string) { l.Flags = append(l.Flags, study.Flag{Name: name, Value: value}) }
	has := func(names ...string) bool {
		return slices.ContainsFunc(l.Flags, func(f study.Flag) bool { return slices.Contains(names, f.Name) })
	}
	follows := workload.Follows(&l) != ""
	switch {
	case source != nil:
		p := &source.Plan
		of := p.Load
		if rate := p.RecordsPerSecond(); follows && of.Records > 0 && rate > 0 && has("on") { // which records a host reads is not known
			of.Records, of.Duration = 0, plan.Duration(math.Ceil(float64(of.Records)/rate)+1)*plan.Duration(time.Second)
		}
		if add("topic", p.Topic.Name); follows && of.Records > 0 {
			add("num-records", strconv.FormatInt(of.Records, 10))
		} else if follows && !p.Read.ToEnd { // else it reads to the end too
			add("duration", of.Duration.String())
		}
	case !has("topic", "include"):
		add("topic", w.topic+"-"+l.Name)
	}
	if l.Command != string(plan.Consume) && !has("delete-topic") {
		add("delete-topic", "true")
	}
	if w.changes.Yes {
		add("yes", "true")
	}
	if w.Embedded {
		add(bootstrapServer, "localhost:9092") // as kt consume needs one
	}
	w.runner.adapt = func(r *config.Run) error { return w.adapt(r, follows) }
	ld, err := w.runner.Load(l)
	if err == nil && !ld.Yes {
		w.Protected = cmp.Or(w.Protected, ld.Protected)
	}
	return ld, err
}

// adapt changes a load as the command line says. follows reports whether it ends as the load that it reads, which is as short as it gets.
func (w *Workload) adapt(r *config.Run, follows bool) (err error) {
	of := &r.Plan.Load
	end := func() plan.Duration {
		return plan.Duration(append([]time.Duration{0}, of.Rate.Bounds()...)[len(of.Rate.Bounds())])
	}
	shorter := func(d plan.Duration) plan.Duration { return plan.Duration(float64(d) / w.changes.Speed) }
	if w.Settle > 0 && len(of.Rate.Stages) > 0 { // the highest stage all the time
		highest := slices.MaxFunc(of.Rate.Stages, func(a, b plan.Stage) int { return cmp.Compare(max(a.From, a.To), max(b.From, b.To)) })
		of.Rate.PerSecond, of.Rate.Stages = max(highest.From, highest.To), nil
	}
	staged := of.Duration == end() // else a duration says when it ends
	if of.Rate = of.Rate.Times(w.changes.Scale); !follows {
		of.Duration = shorter(of.Duration)
	}
	of.Warmup.Duration = shorter(of.Warmup.Duration)
	for i := range of.Rate.Stages {
		length := &of.Rate.Stages[i].Length
		*length = plan.Duration(max(time.Second, shorter(*length).Std().Round(time.Second)))
	}
	if of.Rate, err = plan.ParseTarget(of.Rate.String()); err != nil { // it may be too high now
		return err
	}
	if staged {
		of.Duration = end()
	}
	if d := plan.Duration(w.changes.RunTime); d > 0 && !follows {
		of.Records, of.Warmup, r.Plan.Read.ToEnd, of.Duration = 0, plan.Warmup{}, false, d
		if len(of.Rate.Stages) > 0 {
			of.Duration = min(d, end())
		}
	}
	if w.Settle > 0 {
		of.Warmup = plan.Warmup{Duration: w.Settle}
	}
	for i := range r.Execs {
		r.Execs[i].After = shorter(plan.Duration(r.Execs[i].After)).Std()
	}
	if w.Embedded {
		r.Plan.Bootstrap, r.Security = nil, config.Security{}
	}
	return r.Plan.Validate()
}

// agree gives loads that write to the same topic what any of them says of it, and returns an error of each that says something else.
func (w *Workload) agree() (errs error) {
	first := make(map[string]int) // the load that makes a topic
	for i, ld := range w.Made {
		if !ld.Plan.Writes() {
			continue
		}
		own, compared := &ld.Plan.Topic, make(map[int]bool)
		for _, name := range own.Names() {
			j, has := first[name]
			if !has {
				first[name] = i
			}
			if !has || compared[j] {
				continue
			}
			made := &w.Made[j].Plan.Topic
			compared[j] = true
			made.Partitions, made.ReplicationFactor = cmp.Or(made.Partitions, own.Partitions), cmp.Or(made.ReplicationFactor, own.ReplicationFactor)
			if made.Name == own.Name && (made.Configs == nil || maps.Equal(made.Configs, own.Configs)) {
				made.Configs, own.Configs = own.Configs, nil
			}
			there := result.Topic{Name: name + " of load " + w.Loads[j].Name, Partitions: int(made.Partitions), ReplicationFactor: int(made.ReplicationFactor)}
			errs = errors.Join(errs, w.Placed(w.Loads[i].Name, there.Fits(*own)))
		}
	}
	return errs
}

// fits asks brokers whether they can carry the loads, before any load makes its topic. Its errors have the places in the file.
func (w *Workload) fits(ctx context.Context, a run.Admin) (errs error) {
	made := make(map[string]bool)
	for _, ld := range w.Made {
		for _, name := range ld.Plan.Topic.Names() {
			made[name] = made[name] || ld.Plan.Writes()
		}
	}
	for i, ld := range w.Made {
		p := &ld.Plan
		if p.Writes() || p.Read.Include == "" && !slices.ContainsFunc(p.Topic.Names(), func(name string) bool { return made[name] }) {
			errs = errors.Join(errs, w.Placed(w.Loads[i].Name, a.Fits(ctx, *p)))
		}
	}
	return errs
}

// Foretell checks a workload by its brokers before anything is made, and returns what it takes. A dry run does without brokers, and so
// does a run on other hosts, which may reach them from there alone.
func (w *Workload) Foretell(ctx context.Context, l study.Load, dry bool) (*study.Forecast, error) {
	s := &study.Study{Name: w.Name, About: w.About, Loads: []study.Load{l}, Repeats: 1, Order: study.Listed}
	return w.runner.forecast(ctx, s, dry || len(w.Made[0].Hosts.On) > 0, w.fits)
}

// Plans returns the loads before they are made.
func (w *Workload) Plans() (all []report.PlannedLoad) {
	for i, l := range w.Made {
		all = append(all, report.PlannedLoad{Name: w.Loads[i].Name, Limits: l.Limits, Plan: l.Plan})
	}
	return all
}

// limit gives the loads the limits of the command line.
func (w *Workload) limit() error {
	var plans []*plan.Plan
	for _, l := range w.Made {
		plans = append(plans, &l.Plan)
	}
	limits, err := result.LimitsOf(w.changes.Limits, w.Names(), plans)
	for i := range limits {
		w.Made[i].Limits = append(w.Made[i].Limits, limits[i]...)
	}
	return err
}

// addExecs gives the commands of the workload to its longest load, which notes what becomes of them.
func (w *Workload) addExecs() error {
	ends := func(l *Load) time.Duration {
		if l.Plan.Load.Duration == 0 && l.Plan.Load.Records == 0 {
			return math.MaxInt64
		}
		return l.Plan.Load.Duration.Std()
	}
	longest := slices.MaxFunc(w.Made, func(a, b *Load) int { return cmp.Compare(ends(a), ends(b)) })
	for _, e := range w.changes.Execs {
		e.After, e.Of = time.Duration(float64(e.After)/w.changes.Speed), result.OfWorkload
		if end := ends(longest); end > 0 && e.After >= end {
			return w.Placed("", plan.Refuse("at", e.After, "every load is over by then"))
		}
		longest.Execs = append(longest.Execs, e)
	}
	return nil
}
