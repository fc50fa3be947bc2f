package run

import (
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/stats"
)

func TestMergedSecondsSpanBoth(t *testing.T) {
	at := func(k int64, name string) Second {
		w := stats.Window{Start: time.Duration(k) * time.Second, End: time.Duration(k+1) * time.Second, Acknowledged: k}
		return Second{
			Windows: []stats.Window{w}, Sample: host.Sample{At: w.End, Interval: time.Second, ProcessCPU: float64(k)},
			Hosts: []Host{{Name: name}}, StartsIn: time.Duration(k),
		}
	}
	older, newer := at(1, "a"), at(3, "a")
	got := newer.Merge(older)
	must.True(t, len(got.Windows) == 1 && got.Windows[0].Acknowledged == 4 && got.Windows[0].Start == time.Second && got.StartsIn == 3, "%+v", got)
	must.True(t, got.Sample.Interval == 2*time.Second && got.Sample.ProcessCPU == 2 && len(got.Hosts) == 1, "%+v", got)
}
