package engine

import (
	"container/heap"
	"hash/crc32"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// desk is where a consumer works on its records, on as many at once as it has threads. It knows when each thread will have done
// what it was given, so a timer is all that runs, and a wake-up that is late is made up for: work goes on when it was due to.
type desk struct {
	shard *Shard
	read  *plan.Read
	rng   *rand.Rand
	free  threads
	due   time.Duration            // when the last pause was to end
	keys  []uint64                 // hashes, of the records of this poll, or noKey; none: they are not wanted
	ends  []time.Duration          // when each record of this poll is done
	last  map[uint64]time.Duration // when the newest record of a key is done, of keys in work
}

// threads have the times at which each of them is done, from the start of the run. As a heap the first is free first.
type threads []time.Duration

func (t threads) Len() int           { return len(t) }
func (t threads) Less(i, j int) bool { return t[i] < t[j] }
func (t threads) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t threads) Push(any)           {} // there are always as many
func (t threads) Pop() any           { return nil }

// WantsKeys reports whether the reader is to call Key.
func (s *Shard) WantsKeys() bool {
	return s.desk != nil && len(s.desk.free) > 1 && (s.desk.read.OrderedBy != "" || s.run.plan.Verify)
}

// noKey stands for a record without a key, which has no order to keep. It is no hash, as those have 32 bits.
const noKey = math.MaxUint64

// Key tells the key of a record that Read counts, in the order of the records.
func (s *Shard) Key(key []byte) {
	hash := uint64(noKey)
	if len(key) > 0 {
		hash = uint64(crc32.ChecksumIEEE(key))
	}
	s.desk.keys = append(s.desk.keys, hash)
}

// InWork reports whether the consumer still works on a record, by its index in the last poll that brought some.
func (s *Shard) InWork(index int) bool {
	return s.desk != nil && index < len(s.desk.ends) && s.desk.ends[index] > s.Now()
}

// maxWork bounds the time that the records of one poll take: they count when they were polled.
const maxWork = 100 * time.Millisecond

// mostKeys is how many keys are remembered before those that are done are forgotten.
const mostKeys = 1 << 16

// newDesk returns the desk of a reader; nil: its records take no time.
func newDesk(s *Shard, p *plan.Plan) *desk {
	if p.Read.Processing.IsZero() {
		return nil
	}
	number, _ := p.Reader(s.Index)
	return &desk{shard: s, read: &p.Read, rng: rand.New(rand.NewPCG(uint64(number), 0x776f726b)), free: make(threads, p.Read.Workers()), last: make(map[uint64]time.Duration)}
}

// room returns how many records there is time for now, 1 or more.
func (d *desk) room(now time.Duration) int {
	least, time := 0, time.Duration(0)
	for _, free := range d.free {
		if left := now + maxWork - max(free, now); left > 0 {
			time += left
		}
		if free <= now {
			least++
		}
	}
	return max(1, least, int(time/max(1, d.read.Processing.Mean())))
}

// take gives the threads n records that were polled from asked to now. It returns when the consumer polls again.
func (d *desk) take(n int, asked, now time.Duration) (again time.Duration) {
	if now-asked < time.Millisecond && d.due > 0 {
		now = min(now, d.due) // they lay in the client when it should have woken
	}
	var sum time.Duration
	overtaken := int64(0)
	d.ends = d.ends[:0]
	for i := range n {
		took, thread, key := d.read.Processing.Draw(d.rng), 0, uint64(noKey)
		if i < len(d.keys) {
			key = d.keys[i]
		}
		switch {
		case d.read.OrderedBy == "":
		case key == noKey:
			thread = slices.Index(d.free, slices.Min(d.free))
		default:
			thread = int(key % uint64(len(d.free)))
		}
		done := max(d.free[thread], now) + took
		if d.free[thread], sum = done, sum+took; d.read.OrderedBy == "" {
			heap.Fix(&d.free, thread)
		}
		if d.ends = append(d.ends, done); key != noKey {
			if done < d.last[key] {
				overtaken++
			}
			d.last[key] = max(d.last[key], done)
		}
	}
	if d.keys = d.keys[:0]; len(d.last) > mostKeys {
		maps.DeleteFunc(d.last, func(_ uint64, done time.Duration) bool { return done <= now })
	}
	d.shard.Record(func(rec *stats.Recorder, phase int) {
		w := rec.Window(phase)
		w.Work, w.Overtaken = w.Work+sum, w.Overtaken+overtaken
	})
	switch d.due = slices.Max(d.free); {
	case d.read.Mode == plan.WorkContinuous && d.read.OrderedBy != "": // records wait for their own thread: not too many
		d.due = max(slices.Min(d.free), d.due-max(maxWork, 2*d.read.Processing.Mean()))
	case d.read.Mode == plan.WorkContinuous:
		d.due = slices.Min(d.free)
	}
	return d.due
}
