package merge

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/result"
)

func TestLimitsAreOfTheWholeAndOfNoPart(t *testing.T) {
	ofWhole := func(limits ...string) func(*result.Header) {
		return func(h *result.Header) { h.Part.Limits = limits }
	}
	ofItself := func(limits ...string) func(*result.Header) {
		return func(h *result.Header) { h.Limits = limits }
	}
	for _, tc := range []struct {
		name   string
		a, b   func(*result.Header)
		want   []string // and whether they hold, as "rate>=150 true"
		differ bool
	}{
		{"of parts that were started together", ofWhole("rate>=150", "rate>=250 over 2s"), ofWhole("rate>=150", "rate>=250 over 2s"), []string{"rate>=150 true", "rate>=250 over 2s false"}, false},
		{"of runs that were started by hand", ofItself("rate>=150"), ofItself("rate>=150"), []string{"rate>=150 true"}, false},
		{"that only one has", ofItself("rate>=150", "errors==0"), ofItself("errors==0"), []string{"errors==0 true"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := partFile{run: "r", host: "a", process: 1, events: steady(0, 10, 100), trailer: trailerOf(10), change: tc.a}
			q := p
			q.process, q.change = 2, tc.b
			r := merged(t, p.bytes(t), q.bytes(t))
			var got []string
			for _, l := range r.Limits {
				got = append(got, l.Expression+map[bool]string{true: " true", false: " false"}[l.Held])
			}
			if strings.Join(got, ", ") != strings.Join(tc.want, ", ") || strings.Contains(r.Notice, "limits differ") != tc.differ {
				t.Errorf("limits %q, notice %q; want %q", got, r.Notice, tc.want)
			}
		})
	}
}

func TestARunIsAbortedIfItsPartsWere(t *testing.T) {
	p := partFile{run: "r", host: "a", process: 1, events: steady(0, 5, 10), trailer: trailerOf(5)}
	p.trailer.Ended, p.trailer.AbortedBy = result.Aborted, "errors>0: 3 records at 4.00s"
	q := p
	q.process, q.trailer.Ended, q.trailer.AbortedBy = 2, result.Interrupted, ""
	if r := merged(t, p.bytes(t), q.bytes(t)); r.Ended != result.Aborted || r.AbortedBy != p.trailer.AbortedBy {
		t.Errorf("it ended %q by %q", r.Ended, r.AbortedBy)
	}
}
