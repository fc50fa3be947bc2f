package result

import (
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// replayed is which share of what was read must have waited when reading began, for
// the run to be a replay: it shows how fast records can be read, and not whether
// readers keep up with what is written.
const replayed = 0.90

// reads is what the readers of a run that only reads did, from the second of their
// first record to that of their last. Joining a group before that, and waiting for
// more that does not come after it, say nothing of how fast they read.
type reads struct {
	sum   readTimes // up to the second of the newest record
	since readTimes // from then on; before the first record, all that there is
	stall readStall // the longest time without a record
	going bool      // the last window had records
	seen  bool      // there were windows before the first record: how many waited is known
	old   int64     // so many waited when reading began

	// When the first window had records already, some of old was written in it.
	within   time.Duration // length of that window; 0: there was one before
	appended int64         // written since
	over     time.Duration // in so long
}

// readTimes is what readers did in some windows.
type readTimes struct {
	window    stats.Window  // their times and records, without histograms
	outside   time.Duration // of the windows, before the first record and after the last
	total     time.Duration // length of the windows
	behind    time.Duration // of those that ended with consumer lag
	replaying time.Duration // of those too that began before all that is old had been read
	fetching  map[int32]time.Duration
	use       usage
}

// add takes a window, and how many records waited before and after it.
func (r *reads) add(w *stats.Window, before, after int64) {
	r.going = w.Consumed > 0 && !w.Warmup
	if w.Warmup {
		r.seen = true
		return
	}
	r.stall.add(w, before, after)
	if r.going && r.sum.window.Consumed == 0 {
		r.since = readTimes{outside: max(0, w.FirstRead-w.Start)}
		if r.old = before; !r.seen {
			r.old, r.within = after+w.Consumed, w.End-w.Start
		}
	} else {
		r.appended += after - before + w.Consumed
		r.over += w.End - w.Start
	}
	r.seen = true
	r.since.add(w, after, r.sum.window.Consumed < r.old)
	if r.going {
		r.sum.merge(&r.since)
		r.since = readTimes{outside: max(0, w.End-w.LastRead)}
	}
}

// sample adds a sample of the host: after the windows of its interval.
func (r *reads) sample(s host.Sample) {
	if r.going {
		r.sum.use.add(s)
	} else {
		r.since.use.add(s)
	}
}

// usage returns what kt used meanwhile, or in all when nothing was read.
func (r *reads) usage() usage {
	if r.sum.use.seconds > 0 {
		return r.sum.use
	}
	return r.since.use
}

// there returns the share of the time with consumer lag: of a replay, all of the time until
// everything had been read, for what waits at the end of a second shows too little
// of a run of few seconds.
func (r *reads) there() float64 {
	if float64(r.old) >= replayed*float64(r.sum.window.Consumed) {
		return share(r.sum.replaying, r.sum.total)
	}
	return share(r.sum.behind, r.sum.total)
}

// replay reports whether nothing was read but what was there when reading began: less than
// was old, but for what was written in the second in which it began.
func (r *reads) replay() bool {
	old := float64(r.old)
	if r.over > 0 {
		old -= float64(r.appended) * float64(r.within) / float64(r.over)
	}
	return float64(r.sum.window.Consumed) <= old
}

// times returns the running time of so many readers from the first record to the last,
// and the part of it in which they waited.
func (r *reads) times(readers int) (total, waited time.Duration) {
	outside := time.Duration(readers) * (r.sum.outside + r.since.outside)
	return max(0, r.sum.window.ReadTime-outside), max(0, r.sum.window.ReadWait-outside)
}

// fetching returns the time with a fetch at the busiest broker, of all readers.
func (r *reads) fetching() time.Duration {
	var most time.Duration
	for _, d := range r.sum.fetching {
		most = max(most, d)
	}
	return most
}

func (t *readTimes) add(w *stats.Window, waiting int64, replaying bool) {
	lean := stats.Window{Start: w.Start, End: w.End, Read: w.Read}
	lean.EndToEnd = stats.Histogram{}
	t.window.Add(&lean)
	length := w.End - w.Start
	t.total += length
	behind := float64(waiting)*length.Seconds() > float64(w.Consumed)*lagShows.Seconds()
	if behind {
		t.behind += length
	}
	if behind || replaying {
		t.replaying += length
	}
	for id, b := range w.Brokers {
		t.fetched(id, b.Fetch.Latency.Mean()*time.Duration(b.Fetch.Latency.Count()))
	}
}

func (t *readTimes) fetched(broker int32, took time.Duration) {
	if t.fetching == nil {
		t.fetching = make(map[int32]time.Duration)
	}
	t.fetching[broker] += took
}

// merge adds what came after t. What lay outside of reading before that is within it
// now, but for the time before the first record.
func (t *readTimes) merge(o *readTimes) {
	if t.window.Consumed == 0 {
		t.outside = o.outside
	}
	t.window.Add(&o.window)
	t.total += o.total
	t.behind += o.behind
	t.replaying += o.replaying
	for id, took := range o.fetching {
		t.fetched(id, took)
	}
	t.use.merge(&o.use)
}
