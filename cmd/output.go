package cmd

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui"
)

// output shows a run while it goes on, and writes its result.
type output struct {
	env    *Env
	load   *load.Load
	date   report.DateFormat // of the output perf-test
	stop   *stopper
	status engine.Status                                 // of the load that goes on
	format string                                        // of the result, on stdout
	oldest func() (since, now time.Duration, waits bool) // of the engine; nil: the run is elsewhere
	target func() float64                                // of the engine: the target rate of now
	hosts  []tui.HostHeader                              // of a run on many
	mu     sync.Mutex                                    // guards later and closed
	closed bool                                          // the screen is over, if there was one
	ledger string                                        // the file of the run's; "": none. guarded by mu
	later  []run.Notice                                  // for when the screen is over
	screen *tui.Screen                                   // nil: none
	shown  chan struct{}                                 // closed: the screen is over
	waits  bool                                          // a line tells that the load is prepared. guarded by mu
	broken atomic.Bool                                   // the screen has failed
	live   *report.Live                                  // without a screen
	frames tui.Frames
	rates  chan float64 // holds the target that was asked for last until the run has taken it
}

var _ run.Observer = (*output)(nil)

func newOutput(env *Env, l *load.Load, date report.DateFormat, stop *stopper) *output {
	o := &output{env: env, load: l, date: date, stop: stop, format: l.Output, rates: make(chan float64, 1)}
	o.oldest, o.target = o.status.Oldest, o.status.Target
	o.frames.Name, o.frames.Now = string(l.Plan.Command), env.Now
	if o.format == "" || o.format == "tui" {
		o.format = "text"
	}
	return o
}

// prepare tells on a terminal for how long the load has been prepared, until the function that it returns is called.
func (o *output) prepare() (done func()) {
	if !o.env.StderrTTY || o.load.Quiet {
		return func() {}
	}
	o.waits = true
	over, begun := make(chan struct{}), o.env.Now()
	var shown sync.WaitGroup
	shown.Go(func() {
		for tick := time.Tick(time.Second); ; {
			select {
			case <-over:
				return
			case <-tick:
				o.mu.Lock()
				if o.waits {
					o.env.redraw(prefix + "preparing: " + theme.TickDuration(o.env.Now().Sub(begun).Round(time.Second)))
				}
				o.mu.Unlock()
			}
		}
	})
	return sync.OnceFunc(func() {
		close(over)
		shown.Wait()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.waits = false
		o.env.redraw("")
	})
}

// open begins to show the run of a header.
func (o *output) open(ctx context.Context, h result.Header) (err error) {
	l, env := o.load, o.env
	o.live, err = report.NewLive(h, report.LiveOptions{
		Output: o.format, Quiet: l.Quiet, Interval: l.Interval, Stdout: env.Stdout, Stderr: env.Stderr, Now: env.Now,
		Rows: report.ConsumerRows{HideHeader: l.HideHeader, Detailed: l.ShowDetailed, Consumers: l.ShowConsumers, Date: o.date},
		Draining: func(buffered int64) {
			env.say("waiting for the acknowledgements of %s; %s at most", theme.Bytes(buffered), theme.Duration(l.DeliveryTimeout()))
		},
	})
	if err == nil {
		o.openScreen(ctx, screenHeader(&h, o.hosts))
	}
	return err
}

// openScreen shows the screen, which is for people: only without --output, or with --output
// tui, and on a terminal that is no log.
func (o *output) openScreen(ctx context.Context, h tui.Header) {
	l, env := o.load, o.env
	w, tty := env.screen()
	if asked := l.Output == "" || l.Output == "tui"; !asked || !tty || l.Quiet {
		return
	}
	options := tui.Options{
		Theme: env.screenTheme(w, l.Look), FPS: l.FPS, Now: env.Now, Oldest: o.oldest,
		Stop:      func() { o.stop.stop(nil) },
		Interrupt: func() { o.stop.stop(os.Interrupt) },
		Abort:     func() { o.stop.stop(nil) },
		Faster:    o.faster, Save: o.frames.Save,
	}
	if l.Theme == "auto" {
		options.Background = func(light bool) { // for the summary, which is written after the screen
			if l.Theme = "dark"; light {
				l.Theme = "light"
			}
		}
	}
	o.screen, o.shown = tui.NewScreen(ctx, tui.NewModel(h, options), nil, w), make(chan struct{})
	go func() {
		defer close(o.shown)
		if err := o.screen.Run(ctx); err != nil && ctx.Err() == nil {
			o.broken.Store(true)
			env.say("the screen failed, and the run goes on without it: %v", err)
		}
	}()
}

// faster asks for a target that is a tenth higher, or lower.
func (o *output) faster(up bool) (note string) {
	switch {
	case len(o.hosts) > 0:
		return "the rate of a run on many hosts cannot be changed, nor that of several loads"
	case o.load.Plan.Load.Rate.IsUnlimited():
		return "there is no target rate to change: start kt with --rate"
	}
	rate := o.target()
	select {
	case rate = <-o.rates: // the run has not taken the one before
	default:
	}
	if rate == 0 {
		return "the target rate is 0 now, and cannot be changed"
	}
	rate = plan.Step(rate, up)
	o.rates <- rate
	note = "target " + theme.Plural(rate, "record", "records") + "/s from now on"
	if len(o.load.Plan.Load.Rate.Stages) > 0 {
		note += ", later ones in proportion"
	}
	return note
}

// close ends the screen.
func (o *output) close() {
	if o.screen != nil {
		o.screen.Quit()
		<-o.shown
		o.env.sayFrames(&o.frames)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for _, n := range o.later {
		o.env.notify(n, o.load.Quiet)
	}
	o.later = nil
}

// notOnScreen are the notices that wait for the end of the screen.
var notOnScreen = []run.NoticeKind{run.HostTrouble, run.StoreUnread, run.MetricsFailed}

// notify shows a notice of the run. What the screen has no room for is said after it, or in the summary.
func (o *output) notify(n run.Notice) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n.Kind == run.LedgerWritten {
		o.ledger = n.Path
	}
	if o.waits {
		o.env.redraw("")
	}
	switch {
	case o.screen != nil && !o.closed && !o.broken.Load() && slices.Contains(notOnScreen, n.Kind):
		o.later = append(o.later, n)
	case o.screen != nil && (n.Kind == run.CommandOutput || n.Kind == run.FileFailed || n.Kind == run.LogDirNews):
	case n.Kind == run.LogDirUnknown && !o.load.Verbose:
	default:
		o.env.notify(n, o.load.Quiet)
	}
}

// sayFrames says which frames of the screen were saved.
func (e *Env) sayFrames(f *tui.Frames) {
	for _, path := range f.Saved() {
		e.say("screen saved as %s", path)
	}
}

func screenHeader(h *result.Header, hosts []tui.HostHeader) tui.Header {
	p := &h.Plan
	th := tui.Header{
		Command: string(p.Command), Topic: h.Subject(), Tags: report.Tags(*h), Notice: strings.Join(h.Notices(), "; "),
		Duration: p.Load.Duration.Std(), Records: p.Load.Records, Partitions: int32(h.Environment.Partitions()),
		TargetRate: p.RecordsPerSecond(), Group: p.Read.Group, Hosts: hosts, Uncounted: p.URL != "",
	}
	if len(hosts) > 0 && hosts[0].Command != "" { // loads, each with settings of its own
		th.Tags = []string{theme.Plural(len(hosts), "load", "loads")}
		return th
	}
	for _, s := range h.Config {
		n, _ := strconv.Atoi(s.Value) // of others it is not used
		switch s.Name {
		case "buffer.memory":
			th.BufferBytes = int64(n) * int64(p.Producers)
		case "max.in.flight.requests.per.connection":
			th.MaxInFlight = n * len(h.Environment.Cluster.Brokers) * p.Producers
		}
	}
	return th
}

// Observe shows one second. With the last one the screen ends.
func (o *output) Observe(s run.Second) {
	if o.screen == nil && len(s.Windows) == 0 {
		return // hosts are waited for
	}
	if o.screen == nil || o.broken.Load() {
		o.live.Observe(s)
		return
	}
	o.screen.Observe(s)
	if s.Snapshot.Stage == result.Finished {
		o.close()
	}
}

// check returns the command that looks for the records of the run's ledger; "": nothing has them.
func (o *output) check() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := &o.load.Plan; o.ledger == "" || p.Embedded() || p.URL != "" && p.Reads() {
		return ""
	}
	command := "kt consume --topic " + theme.Quoted(o.load.Plan.Topic.Name) + " --verify " + theme.Quoted(o.ledger)
	for _, flag := range []string{"cluster", "bootstrap-server", "url", "command-config"} { // as they were typed
		if o.load.Sources[flag] == "--"+flag {
			command += " --" + flag + " " + theme.Quoted(o.load.Flags[flag])
		}
	}
	return command
}

// write writes the result, and the metrics if they were asked for.
func (o *output) write(res result.Result, runFile string) error {
	opts := o.env.reportOptions(o.load.Look, o.load.Verbose)
	opts.RunFile, opts.Full, opts.Check = runFile, false, o.check()
	lines, err := o.live.Finish(res)
	if !lines { // also when an interval before could not be written
		if o.format != "text" && opts.RunFile != "" && !o.load.Quiet {
			o.env.say("run file %s", opts.RunFile)
		}
		err = errors.Join(err, format(o.format)(o.env.Stdout, res, opts))
	}
	if err != nil || !o.load.PrintMetrics {
		return err
	}
	w := o.env.Stdout
	if o.format != "text" && o.format != "perf-test" {
		w = o.env.Stderr // a table would spoil what a program reads
	}
	return report.Metrics(w, res)
}
