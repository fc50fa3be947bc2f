package result

import (
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// replayed is the share of the records read that must have been written before reading began, for the
// run to be a replay: it shows how fast records can be read, not whether readers keep up.
const replayed = 0.90

// reads has the times of the readers of a run that only reads, from the second of the first record to
// that of the last. Joining a group before, and waiting for more records after, do not show how
// fast they read.
type reads struct {
	sum   readTimes // up to the second of the newest record
	since readTimes // from then on, or from the start
	stall readStall // the longest time without a record
	going bool      // the last window had records
	seen  bool      // the lag was known in a window before the first record: old is exact
	old   int64     // consumer lag when reading began

	// If the first window had records already, some of old were written in it.
	within   time.Duration // length of that window; 0: it had none
	appended int64         // written after it
	over     time.Duration // time after it
}

// readTimes has the times of the readers in some windows.
type readTimes struct {
	window    stats.Window            // their times and records, without histograms
	outside   time.Duration           // of the windows, before the first record and after the last
	total     time.Duration           // length of the windows
	behind    time.Duration           // of the windows that ended with consumer lag
	replaying time.Duration           // the same, and of the windows that began before all old records were read
	fetching  map[int32]time.Duration // at each broker, of all readers
	use       host.Sample
}

// add takes a window, and the consumer lag before and after it.
func (r *reads) add(w *stats.Window, before, after int64) {
	r.going = w.Consumed > 0 && !w.Warmup
	seen := r.seen
	r.seen = seen || w.LagUnknown == 0
	if w.Warmup {
		return
	}
	r.stall.add(w, before, after)
	if r.going && r.sum.window.Consumed == 0 {
		r.since = readTimes{outside: max(0, w.FirstRead-w.Start)}
		if r.old = before; !seen {
			r.old, r.within = after+w.Consumed, w.End-w.Start
		}
	} else {
		r.appended += after - before + w.Consumed
		r.over += w.End - w.Start
	}
	r.since.add(w, after, r.sum.window.Consumed < r.old)
	if r.going {
		if r.sum.window.Consumed == 0 {
			r.sum.outside = r.since.outside // only the time before the first record stays outside of reading
		}
		r.sum.merge(&r.since)
		r.since = readTimes{outside: max(0, w.End-w.LastRead)}
	}
}

// sample adds a sample of the host: after the windows of its interval.
func (r *reads) sample(s host.Sample) {
	if r.going {
		r.sum.use.Add(s)
	} else {
		r.since.use.Add(s)
	}
}

// usage returns kt's use meanwhile, or if nothing was read in the whole run.
func (r *reads) usage() *host.Sample {
	if r.sum.use.Interval > 0 {
		return &r.sum.use
	}
	return &r.since.use
}

// there returns the share of the time with consumer lag. In a replay, there is lag until all old
// records have been read: of a few seconds, the lag at the end of each shows too little.
func (r *reads) there() float64 {
	if float64(r.old) >= replayed*float64(r.sum.window.Consumed) {
		return share(r.sum.replaying, r.sum.total)
	}
	return share(r.sum.behind, r.sum.total)
}

// replay reports whether only old records were read. It estimates how many of old were written in the first window.
func (r *reads) replay() bool {
	old := float64(r.old)
	if r.over > 0 {
		old -= float64(r.appended) * float64(r.within) / float64(r.over)
	}
	return float64(r.sum.window.Consumed) <= old
}

// times returns the running time of all readers from the first record to the last, and the part in which they waited.
func (r *reads) times(readers int) (total, waited time.Duration) {
	outside := time.Duration(readers) * (r.sum.outside + r.since.outside)
	return max(0, r.sum.window.ReadTime-outside), max(0, r.sum.window.ReadWait-outside)
}

func (t *readTimes) add(w *stats.Window, waiting int64, replaying bool) {
	length := w.End - w.Start
	one := readTimes{window: stats.Window{Start: w.Start, End: w.End, Read: w.Read}, total: length, fetching: make(map[int32]time.Duration, len(w.Brokers))}
	one.window.EndToEnd = stats.Histogram{}
	behind := float64(waiting)*length.Seconds() > float64(w.Consumed)*lagShows.Seconds()
	if behind {
		one.behind = length
	}
	if behind || replaying {
		one.replaying = length
	}
	for id, b := range w.Brokers {
		one.fetching[id] = b.Fetch.Latency.Mean() * time.Duration(b.Fetch.Latency.Count())
	}
	t.merge(&one)
}

// merge adds the windows after t.
func (t *readTimes) merge(o *readTimes) {
	t.window.Add(&o.window)
	t.total += o.total
	t.behind += o.behind
	t.replaying += o.replaying
	if t.fetching == nil {
		t.fetching = make(map[int32]time.Duration)
	}
	for id, took := range o.fetching {
		t.fetching[id] += took
	}
	t.use.Add(o.use)
}
