package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/watch"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/theme"
)

// Run makes one run. Where an error comes with a result (whose RunID is set), the load was
// made, and the error is of what went wrong beside it. When ctx ends, the run ends at once,
// and what is outstanding is counted as unknown.
func Run(ctx context.Context, r Request, observers ...Observer) (result.Result, error) {
	m := &maker{Request: r, aborted: make(chan struct{})}
	defer m.File.Discard()
	if m.Now == nil {
		m.Now = time.Now
	}
	if m.Notify == nil {
		m.Notify = func(Notice) {}
	}
	m.Status = cmp.Or(m.Status, new(engine.Status))
	if err := m.makeLedger(); err != nil {
		return result.Result{}, err
	}
	defer func() { m.ledger.Discard() }()
	session, err := m.System.Connect(ctx, &m.Plan, Options{Watch: !m.Follows, Book: m.Book, Notify: m.Notify})
	if m.Book != nil && !m.Book.Mirror && errors.Is(err, plan.ErrNoTopic) {
		why, _, _ := strings.Cut(err.Error(), "; ") // the names of other topics do not help
		err = m.gone(why, func(i int) bool { return strings.Contains(why, " "+m.Book.Topics[i].Name+" ") })
	}
	if err != nil {
		return result.Result{}, err
	}
	defer session.Close()
	m.session = session
	end, err := m.load(ctx, observers)
	if err != nil {
		return result.Result{}, errors.Join(err, session.Delete(context.WithoutCancel(ctx)))
	}
	return m.finish(ctx, end)
}

// maker makes one run.
type maker struct {
	Request

	session Session
	clients Clients
	header  result.Header
	book    *ledger.Book // nil: no record is accounted for
	ledger  *ledger.File // of book; nil: none is written
	began   time.Time
	sink    *sink
	tune    []result.TuneCheck
	full    atomic.Bool // the system has no room for more, and so ended the load
	machine *machine    // nil: another process looks at this host
	before  int64       // records that were ever written to the target, before the load; -1: not known
	others  int64       // likewise to other topics

	aborted   chan struct{} // closed: a condition of --abort-on came true
	abortedBy string        // that condition; set before aborted is closed
}

// together reports whether the run was started together with others, of one load.
func (m *maker) together() bool {
	return m.Part != nil && m.Part.Epoch != "" && (m.Part.Load == "" || !m.Plan.Share.IsZero())
}

// load makes the load. An error means that none was made.
func (m *maker) load(ctx context.Context, observers []Observer) (engine.End, error) {
	m.describe(ctx)
	e := &m.header.Environment
	if n, all := m.Plan.Share.Slots, e.Partitions(); n > all {
		return engine.End{}, result.Misfit("%s: %s in all, and each of %d processes reads its own records, from partitions of its own; use more partitions, or fewer --processes",
			e.Where(), theme.Plural(all, "partition", "partitions"), n)
	}
	if err := m.checkBook(e.AllTopics()); err != nil {
		return engine.End{}, err
	}
	m.book = m.Book
	if m.Plan.Payload.Stamp || m.Plan.Verify && m.Plan.Writes() {
		book, err := m.session.NewBook(ctx)
		if err != nil {
			return engine.End{}, err
		}
		id := fnv.New64a() // of the run, as stamps carry it
		id.Write([]byte(m.header.RunID))
		book.Run, m.book, book.SameTopic = id.Sum64(), book, true
		for _, t := range e.AllTopics() {
			book.Topics = append(book.Topics, ledger.BookTopic{Name: t.Name, ID: t.ID, Partitions: t.Partitions})
		}
	}
	var err error
	if m.clients, err = m.session.Open(ctx, m.book); err != nil {
		return engine.End{}, err
	}
	m.before = m.written(ctx)
	m.others = m.writtenBeside(ctx)
	if m.Opened != nil {
		if err := m.Opened(m.header); err != nil {
			return engine.End{}, err
		}
	}
	if m.sink, err = m.newSink(observers); err != nil {
		return engine.End{}, err
	}
	if m.sink.marks, err = m.keepLedger(); err != nil {
		return engine.End{}, err
	}
	defer m.sink.observers.Close(ctx)
	endTune := m.checkTune(ctx)
	defer func() { m.tune = endTune() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end, err := engine.Run(ctx, m.Plan, m.clients.Drivers, m.options(ctx), m.sink)
	if m.sink.marks != nil {
		<-m.sink.marks.Close()
	}
	return end, err
}

// options adds the settings of the run to the limits of the clients.
func (m *maker) options(ctx context.Context) engine.Options {
	o := m.clients.Limits
	o.Stop, o.Until, o.Rates, o.Status, o.Rows = m.stops(ctx), m.Until, m.Rates, m.Status, m.header.Environment.RowOf()
	o.Sources = append([]engine.Source{newExecs(m.Execs, m.Notify)}, m.clients.Sources...)
	if !m.Follows {
		m.machine = &machine{Watcher: watch.New(host.System()), told: make(map[int]bool)}
		m.machine.Light = true // beside a load
		o.Sources = append(o.Sources, m.machine)
	}
	o.NewSleeper = func() (func(time.Duration), func() error) {
		s := host.NewSleeper()
		return s.Sleep, s.Close
	}
	o.Started = func() {
		now := m.Now()
		m.began = now
		start := result.Start{At: now.UTC()}
		if m.Began != nil {
			start = m.Began(now)
		}
		m.sink.sampler = host.NewSampler(now)
		m.sink.fold.Begin(start)
		if m.sink.file != nil {
			m.sink.file.Write(result.Line{Start: &start})
		}
	}
	if m.Ready != nil {
		o.Ready = func(ctx context.Context) error { return m.Ready(ctx, m.header) }
	}
	return o
}

// stops returns what ends the load: a person, a condition, or a system without room for more.
func (m *maker) stops(ctx context.Context) <-chan struct{} {
	if m.clients.Full == nil && len(m.AbortOn) == 0 {
		return m.Stop
	}
	stop := make(chan struct{})
	go func() {
		select {
		case <-m.Stop:
		case <-m.aborted:
		case <-m.clients.Full:
			m.full.Store(true)
		case <-ctx.Done():
		}
		close(stop)
	}()
	return stop
}

// describe completes the header before the first record.
func (m *maker) describe(ctx context.Context) {
	m.header = result.Header{
		Schema: result.Schema, RunID: rand.Text(), KTVersion: m.Version, StartedAt: m.Now().UTC(),
		Args: m.Args, Tags: m.Tags, Part: m.Part, Plan: m.Plan, Limits: m.Limits, Accepted: m.Accepted,
		Environment: result.Environment{Host: host.ReadFacts(), Clock: host.ReadClock()},
	}
	headers := slices.Clone(m.Plan.Payload.Headers)
	for i, h := range headers { // others see them, and they may hold a secret
		headers[i].Value = secret.HideValue(h.Key, h.Value)
	}
	m.header.Plan.Payload.Headers = headers
	m.session.Describe(&m.header)
	ctx, cancel := context.WithTimeout(ctx, time.Second) // of a thousand names, or of a slow server, the rest is not known to be here
	defer cancel()
	for i, b := range m.header.Environment.Cluster.Brokers {
		name, _, _ := net.SplitHostPort(b.Addr)
		m.header.Environment.Cluster.Brokers[i].Here = host.IsHere(ctx, name)
	}
	if m.Ceiling != nil && !m.header.Embedded {
		m.header.Ceiling = m.Ceiling(&m.header)
	}
}

// finish verifies, writes down the end, and cleans up.
func (m *maker) finish(ctx context.Context, end engine.End) (result.Result, error) {
	trailer := result.Trailer{
		Ended: result.Completed, ElapsedSeconds: end.Elapsed.Seconds(), Tune: m.tune, LogEnds: m.logEnds(ctx),
		SendingSeconds: end.Sending.Seconds(), DrainTimedOut: end.TimedOut, ReadEnd: string(end.ReadEnd),
	}
	if m.machine != nil && m.machine.use.Seconds > 0 && (m.Part == nil || m.Part.Epoch == "") {
		trailer.Machine = &m.machine.use.Busy
	}
	if n := m.writtenBeside(ctx); n >= 0 && m.others >= 0 {
		trailer.Others = max(0, n-m.others)
	}
	if end.ReadErr != nil {
		trailer.ReadError = end.ReadErr.Error()
	}
	if m.Aborted != nil {
		m.abortedBy = m.Aborted()
	}
	switch {
	case m.abortedBy != "":
		trailer.Ended, trailer.AbortedBy = result.Aborted, m.abortedBy
	case end.Stopped && m.full.Load():
		trailer.Ended = result.DiskFull
	case end.Stopped:
		trailer.Ended = result.Interrupted
	}
	var err error
	trailer.Verify, err = m.account(ctx)
	m.sink.fold.Finish(trailer)
	res, fileErr := m.sink.fold.Result(), error(nil)
	if m.File != nil {
		fileErr, m.File.kept = m.sink.file.Close(trailer), true
		if fileErr == nil && m.Part == nil { // agents hand out their parts, and others follow them
			m.thin(&res)
		}
	}
	err = errors.Join(fileErr, err)
	if m.Done != nil && !m.Done(ctx, res, err) || !m.Plan.Topic.Delete {
		return res, err
	}
	kept := slices.DeleteFunc(slices.Clone(m.header.Environment.AllTopics()), func(t result.Topic) bool { return t.Created })
	if n := len(kept); n == 1 {
		m.Notify(Notice{Kind: TopicKept, Text: fmt.Sprintf("topic %s was there before this run, so --delete-topic leaves it", kept[0].Name)})
	} else if n > 1 {
		m.Notify(Notice{Kind: TopicKept, Text: fmt.Sprintf("%d topics, such as %s, were there before this run, so --delete-topic leaves them", n, kept[0].Name)})
	}
	return res, errors.Join(err, m.session.Delete(context.WithoutCancel(ctx)))
}

// thin replaces the run file of a long run, which was written and closed, by one of fewer seconds.
func (m *maker) thin(res *result.Result) {
	if res.ElapsedSeconds <= result.ThinAfter.Seconds() {
		return
	}
	old, err := os.Open(m.File.path)
	if err == nil {
		err = input.Replace(m.File.path, 0o644, func(w io.Writer) error { return result.Thin(w, old, res) })
		_ = old.Close() // it was only read
	}
	if err != nil {
		m.Notify(Notice{Kind: FileFailed, Text: fmt.Sprintf("%v; the run file has all of its seconds", err)})
	}
}

var _ Func = Run
