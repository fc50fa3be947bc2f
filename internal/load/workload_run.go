package load

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/system"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/workload"
)

// Keep notes the topics that the workload is about to make as those of a study, and returns what notes others when they are made, and
// what removes it all when they are gone.
func (w *Workload) Keep(dir, id string) (opened func([]result.Header) error, remove func() error, err error) {
	l := w.Load
	l.Flags = slices.DeleteFunc(slices.Clone(l.Flags), func(f study.Flag) bool { // which the loads have
		return slices.ContainsFunc(w.changes.Set, func(set config.Assignment) bool { return set.Name == f.Name })
	})
	var own []string
	for _, ld := range w.Made {
		if name := ld.Plan.Topic.Name; strings.HasPrefix(name, w.topic) && !slices.Contains(own, name) {
			own = append(own, name)
		}
	}
	note, remove, err := study.Keep(dir, id, l, own)
	return func(headers []result.Header) error { return note(w.made(headers)) }, remove, err
}

// Run makes the workload. Observers see all loads as one run, and opened gets its header and those of the loads, when all of them can begin.
func (w *Workload) Run(ctx context.Context, o workload.Options, observers []run.Observer, opened func(whole result.Header, loads []result.Header) error, notify func(run.Notice)) (result.Result, error) {
	defer o.File.Discard()
	m := w.runner.maker
	dir, remove, err := cluster.Scratch(m.StateDir, m.Now())
	if err != nil {
		return result.Result{}, err
	}
	defer remove()
	var embedded *kafka.Embedded
	if w.Embedded {
		if embedded, err = kafka.StartEmbedded(true); err != nil {
			return result.Result{}, err
		}
		defer embedded.Close()
	}
	if o.Host, err = os.Hostname(); err != nil {
		o.Host = "localhost"
	}
	joined := new(workload.Joined)
	defer joined.Close(ctx)
	o.Name, o.Dir = w.Name, dir
	o.Opened = func(headers []result.Header) error { return opened(joined.Open(w.Name, headers, observers), headers) }
	if len(w.Made[0].Hosts.On) > 0 {
		return w.runOnHosts(ctx, o, joined, notify)
	}
	var loads []workload.Load
	for i, ld := range w.Made {
		name := w.Loads[i].Name
		if s, ok := ld.System.(*system.System); ok {
			s.Embedded = embedded
		}
		r := ld.Request(nil)
		r.Ceiling = nil // it is of one load by itself
		if i > 0 {
			r.Tune = nil // once for this host
		}
		r.Notify = func(n run.Notice) {
			if n.Kind != run.CommandOutput {
				n.Text = name + ": " + n.Text
			}
			notify(n)
		}
		loads = append(loads, workload.Load{Name: name, Follows: workload.Follows(&w.Loads[i]), Asked: w.asked(i), Request: r, Observer: joined.Of(i)})
	}
	return workload.Run(ctx, loads, o)
}

// asked returns what a captured load is to be at the scale of the run; nil: it was not captured, or a search gives it another rate.
func (w *Workload) asked(load int) *result.Asked {
	a := w.Loads[load].Captured
	if a == nil || w.Settle > 0 {
		return nil
	}
	return a.Times(w.changes.Scale)
}

// runOnHosts makes the workload on other hosts: the loads that write come first, so that the others find their topics.
func (w *Workload) runOnHosts(ctx context.Context, o workload.Options, joined *workload.Joined, notify func(run.Notice)) (result.Result, error) {
	w.Made[0].maker = w.runner.maker // what it has to say is of all
	h, err := w.Made[0].findHosts(ctx)
	if err != nil {
		return result.Result{}, err
	}
	h.Dir = o.Dir
	var loads []cluster.OneLoad
	var headers []result.Header
	for _, writes := range []bool{true, false} {
		for i, ld := range w.Made {
			if ld.Plan.Writes() != writes {
				continue
			}
			name := w.Loads[i].Name
			if err := ld.fit(h); err != nil {
				return result.Result{}, w.Placed(name, err)
			}
			r := ld.Request(o.File)
			r.Part, r.Stop, r.Notify = &result.Part{Run: w.Name, Asked: w.asked(i)}, o.Stop, notify
			r.Opened = func(of result.Header) error {
				if headers = append(headers, of); o.Topics != nil {
					if err := o.Topics(of); err != nil {
						return err
					}
				}
				if len(headers) < len(w.Made) {
					return nil
				}
				return o.Opened(headers)
			}
			loads = append(loads, ld.onHosts(name, r, joined.Of(len(loads))))
		}
	}
	return h.Run(ctx, loads...)
}

// runWorkload makes one run of a workload.
func (b *Runner) runWorkload(ctx context.Context, l study.Load, file *run.File, opened func(made []string) error) (result.Result, error) {
	w, err := b.Workload(l)
	if err != nil {
		return result.Result{}, err
	}
	o := workload.Options{File: file, Topics: func(h result.Header) error { return opened(w.made([]result.Header{h})) }}
	return w.Run(ctx, o, b.Observers, func(result.Header, []result.Header) error { return nil }, b.notify)
}

// made returns the topics that the file names, and that the loads have made and delete in the end.
func (w *Workload) made(headers []result.Header) (names []string) {
	for i := range headers {
		for _, t := range headers[i].Environment.AllTopics() {
			if t.Created && headers[i].Plan.Topic.Delete && !strings.HasPrefix(t.Name, w.topic) {
				names = append(names, t.Name)
			}
		}
	}
	return names
}
