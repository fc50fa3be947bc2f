package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// The last interval ends with a slice of a few milliseconds: what that used is not what
// the interval used.
func TestALineOfProgressTellsTheCPUOfItsInterval(t *testing.T) {
	var stderr bytes.Buffer
	o := must.Have(NewLive(result.Header{}, LiveOptions{Output: "text", Interval: 2 * time.Second, Stderr: &stderr, Now: func() time.Time { return time.Unix(0, 0) }}))(t)
	at := time.Duration(0)
	for i, length := range []time.Duration{time.Second, time.Second, time.Second, 2 * time.Millisecond} {
		s := run.Second{
			Windows: []stats.Window{{Start: at, End: at + length, Offered: 1, Acknowledged: 1}},
			Sample:  host.Sample{Interval: length, Cores: 4, ProcessCPU: []float64{0.5, 1.5, 0.25, 3}[i]},
		}
		if i == 3 {
			s.Snapshot.Stage = result.Finished
		}
		o.Observe(s)
		at += length
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], "cpu 1.00/4 cores") || !strings.HasSuffix(lines[1], "cpu 0.26/4 cores") {
		t.Errorf("want 1.00 cores of two seconds and 0.26 of the last:\n%s", stderr.String())
	}
}
