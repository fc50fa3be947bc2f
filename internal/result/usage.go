package result

import (
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// clientUse returns kt's own use in the time of a sample, and that of its client in a window.
func clientUse(u *host.Sample, w *stats.Window) ClientUse {
	records, seconds := w.Acknowledged, u.Interval.Seconds()
	if w.Offered == 0 {
		records = w.Consumed
	}
	return ClientUse{
		CPUSeconds: u.ProcessCPU * seconds, CPUSecondsPerMillion: per(u.ProcessCPU*seconds, float64(records)) * 1e6,
		CPUCores: u.ProcessCPU, CoresAvailable: u.Cores, HostCPUCores: u.HostCPU, HostCores: u.HostCores,
		PeakResidentBytes: u.RSS, GCCPUCores: min(u.GCCPU, u.ProcessCPU), // Go estimates that of the collector from the clock, which may be more
		GCPauseMaxUS:    time.Duration(u.GCPauseMax).Microseconds(),
		CPUStoppedShare: u.Stopped, NetSentMiBPerSecond: per(float64(u.NetSent)/mib, seconds),
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
