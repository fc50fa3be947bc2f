package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// Runner is where runs are made.
type Runner interface {
	// Plans returns the plan that the flags of a load make, and of a workload one for each of its loads, without a connection. Its
	// error has all that is wrong with them.
	Plans(l Load) ([]plan.Plan, error)
	// Run makes one run, and leaves its run file at a path. It calls opened when the topics are there, with those that its own
	// topic does not name and that it has made. A *result.MisfitError means that the load does not fit the cluster, and that
	// nothing was done.
	Run(ctx context.Context, l Load, path string, opened func(made []string) error) (result.Result, error)
	// DeleteTopic deletes the topics that a load of the study made, of a name as plan.ParseTopics reads it. One that is not there
	// is no error.
	DeleteTopic(ctx context.Context, l Load, name string) error

	// CheckOutside returns all that hinders changes of the brokers that a load goes to, and of their hosts, and
	// settings of its topics. Nothing is changed.
	CheckOutside(ctx context.Context, l Load, w Wanted) error
	// BrokerSettings returns what every broker has now of some settings.
	BrokerSettings(ctx context.Context, l Load, names []string) ([]result.BrokerSetting, error)
	SetBrokers(ctx context.Context, l Load, settings []result.BrokerSetting) error
	// Hosts returns the hosts of these brokers, by the names of their agents; none: this one.
	Hosts(ctx context.Context, l Load) ([]string, error)
	// ChangeHosts gives an order to some hosts that Hosts has returned. One that is gone is an error.
	ChangeHosts(ctx context.Context, l Load, hosts []string, o HostOrder) error
	// Command runs a command of the user's to its end on this host, whether ctx ends or not.
	Command(ctx context.Context, command string) error
}

// Progress is what happens while runs are made.
type Progress struct {
	What    Event
	Part    *Folder // of Entered
	Turn    Turn
	Turns   int           // of the study; 0: not known
	Name    string        // of Preparing: the load
	Results []LoadFigures // of Finished: one for each load
	Outcome Outcome       // likewise, of a search
	Reason  string        // of Skipped
}

// CheckLoads returns all that is wrong with the flags of every load in every cell.
func (s *Study) CheckLoads(plansOf func(Load) ([]plan.Plan, error)) error {
	var wrong []error
	for _, c := range s.Cells() {
		for _, l := range s.loads() {
			plans, err := plansOf(s.planned(c, *l))
			if err != nil && s.Optimum != nil && (c.called == AgainstDefaults || s.goesWith(c, *l, plansOf)) { // it is left out
				continue
			}
			for i, slo := 0, s.SLO(); err == nil && i < len(slo); i++ {
				if bad := slo[i].Check(&plans[0]); bad != nil {
					err = fmt.Errorf("--slo %q cannot be judged: %w", slo[i], bad)
				}
			}
			if err == nil && s.Find != nil && s.Find.Scale && !slices.ContainsFunc(plans, func(p plan.Plan) bool { return p.RecordsPerSecond() > 0 }) {
				err = fmt.Errorf("%s: none of its loads has a rate, so there is no scale to search for", l.File)
			}
			if err != nil && !slices.ContainsFunc(wrong, func(w error) bool { return errors.Unwrap(w).Error() == err.Error() }) {
				wrong = append(wrong, fmt.Errorf("%s%w", strings.TrimPrefix(strings.TrimPrefix(c.String(), asItIs)+": ", ": "), err))
			}
		}
	}
	return errors.Join(wrong...)
}

// planned returns a load with the values of a cell, and some topic for the one that it will have.
func (s *Study) planned(c Cell, l Load) Load {
	l = s.at(c, l)
	if !l.readsOld() {
		l.set("topic", "kt-study")
	}
	return l
}

// Execute makes the runs that are not done yet, part by part, and deletes the topics that it made. When ctx ends, the
// run that goes on is dropped, and the others stay: Execute goes on from there when it is called again.
func Execute(ctx context.Context, f *Folder, runner Runner, notify func(Progress)) error {
	release, err := f.hold()
	if err != nil {
		return err
	}
	defer release()
	for _, part := range f.Study.All() {
		p, err := f.enter(part)
		if err != nil {
			return err
		}
		notify(Progress{What: Entered, Part: p})
		x := &executor{Folder: p, runner: runner, notify: notify, before: len(p.log)}
		if err := x.tidy(ctx); err != nil { // after a study that was cut off
			return err
		}
		err = x.runs(ctx)
		left := x.tidy(ctx)
		if left != nil && errors.Is(err, context.Canceled) {
			return left // who ended ctx knows that, and not what is left
		}
		if err := errors.Join(err, left); err != nil {
			return err
		}
	}
	return nil
}

type executor struct {
	*Folder

	runner Runner
	notify func(Progress)
	before int // lines of the log when it began
	turns  int // so far; 0: the runs decide

	around []Flag // what is changed of brokers and hosts; nil: nothing is known
}

// deleteTopic deletes the topics of an entry where its cell was made, also when ctx has ended.
func (x *executor) deleteTopic(ctx context.Context, t entry) (err error) {
	cells := x.Study.Cells()
	i := max(0, min(t.Cell, len(cells)-1))
	if x.Study.Optimum != nil { // its cells are in one place, and not numbered in their order
		i = 0
	}
	l := x.Study.at(cells[i], x.Study.Loads[0])
	for _, topic := range strings.Split(t.Topic, ",") {
		err = errors.Join(err, x.runner.DeleteTopic(context.WithoutCancel(ctx), l, topic))
	}
	return err
}

// numbered returns the expression of all topics that some loads make of a name in a cell: --topics makes many of it.
func (x *executor) numbered(c Cell, topic string, loads ...Load) (string, error) {
	var all []string
	for _, l := range loads {
		if l = x.Study.at(c, l); l.Reads != "" || l.readsOld() {
			continue // it makes none
		}
		l.set("topic", topic)
		plans, err := x.runner.Plans(l)
		if err != nil && x.Study.Optimum != nil { // its values are checked one by one, and may not go together
			err = &result.MisfitError{Err: err}
		}
		if err != nil {
			return "", err
		}
		for _, p := range plans { // a workload has topics of its own, and others
			if strings.HasPrefix(p.Topic.Name, topic) {
				all = append(all, p.Topic.Name)
			}
		}
	}
	return cmp.Or(strings.Join(once(all), ","), topic), nil
}

func (x *executor) runs(ctx context.Context) error {
	for first := true; ; first = false {
		d, err := x.known()
		t := d.open()
		if err != nil || t == nil {
			return err
		}
		if !x.Study.IsOpen() {
			x.turns = len(d.turns)
		}
		if !first {
			select {
			case <-ctx.Done():
			case <-time.After(x.Study.Rest.Std()):
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = x.turn(ctx, *t)
		if misfit := new(result.MisfitError); errors.As(err, &misfit) && x.Study.Find == nil && x.Study.Trial == nil && !d.needs(*t) {
			x.notify(Progress{What: Skipped, Turn: *t, Reason: misfit.Error(), Turns: x.turns})
			err = x.note(entry{What: Skipped, Cell: t.Cell.Index, Reason: misfit.Error()})
		}
		if err != nil {
			return err
		}
	}
}

// turn makes one run. Its files count when the log says that they are complete.
func (x *executor) turn(ctx context.Context, t Turn) error {
	if err := x.surround(ctx, t.Cell); err != nil {
		return err
	}
	prepared, err := x.prepare(ctx, t)
	if err != nil {
		return err
	}
	topic := x.topic(fmt.Sprintf("%04d", t.Number))
	e := entry{What: Begun, Turn: t.Number, Cell: t.Cell.Index}
	if e.Topic, err = x.numbered(t.Cell, topic, x.Study.Loads...); err != nil {
		return err
	}
	if err := x.note(e); err != nil {
		return err
	}
	x.notify(Progress{What: Begun, Turn: t, Turns: x.turns})
	drop := func() {
		for _, l := range x.Study.Loads {
			_ = os.Remove(x.path(t, l)) // it may not be there
		}
	}
	drop() // of a kt that was killed
	results, err := x.together(ctx, t, topic, prepared)
	if err = cmp.Or(err, ctx.Err(), x.deleteTopic(ctx, e)); err != nil {
		drop()
		return err
	}
	if err := x.note(entry{What: Finished, Turn: t.Number, Topic: e.Topic}); err != nil {
		return err
	}
	p := Progress{What: Finished, Turn: t, Results: results, Turns: x.turns}
	if d, err := x.known(); err == nil && x.Study.Find != nil { // else the next run says it
		trials, _, _ := x.Study.Find.trials(d)
		p.Outcome = trials[len(trials)-1].Outcome
	}
	x.notify(p)
	return nil
}

// topic returns the name of a topic of this study, whose random ID makes sure that nobody else has it. It is another one when
// the study goes on: a topic that was deleted is not made again, because some brokers may not know yet that it is gone.
func (x *executor) topic(what string) string {
	return "kt-study-" + strings.TrimPrefix(fmt.Sprintf("%d-", x.before), "0-") + x.name() + "-" + what
}

func (f *Folder) name() string { return strings.ReplaceAll(f.ID, "/", "-") }

// together makes all loads of a run at once. Those that only read begin when the others have made the topic.
func (x *executor) together(ctx context.Context, t Turn, topic string, prepared map[string]string) ([]LoadFigures, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	loads := x.Study.Loads
	figures, errs := make([]LoadFigures, len(loads)), make([]error, len(loads))
	var running, opening sync.WaitGroup
	for _, onlyReads := range []bool{false, true} {
		for i, l := range loads {
			l = x.Study.at(t.Cell, l)
			switch {
			case (l.Command == "consume") != onlyReads:
				continue
			case l.Reads != "":
				l.set("topic", prepared[l.Reads])
			case !l.readsOld():
				l.set("topic", topic)
			}
			opened := sync.OnceFunc(opening.Done)
			opening.Add(1)
			running.Go(func() {
				defer opened()
				res, err := x.runner.Run(ctx, l, x.path(t, l), func(made []string) error {
					defer opened()
					return x.made(t, made)
				})
				if err != nil {
					end()
				}
				figures[i], errs[i] = eachOf(l.Name, x.path(t, l), &res, x.Study.Metrics())[0], err
			})
		}
		opening.Wait()
	}
	running.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil && !errors.Is(err, context.Canceled) }); i >= 0 {
		return nil, errs[i] // the others ended with it
	}
	return figures, errors.Join(errs...)
}

// prepare makes the loads that a run reads from, once for every value of their factors. It returns their topics by load.
func (x *executor) prepare(ctx context.Context, t Turn) (map[string]string, error) {
	topics := make(map[string]string)
	for _, l := range x.Study.Prepare {
		topic := x.topic(x.Study.prepared(t.Cell, l))
		topics[l.Name] = topic
		names, err := x.numbered(t.Cell, topic, l)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(x.state().topics, func(e entry) bool { return e.Topic == names }) {
			continue
		}
		if err := x.note(entry{What: Preparing, Topic: names, Cell: t.Cell.Index}); err != nil {
			return nil, err
		}
		x.notify(Progress{What: Preparing, Turn: t, Name: l.Name, Turns: x.turns})
		one := x.Study.at(t.Cell, l)
		one.set("topic", topic)
		if _, err := x.runner.Run(ctx, one, "", func([]string) error { return nil }); err != nil {
			return nil, fmt.Errorf("prepare %s: %w", l.Name, err)
		}
	}
	return topics, nil
}
