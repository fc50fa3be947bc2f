package report

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/stats"
)

func TestADistributionIsThatOfTheHeadline(t *testing.T) {
	for _, name := range []string{"fixed", "roundtrip"} {
		r, ok := results()[name]
		if !ok {
			t.Fatalf("there is no result %s", name)
		}
		golden(t, "hgrm/"+name+".hgrm", written(t, HGRM, r, Options{}))
	}
	none := results()["fixed"]
	none.Histograms.Response = stats.Distribution{}
	must.Err(t, "no response time was measured", HGRM(io.Discard, none, Options{}), "a result without a latency")
}

func TestALogHasTheMeasuredSecondsUnderTheirTags(t *testing.T) {
	r := results()["fixed"]
	windows := []stats.Window{second(0, true, nil), second(1, false, nil), second(2, false, nil)}
	each := func(f func(*stats.Window) error) error {
		for i := range windows {
			if err := f(&windows[i]); err != nil {
				return err
			}
		}
		return nil
	}
	var b strings.Builder
	must.Do(t, WriteHLog(&b, r, each))
	counts := make(map[string]int64)
	reader := hdrhistogram.NewHistogramLogReader(strings.NewReader(b.String()))
	for {
		h := must.Have(reader.NextIntervalHistogram())(t)
		if h == nil {
			break
		}
		counts[h.Tag()] += h.TotalCount()
		if h.Tag() == "" && h.EndTimeMs()-h.StartTimeMs() != 1000 {
			t.Errorf("an interval is from %d to %d ms", h.StartTimeMs(), h.EndTimeMs())
		}
	}
	for tag, want := range map[string]int64{"": windows[1].Response.Count(), "service": windows[1].Service.Count(), "send-delay": windows[1].SendDelay.Count()} {
		if counts[tag] != 2*want || want == 0 {
			t.Errorf("tag %q has %d values, want %d", tag, counts[tag], 2*want)
		}
	}
	full := errors.New("no space left on device")
	if err := WriteHLog(failing{full}, r, each); !errors.Is(err, full) {
		t.Errorf("a full disk gives %v", err)
	}
}
