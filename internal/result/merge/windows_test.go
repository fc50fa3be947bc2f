package merge

import (
	"bytes"
	"errors"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/stats"
)

func TestTheWindowsOfAFileAddUpToItsResult(t *testing.T) {
	files := someRun(t, 1)
	for name, file := range map[string][]byte{"run file": files[0], "collection": collection(t, setOf(t, files...))} {
		res := must.Have(Read(bytes.NewReader(file), int64(len(file))))(t)
		var sum stats.Window
		must.Do(t, Windows(bytes.NewReader(file), int64(len(file)), func(w *stats.Window) error {
			if !w.Warmup {
				sum.Add(w)
			}
			return nil
		}))
		if sum.Acknowledged != res.Records.Acknowledged || sum.Response.Count() != res.Latency.Response.Count || sum.Acknowledged == 0 {
			t.Errorf("%s: windows of %d records and %d response times, want %d and %d", name, sum.Acknowledged, sum.Response.Count(), res.Records.Acknowledged, res.Latency.Response.Count)
		}
		enough := errors.New("enough")
		if err := Windows(bytes.NewReader(file), int64(len(file)), func(*stats.Window) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("%s: an error of the receiver is %v", name, err)
		}
	}
}
