package study

import (
	"reflect"
	"testing"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

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
		name   string
		runs   []RunDoc
		want   Faults
		faulty bool
	}{
		{"a pause without a fault", []RunDoc{of(0, nil, new(int64(30)), nil)}, Faults{Failed: Spread{N: 1}, Gap: Spread{30, 30, 30, 1}}, false},
		{
			"one of two runs recovered",
			[]RunDoc{of(5, new(int64(0)), new(int64(4000)), new(int64(9000))), of(15, new(int64(2)), new(int64(6000)), nil)},
			Faults{Failed: Spread{10, 5, 15, 2}, Lost: Spread{1, 0, 2, 2}, Gap: Spread{5000, 4000, 6000, 2}, Recovered: Spread{9000, 9000, 9000, 1}},
			true,
		},
		{"records failed", []RunDoc{of(5, nil, nil, nil)}, Faults{Failed: Spread{5, 5, 5, 1}}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := CellDoc{Runs: tc.runs}
			c.conclude(1)
			d := &Document{GridDoc: &GridDoc{Cells: []CellDoc{c}}}
			if !reflect.DeepEqual(c.Faults, tc.want) || d.Faulty() != tc.faulty {
				t.Errorf("%+v, faulty %t; want %+v, %t", c.Faults, d.Faulty(), tc.want, tc.faulty)
			}
		})
	}
}
