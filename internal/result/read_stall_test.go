package result

import (
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
)

func TestTheLongestTimeWithoutARecordIsAStallWhileRecordsWait(t *testing.T) {
	const lag = 5000
	steady := readSecond{read: 1000, left: lag, wait: 0.1}
	until := func(last, wait float64) readSecond { return readSecond{read: 500, left: lag, last: last, wait: wait} }
	from := func(first, wait float64) readSecond {
		return readSecond{read: 500, left: lag, first: first, wait: wait}
	}
	for _, tc := range []struct {
		name    string
		seconds []readSecond
		want    time.Duration // 0: none
		stall   bool          // is the verdict, of an unlimited run
	}{
		{"steady reading", []readSecond{steady, steady, steady}, 0, false},
		{"a gap within two seconds", []readSecond{steady, until(0.5, 0.5), from(0.25, 0.25), steady}, 750 * time.Millisecond, false},
		{"a gap with an empty second", []readSecond{steady, until(0.5, 0.5), {left: lag, wait: 1}, from(0.75, 0.75), steady}, 2250 * time.Millisecond, true},
		{"a gap that is open at the end", []readSecond{steady, {left: lag, wait: 1}, {left: lag, wait: 1}}, 2 * time.Second, true},
		{"no records waited", []readSecond{steady, {read: 500, last: 0.5, wait: 0.5}, {wait: 1}, {wait: 1}, {wait: 1}, from(0.5, 0.5)}, 0, false},
		{"readers that were held back", []readSecond{steady, until(0.5, 0), {left: lag}, {left: lag}, from(0.5, 0)}, 0, false},
		{"before the first record", []readSecond{{left: lag, wait: 1}, {left: lag, wait: 1}, {left: lag, wait: 1}, steady, steady}, 0, false},
	} {
		for _, readers := range []int{1, 3} {
			f := readSeconds(readers, tc.seconds...)
			if got := f.reads.stall.longest.Length; got < tc.want || tc.want == 0 && got > 0 || got > tc.want+time.Millisecond {
				t.Errorf("%s, %d readers: the longest gap is %v, want %v", tc.name, readers, got, tc.want)
			}
			if v := f.Verdict(); (v.Limit == verdict.Stalled) != tc.stall {
				t.Errorf("%s, %d readers: bound by %s: %s", tc.name, readers, v.Limit, v.Evidence)
			}
		}
	}
}

func TestAStallOfASecondIsNamedWhereTheRateOfReadingIsFixed(t *testing.T) {
	lag := readSecond{read: 1000, left: 5000, wait: 0.1}
	f := readSeconds(1, lag, lag, lag, readSecond{left: 5000, wait: 1}, readSecond{left: 5000, read: 2000, first: 0.2, wait: 0.2}, lag, lag)
	f.schedule = plan.NewSchedule(1000)
	v := f.Verdict()
	if v.Limit != verdict.Stalled || !strings.Contains(v.Evidence, "1.20s") {
		t.Errorf("bound by %s: %s", v.Limit, v.Evidence)
	}
}
