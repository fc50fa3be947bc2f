package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// filled returns the events of a directory of 1,000 bytes of which so many are in use every 5 s, and the
// rooms in the end.
func filled(l plan.Load, used ...int64) ([]stats.Event, *rooms) {
	r := newRooms(l)
	var events []stats.Event
	for i, n := range used {
		at := time.Duration(i) * 5 * time.Second
		switch n {
		case gone:
			events = append(events, r.silent(2, at)...)
		case broken:
			events = append(events, r.see(2, "/d", usage{at: at, total: -1, usable: -1, failed: true})...)
		default:
			events = append(events, r.see(2, "/d", usage{at: at, total: 1000, usable: 1000 - n})...)
		}
	}
	return events, &r
}

const gone, broken = -1, -2

func kinds(events []stats.Event) []stats.EventKind {
	var all []stats.EventKind
	for _, e := range events {
		all = append(all, e.Kind)
	}
	return all
}

func TestALogDirectoryIsForecastAndEndsTheLoad(t *testing.T) {
	const forecast, full, failed = stats.LogDirForecast, stats.LogDirFull, stats.LogDirFailed
	minute := plan.Duration(time.Minute)
	for _, tc := range []struct {
		name string
		load plan.Load
		used []int64
		want []stats.EventKind
		over bool
	}{
		{"it ends at the limit", plan.Load{StopAtDisk: 0.9}, []int64{100, 300, 500, 700, 900, 950}, []stats.EventKind{forecast, forecast, full}, true},
		{"it does not grow", plan.Load{StopAtDisk: 0.9}, []int64{500, 500, 500, 500}, nil, false},
		{"it has room for the load", plan.Load{StopAtDisk: 0.9, Duration: minute}, []int64{100, 110, 120, 130}, nil, false},
		{"it is too far ahead", plan.Load{StopAtDisk: 0.9}, slices.Concat(repeat(100, 50), []int64{101}), nil, false},
		{"it was beyond the limit before", plan.Load{StopAtDisk: 0.9}, []int64{940, 940, 945}, []stats.EventKind{forecast, forecast}, false},
		{"and half of the rest is used", plan.Load{StopAtDisk: 0.9}, []int64{940, 940, 970}, []stats.EventKind{forecast, full}, true},
		{"never", plan.Load{}, []int64{500, 900, 1000, 1000, 1000}, []stats.EventKind{full}, false},
		{"a failed disk", plan.Load{}, []int64{500, 500, broken, broken}, []stats.EventKind{failed}, false},
		{"until it is full, and a minute more", plan.Load{UntilFull: true}, slices.Concat([]int64{500}, repeat(1000, 13)), []stats.EventKind{full}, true},
		{"and not sooner", plan.Load{UntilFull: true}, slices.Concat([]int64{500}, repeat(1000, 12)), []stats.EventKind{full}, false},
		{"until it is full, for a given time", plan.Load{UntilFull: true, Duration: 10 * minute}, slices.Concat([]int64{500}, repeat(1000, 13)), []stats.EventKind{full}, false},
		{"a broker that goes when it is full", plan.Load{UntilFull: true, Duration: 10 * minute}, []int64{400, 600, 800, gone, gone, gone}, []stats.EventKind{forecast, failed}, false},
		{"a broker that is only away", plan.Load{StopAtDisk: 0.9, Duration: 10 * minute}, []int64{400, 400, gone, gone}, nil, false},
	} {
		events, r := filled(tc.load, tc.used...)
		end := time.Duration(len(tc.used)-1) * 5 * time.Second
		if got := kinds(events); !slices.Equal(got, tc.want) || r.over(end) != tc.over {
			t.Errorf("%s: %v, over %t, want %v and %t", tc.name, events, r.over(end), tc.want, tc.over)
		}
	}
}

func repeat(n int64, times int) []int64 { return slices.Repeat([]int64{n}, times) }

func TestAForecastSaysWhen(t *testing.T) {
	r := newRooms(plan.Load{})
	const total = int64(1e12)
	var told []stats.Event
	for i := range int64(3) { // 1 % in 114 s
		told = append(told, r.see(2, "/d", usage{at: time.Duration(i) * 57 * time.Second, total: total, usable: total - i*total/200})...)
	}
	if len(told) != 1 || told[0].Broker != 2 || !strings.HasSuffix(told[0].Text, "log directory /d of broker 2 full in 3 h 8 min") {
		t.Errorf("%v, want 99 %% of 190 minutes", told)
	}
}

func TestDirectoriesAreLookedAtMoreOftenTheFasterTheyFill(t *testing.T) {
	for name, tc := range map[string]struct {
		used []int64
		want time.Duration
	}{
		"at first":   {[]int64{100, 200}, logDirOften},
		"slowly":     {[]int64{100, 101, 102}, logDirRarely},
		"not at all": {[]int64{100, 100, 100}, logDirRarely},
		"fast":       {[]int64{100, 200, 300}, 3750 * time.Millisecond}, // 30 s are left
		"very fast":  {[]int64{100, 500, 880}, logDirMost},
	} {
		_, r := filled(plan.Load{StopAtDisk: 0.9}, tc.used...)
		must.Match(t, tc.want, r.wait(logDirRarely).Round(time.Millisecond), "%s", name)
	}
}

func TestForecastsOfALongLoadAreBounded(t *testing.T) {
	r := newRooms(plan.Load{})
	events := 0
	for i := range int64(100_000) {
		for b := range int32(3) {
			events += len(r.see(b, "/d", usage{at: time.Duration(i) * logDirRarely, total: 1e9, usable: max(0, 1e9-i*1e4)}))
		}
	}
	for key, d := range r.dirs {
		if len(d.seen) > forecastOver || cap(d.seen) > 4*forecastOver {
			t.Errorf("%s keeps %d readings in the memory of %d", fmt.Sprint(key), len(d.seen), cap(d.seen))
		}
	}
	if events == 0 || events > 3*25 {
		t.Errorf("%d events of three directories", events)
	}
}
