package engine

import (
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// The shortest sleep of a sender, the nap: each sleep costs a wake-up, and a record that falls due in it is late
// by half of its length in the mean.
const (
	leastNap = 60 * time.Microsecond // of one sender, and of n senders n times as much: all together wake 17,000 times a second at most
	mostNap  = time.Millisecond      // also the shortest pause of a reader

	// napShare is the nap's share of the median service time. The mean wait is half of it, and with the kernel's delay less than a twentieth.
	napShare = 0.08

	// napPerRecord is the least nap for each record of a second. What falls due in a nap goes in one request where nothing else waits,
	// and small requests cost CPU at a high rate: a quarter more at 1,000,000/s.
	napPerRecord = time.Nanosecond
)

// nap returns the shortest sleep of each of some senders, after a second in which they offered so many records with these service
// times. Without any it returns the least one.
func nap(service *stats.Histogram, offered int64, senders int) time.Duration {
	least := max(leastNap*time.Duration(senders), napPerRecord*time.Duration(offered))
	return min(mostNap, max(least, time.Duration(napShare*float64(service.ValueAtQuantile(0.5)))))
}

// takeNap sets the nap of all senders by the windows of the last second.
func (r *run) takeNap(last *stats.Phases) {
	w := &last[stats.Measured]
	if w.Acknowledged == 0 {
		w = &last[stats.Warmup]
	}
	r.nap.Store(int64(nap(&w.Service, w.Offered, len(r.shards))))
}

// Sleeper sleeps for one sender, for 60 µs to 20 ms at a time. How much too long it sleeps is own send delay.
type Sleeper interface {
	Sleep(d time.Duration)
	Close() error
}

// plainSleeper sleeps as Go does: on Linux up to 1.1 ms too long.
type plainSleeper struct{}

func (plainSleeper) Sleep(d time.Duration) { time.Sleep(d) }
func (plainSleeper) Close() error          { return nil }
