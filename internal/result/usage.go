package result

import (
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// usage is the sum of the samples of the measured part. It has core-seconds, so that each interval counts
// by its length.
type usage struct {
	seconds           float64
	process, host, gc float64 // core-seconds
	stopped           float64 // seconds
	cores, hostCores  float64
	rss, pause, net   int64
}

func (u *usage) add(s host.Sample) {
	d := s.Interval.Seconds()
	u.merge(&usage{d, s.ProcessCPU * d, s.HostCPU * d, s.GCCPU * d, s.Stopped * d, s.Cores, s.HostCores, s.RSS, s.GCPauseMax, s.NetSent})
}

// merge adds the use after u.
func (u *usage) merge(o *usage) {
	if o.seconds == 0 {
		return
	}
	u.seconds += o.seconds
	u.process += o.process
	u.host += o.host
	u.gc += o.gc
	u.stopped += o.stopped
	u.cores, u.hostCores = o.cores, o.hostCores
	u.rss = max(u.rss, o.rss)
	u.pause = max(u.pause, o.pause)
	u.net += o.net
}

func (u *usage) client(w *stats.Window) ClientUse {
	records := w.Acknowledged
	if w.Offered == 0 {
		records = w.Consumed
	}
	return ClientUse{
		CPUSeconds: u.process, CPUSecondsPerMillion: per(u.process, float64(records)) * 1e6,
		CPUCores: per(u.process, u.seconds), CoresAvailable: u.cores, HostCPUCores: per(u.host, u.seconds), HostCores: u.hostCores,
		PeakResidentBytes: u.rss, GCCPUCores: per(u.gc, u.seconds), GCPauseMaxUS: time.Duration(u.pause).Microseconds(),
		CPUStoppedShare: per(u.stopped, u.seconds), NetSentMiBPerSecond: per(float64(u.net)/mib, u.seconds),
		BufferFullShare: share(w.BufferFull, w.ShardTime), InFlightShare: share(w.InFlightUse, w.ConnTime),
		Transactions: w.Transactions, Aborted: w.Aborted, FailedConnects: w.FailedConnects,
	}
}

// costShows is the least use of cores at which CPU time is a cost of the records: timers, the screen and
// the garbage collector take a quarter of a core and more without a load.
const costShows = 1.0

// share returns a part of a whole, at most 1.
func share(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return min(1, float64(part)/float64(whole))
}
