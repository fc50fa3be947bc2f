package workload

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/run"
)

// Load is one load that can be made. Run sets File, Part, Stop, Until, Opened, Ready, Began and Done of its request.
type Load struct {
	Name     string
	Follows  string // the load at whose end this one ends, with what is there then; "": it ends by itself
	Asked    *result.Asked
	Request  run.Request
	Observer run.Observer
}

// Options are what the loads of a workload have in common.
type Options struct {
	Name string          // of the workload, which its result has
	Host string          // the name of this machine
	Dir  string          // an existing folder, for the run files of the loads
	File *run.File       // the run file of the workload, which Run completes or discards; nil: none
	Stop <-chan struct{} // closed: all loads stop sending, drain and finish; nil: never

	Topics func(result.Header) error   // is called when the topics of a load are there; an error ends all loads; nil: nobody asks
	Opened func([]result.Header) error // is called when every load can begin; an error ends all of them
	Begin  func()                      // is called when the loads begin
}

// Run makes all loads at once, each by run.Run, and merges their run files. Loads that write are prepared before those that only
// read, one after the other, so that two of one topic find it as it is. All begin at one moment. When one of them cannot begin, none
// does. When --abort-on ends one, the others stop. Topics that the loads have made are deleted when all loads are over.
//
// Where an error comes with a result (whose RunID is set), the loads were made, and the error is of what went wrong beside them.
func Run(ctx context.Context, loads []Load, o Options) (result.Result, error) {
	defer o.File.Discard()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sending, stop := context.WithCancel(ctx)
	defer stop()
	m := &maker{
		Options: o, loads: loads, cancel: cancel, stop: stop, stopped: sending.Done(), epoch: rand.Text()[:12], headers: make([]result.Header, len(loads)),
		waiting: len(loads), running: len(loads), start: make(chan struct{}), over: make(chan struct{}), errs: make([]error, len(loads)),
		made: make([]bool, len(loads)), gone: make(map[string]chan struct{}),
	}
	for i := range loads {
		m.gone[loads[i].Name] = make(chan struct{})
	}
	m.live.Go(func() {
		select {
		case <-o.Stop:
			stop()
		case <-m.stopped:
		case <-m.over:
		}
	})
	for _, writes := range []bool{true, false} {
		for i := range loads {
			if loads[i].Request.Plan.Writes() == writes && ctx.Err() == nil {
				m.make(ctx, i)
			}
		}
	}
	m.live.Wait()
	var errs, own []error // all, and those that are not of the end of the others
	for i, err := range m.errs {
		if err != nil {
			errs = append(errs, fmt.Errorf("load %s: %w", loads[i].Name, err))
			if !errors.Is(err, context.Canceled) {
				own = append(own, errs[len(errs)-1])
			}
		}
	}
	if slices.Contains(m.made, false) {
		return result.Result{}, append(own, context.Canceled)[0]
	}
	res, err := merge.Files(ctx, m.paths, m.epoch, o.File.Fill)
	return res, errors.Join(append(errs, err)...)
}

// make begins to make a load, and returns when its topics are there, or when it has ended.
func (m *maker) make(ctx context.Context, i int) {
	l := &m.loads[i]
	path := filepath.Join(m.Dir, l.Name+".ktr")
	file, err := run.CreateFile(path)
	if err != nil {
		m.errs[i] = err
		m.cancel()
		return
	}
	m.paths = append(m.paths, path)
	opened := make(chan struct{})
	open := sync.OnceFunc(func() { close(opened) })
	leave := sync.OnceFunc(func() { m.leave(l) })
	r := l.Request
	r.File, r.Stop, r.Until = file, m.stopped, m.gone[l.Follows]
	r.Part = &result.Part{Run: m.Name, Epoch: m.epoch, Host: m.Host, Process: i + 1, Load: l.Name, Asked: l.Asked}
	r.Notify = func(n run.Notice) {
		if l.Request.Notify != nil && (n.Kind != run.TopicKept || m.foreign(i)) {
			l.Request.Notify(n)
		}
	}
	r.Opened = func(h result.Header) (err error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.headers[i] = h; m.Topics != nil {
			err = m.Topics(h)
		}
		open()
		return err
	}
	r.Ready, r.Began = m.ready, m.began
	r.Done = func(ctx context.Context, res result.Result, _ error) bool {
		if res.Ended == result.Aborted {
			m.stop()
		}
		leave()
		select {
		case <-m.over:
		case <-ctx.Done():
		}
		return true
	}
	m.live.Go(func() {
		defer open()
		defer leave()
		res, err := run.Run(ctx, r, l.Observer)
		if m.made[i], m.errs[i] = res.RunID != "", err; !m.made[i] {
			m.cancel()
		}
	})
	<-opened
}

// maker makes the loads of one workload.
type maker struct {
	Options

	loads   []Load
	paths   []string // of run files
	errs    []error  // of each load; likewise made
	made    []bool
	live    sync.WaitGroup
	cancel  func()
	stop    func()          // ends all loads, with what they have sent so far
	stopped <-chan struct{} // closed by stop

	epoch string
	start chan struct{}            // closed: all loads are ready
	over  chan struct{}            // closed: all loads are over
	gone  map[string]chan struct{} // by the name of a load; closed: it is over

	mu               sync.Mutex // guards what follows
	headers          []result.Header
	waiting, running int // loads that are not ready, and not over
	at               time.Time
	refused          error // of Opened
}

// ready waits until every load can begin.
func (m *maker) ready(ctx context.Context, _ result.Header) error {
	m.mu.Lock()
	if m.waiting--; m.waiting == 0 {
		if m.Opened != nil {
			m.refused = m.Opened(m.headers)
		}
		m.at = time.Now()
		close(m.start)
	}
	m.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-m.start:
		return m.refused
	}
}

// began relates the start of a load to the one that all have agreed on.
func (m *maker) began(at time.Time) result.Start {
	if m.Begin != nil {
		m.Begin()
	}
	return result.Start{At: at.UTC(), Agreed: &result.Agreed{At: m.at.UTC(), Late: time.Since(m.at)}}
}

// foreign reports whether a load uses topics that no load of the workload has made.
func (m *maker) foreign(i int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	made := make(map[string]bool)
	for n := range m.headers {
		for _, t := range m.headers[n].Environment.AllTopics() {
			made[t.Name] = made[t.Name] || t.Created
		}
	}
	return slices.ContainsFunc(m.headers[i].Environment.AllTopics(), func(t result.Topic) bool { return !made[t.Name] })
}

// leave notes that a load is over.
func (m *maker) leave(l *Load) {
	close(m.gone[l.Name])
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running--; m.running == 0 {
		close(m.over)
	}
}
