//go:build !race

package study

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// servedOf is a result whose p99 is a number or failed.
func servedOf(p99 result.Micros) *result.Result {
	var r result.Result
	r.Plan.Producers = 1
	r.Latency.Response = result.Latency{Count: 100, Mean: 900, P50: 1000, P90: 1500, P99: p99, P999: p99}
	r.Throughput.RecordsPerSecond = 1000
	return &r
}

// Neither a comparison, nor a cell, nor a trial takes the latency of the runs in which it did not fail.
func TestALatencyThatFailedInSomeRunsIsComparedWithNone(t *testing.T) {
	var a, b Side
	c := CellDoc{}
	for i := range 5 {
		a.Add("a", servedOf(2000))
		p99 := result.Micros(2000)
		if i < 2 {
			p99 = result.Failed
		}
		b.Add("b", servedOf(p99))
		c.Runs = append(c.Runs, RunDoc{Loads: []LoadFigures{b.runs[i].figures}})
	}
	const says = "p99: failed in 2 of 5 runs"
	d, err := Compare(&a, &b, 0.03)
	if err != nil || d.A.FailedMetrics != nil || !slices.Contains(d.B.FailedMetrics, says) || slices.ContainsFunc(d.Metrics, func(c Compared) bool { return c.Metric == P99 || c.Metric == P999 }) {
		t.Fatalf("%v: %q against %q, %+v", err, d.A.FailedMetrics, d.B.FailedMetrics, d.Metrics)
	}
	if d.Judge([]FailOn{{Metric: P99, Above: true, Limit: 0.1}}); len(d.Failures) != 1 || !strings.Contains(d.Failures[0], "failed") {
		t.Errorf("--fail-on: %q", d.Failures)
	}
	if c.conclude(1); c.Latency.P99.N != 0 || c.Latency.P50.N != 5 || !slices.Contains(c.FailedMetrics, says) {
		t.Errorf("the cell has %+v, %q", c.Latency, c.FailedMetrics)
	}
	s := Search{SLO: []SLO{{Metric: P99, Below: 5000}, {Metric: Mean, Below: 5000}}}
	if why := s.reasons(Step{Rate: 1000, Time: 10e9}, &b.runs[0].figures); !slices.Contains(why, "p99 failed") {
		t.Errorf("a trial with a failed p99 fails by %q", why)
	}
	r := servedOf(2000) // a mean of the records that were served would look better than one of all, and the CPU from 1 % of them on
	r.Latency.Response.Unserved, r.Valid = 1, true
	l := figuresOf("", "", r)
	if why := s.reasons(Step{Rate: 1000, Time: 10e9}, &l); !slices.Equal(why, []string{"mean failed"}) || l.Latency.P50 == 0 {
		t.Errorf("a mean beside a failed record fails by %q", why)
	}
	if r.Latency.Response.Unserved = 2; slices.Contains(figuresOf("", "", r).FailedMetrics, CPU) == slices.Contains(l.FailedMetrics, CPU) {
		t.Error("the CPU of a run counts up to 1 % of records that were not served")
	}
}

func TestLostRecordsHaveNoNumberWhileSomeWereNotChecked(t *testing.T) {
	for _, tc := range []struct {
		lost, unchecked int64
		known           bool
	}{{0, 0, true}, {0, 9, false}, {2, 9, true}} {
		f := faultsOf(&result.Result{Trailer: result.Trailer{Verify: &ledger.Verdict{Acknowledged: 20, Lost: tc.lost, Unchecked: tc.unchecked}}})
		d := &Document{GridDoc: &GridDoc{Cells: []CellDoc{{Runs: []RunDoc{{Loads: []LoadFigures{{FaultFigures: f}}}}}}}}
		if (f.Lost != nil) != tc.known || *f.Unchecked != tc.unchecked || d.Faulty() != (tc.lost+tc.unchecked > 0) {
			t.Errorf("%+v: %+v, faulty %t", tc, f, d.Faulty())
		}
	}
}

func TestFaultsAreSummedUpOverTheRunsThatSawThem(t *testing.T) {
	of := func(failed int64, lost, gap, recovered *int64) RunDoc {
		began := stats.EventKind("")
		if recovered != nil {
			began = stats.Exec
		}
		return RunDoc{Loads: []LoadFigures{{FaultFigures: FaultFigures{
			Failed: failed, Lost: lost, Outage: &result.Outage{LongestGapMS: gap, RecoveredMS: recovered, BeganWith: began},
		}}}}
	}
	for _, tc := range []struct {
		runs   []RunDoc
		want   Faults
		faulty bool
	}{
		{[]RunDoc{of(0, nil, new(int64(30)), nil)}, Faults{Failed: Spread{N: 1}, Gap: Spread{30, 30, 30, 1}}, false}, // a pause
		{
			[]RunDoc{of(5, new(int64(0)), new(int64(4000)), new(int64(9000))), of(15, new(int64(2)), new(int64(6000)), nil)},
			Faults{Failed: Spread{10, 5, 15, 2}, Lost: Spread{1, 0, 2, 2}, Gap: Spread{5000, 4000, 6000, 2}, Recovered: Spread{9000, 9000, 9000, 1}},
			true,
		},
	} {
		c := CellDoc{Runs: tc.runs}
		c.conclude(1)
		d := &Document{GridDoc: &GridDoc{Cells: []CellDoc{c}}}
		if !reflect.DeepEqual(c.Faults, tc.want) || d.Faulty() != tc.faulty {
			t.Errorf("%+v, faulty %t; want %+v, %t", c.Faults, d.Faulty(), tc.want, tc.faulty)
		}
	}
}
