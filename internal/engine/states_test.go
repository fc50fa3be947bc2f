package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

func TestAStateThatFlapsIsToldOnceWithACount(t *testing.T) {
	outage := func(op *Op) bool { return op.Due >= 2*time.Second && op.Due < 3*time.Second }
	for _, tc := range []struct {
		name  string
		fails func(op *Op) string
		want  []string
	}{
		{"nothing fails", func(*Op) string { return "" }, nil},
		{"a partition never takes records", func(op *Op) string { return map[bool]string{true: "NO"}[op.Index%2 == 1] }, []string{"0 first_error [1] records fail: NO"}},
		{"all partitions fail for a second", func(op *Op) string { return map[bool]string{true: "NO"}[outage(op)] }, []string{
			"2 first_error [0 1] records fail: NO", "3 first_success [0 1] records are acknowledged again",
		}},
		{"a partition fails for a moment each second", func(op *Op) string {
			return map[bool]string{true: "NO"}[op.Index%2 == 1 && op.Due >= time.Second && op.Due < 11*time.Second && op.Due%time.Second < 200*time.Millisecond]
		}, []string{"1 first_error [1] records fail: NO", "10 first_success [1] records are acknowledged again (flapping: 9 more)"}},
		{"another code comes meanwhile", func(op *Op) string {
			switch {
			case op.Index%2 == 0:
				return ""
			case op.Due == 9*time.Second+10*time.Millisecond:
				return "DENIED"
			}
			return "NO"
		}, []string{"0 first_error [1] records fail: NO", "9 first_error [] records fail: DENIED"}},
		{"it flaps to the end", func(op *Op) string {
			return map[bool]string{true: "NO"}[op.Index%2 == 1 && op.Due%(2*time.Second) >= time.Second]
		}, []string{"1 first_error [1] records fail: NO", "19 first_error [1] records fail: NO (flapping: 9 more)"}},
		{"twice, with a long time between", func(op *Op) string {
			return map[bool]string{true: "NO"}[op.Index%2 == 1 && (op.Due < time.Second || op.Due >= 12*time.Second && op.Due < 13*time.Second)]
		}, []string{"0 first_error [1] records fail: NO", "1 first_success [1] records are acknowledged again", "12 first_error [1] records fail: NO", "13 first_success [1] records are acknowledged again"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			sent, c := &fake{latency: time.Millisecond, fails: tc.fails, place: func(op *Op) int32 { return int32(op.Index % 2) }}, &collector{}
			must.Have(Run(t.Context(), producing(plan.Load{Rate: perSecond(100), Duration: seconds(20)}), Drivers{Send: sent}, Options{}, c))(t)
			var got []string
			for _, e := range c.all().Events {
				got = append(got, fmt.Sprintf("%d %s %v %s", e.At/time.Second, e.Kind, e.Partitions, e.Text))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s:\n  got  %s\n  want %s", tc.name, strings.Join(got, "\n       "), strings.Join(tc.want, "\n       "))
			}
		})
	}
}

func TestAnAlarmThatFlapsLeavesRoomForOthers(t *testing.T) {
	var s states
	tell := func(at time.Duration, kind stats.EventKind, broker int32) bool {
		return s.note(stats.Event{At: at, Kind: kind, Broker: broker, Text: string(kind)}, -1)
	}
	var got []stats.Event
	for i := range 500 {
		at := time.Duration(i) * time.Second
		tell(at, stats.AlarmOn, -1)
		tell(at+time.Second/2, stats.AlarmOff, -1)
		got = append(got, s.settle(at+time.Second, false)...)
	}
	if tell(0, stats.BrokerBack, 3) || tell(0, stats.Rebalance, -1) {
		t.Error("an end without a beginning, and an event of no state, are not told as they are")
	}
	got = append(got, s.settle(501*time.Second, true)...)
	if len(got) != 2 || got[0].Kind != stats.AlarmOn || got[0].At != 0 || got[1].Kind != stats.AlarmOff || got[1].At != 499*time.Second+time.Second/2 || !strings.Contains(got[1].Text, "499 more") {
		t.Errorf("events %+v; want the alarm, and its end with a count", got)
	}
	tell(0, stats.BrokerGone, -1)
	if tell(1, stats.BrokerGone, -1) {
		t.Error("another host without a number is gone, and it is not told")
	}
	s = states{}
	for i, kind := range []stats.EventKind{stats.FirstError, stats.FirstSuccess, stats.FirstError} {
		s.note(stats.Event{At: time.Duration(i), Kind: kind, Text: string(kind)}, 4)
	}
	if got = s.settle(3, true); len(got) != 1 || got[0].Count != 1 || !slices.Equal(got[0].Partitions, []int32{4}) {
		t.Errorf("%+v; want one event of the partition that began to fail and came back in the last second", got)
	}
}
