//go:build !race

package study

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// planner is a runner that only plans.
type planner map[string]plan.Plan // by the command

func (p planner) Plan(l Load) (plan.Plan, error) {
	one := p[l.Command]
	for _, f := range l.Flags {
		if f.Name == "num-records" {
			one.Load.Records, _ = plan.ParseCount(f.Value)
		}
	}
	return one, nil
}

func TestAForecastAddsUpWhatRunsTake(t *testing.T) {
	write := plan.Plan{Producers: 1, Bootstrap: []string{"kafka:9092"}, Payload: plan.Payload{Size: plan.FixedSize(100)}, Topic: plan.Topic{ReplicationFactor: 2}}
	atRate, forTime, both := write, write, write
	atRate.Load.Rate.PerSecond = 10
	forTime.Load.Duration = plan.Duration(time.Minute)
	both.Load = plan.Load{Rate: atRate.Load.Rate, Duration: forTime.Load.Duration}
	full := both
	full.Load.UntilFull = true
	read := plan.Plan{Read: plan.Read{Consumers: 1}, Load: forTime.Load}
	s := &Study{
		Prepare: []Load{{Name: "old", Command: "produce", Flags: []Flag{{"num-records", "100"}}}},
		Loads:   []Load{{Name: "write", Command: "produce", Flags: []Flag{{"num-records", "1000"}}}, {Name: "read", Command: "consume"}},
		Factors: []Factor{{Name: "write.acks", Values: []string{"1", "all"}}}, Repeats: 2, Order: Listed, Rest: plan.Duration(5 * time.Second),
	}
	f := must.Have(s.Forecast(planner{"produce": atRate, "consume": read}, nil))(t)
	// Preparing takes 10 s and 2 × 10,000 bytes. Each of 4 runs takes 100 s and 2 × 100,000 bytes.
	if f.Seconds != 10+4*100+3*5 || f.Bytes != 20_000+4*200_000 || f.AtOnce != 220_000 || len(f.NotKnown) != 0 || len(f.Runs) != 4 || len(f.Cells) != 2 {
		t.Errorf("%+v", f)
	}
	s.Loads[0].Flags, s.Prepare = nil, nil
	for _, tc := range []struct {
		name           string
		produce        plan.Plan
		seconds, bytes float64
		notKnown       int
	}{
		{"a rate for a time", both, 4*60 + 15, 4 * 600 * 200, 0},
		{"a time", forTime, 4*60 + 15, 0, 1},
		{"until disks are full", full, 4*60 + 15, 0, 1},
		{"nothing", write, 0, 0, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := s.Forecast(planner{"produce": tc.produce, "consume": read}, nil)
			if err != nil || f.Seconds != tc.seconds || f.Bytes != tc.bytes || len(f.NotKnown) != tc.notKnown {
				t.Errorf("%+v, %v", f, err)
			}
		})
	}
}

func dir(broker int32, host, path string, total, usable int64) result.LogDir {
	return result.LogDir{Broker: broker, Host: host, Path: path, Total: total, Usable: usable}
}

func TestRoomIsCountedOnceForADisk(t *testing.T) {
	one := []result.LogDir{dir(1, "a", "/d1", 100, 40), dir(1, "a", "/d2", 100, 40), dir(2, "b", "/d1", 100, 40)} // 80 on two disks
	for _, tc := range []struct {
		name            string
		dirs            []result.LogDir
		atOnce, written float64
		want            Room
	}{
		{"for all runs", one, 20, 80, RoomForAll},
		{"for each run", one, 80, 81, RoomInTurns},
		{"for none", one, 81, 81, NoRoom},
		{"nobody says", nil, 10, 20, RoomUnknown},
		{"an old broker", []result.LogDir{dir(1, "a", "/d1", 100, 40), dir(2, "b", "/d1", -1, -1)}, 10, 20, RoomUnknown},
		{"it is not known how much is written", one, 0, 0, RoomUnknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &Forecast{Study: new(Study), AtOnce: tc.atOnce, Bytes: tc.written, Room: RoomUnknown}
			if f.Place(tc.dirs); f.Room != tc.want || (f.Err() != nil) != (tc.want == NoRoom) {
				t.Errorf("room %s, error %v; want %s", f.Room, f.Err(), tc.want)
			}
		})
	}
}

// The runs of a cell that the cluster cannot carry are not planned, and the plan names it.
func TestAForecastLeavesOutWhatTheClusterCannotCarry(t *testing.T) {
	s := &Study{
		Loads: []Load{{Command: "produce"}}, Repeats: 2, Discard: 1, Order: Listed,
		Factors: []Factor{{Name: "replication-factor", Values: []string{"3", "1"}}},
	}
	fits := func(l Load) error {
		if i := slices.IndexFunc(l.Flags, func(f Flag) bool { return f.Name == "replication-factor" }); l.Flags[i].Value == "3" {
			return &result.MisfitError{Err: errors.New("the cluster has 1 broker")}
		}
		return nil
	}
	f, err := s.Forecast(planner{"produce": {Load: plan.Load{Records: 10}}}, fits)
	if err != nil || len(f.Runs) != 2 || f.Runs[0].At["replication-factor"] != "1" || f.Runs[1].Turn != 2 {
		t.Errorf("%+v, %v", f, err)
	}
	if l := f.LeftOut; len(l) != 1 || l[0].Cells[0] != "replication-factor=3" || l[0].Reason != "the cluster has 1 broker" {
		t.Errorf("%q", l)
	}
}

func TestSearchesAndTrialsTellTheirTime(t *testing.T) {
	ladder := DefaultSearch()
	ladder.Ladder = []float64{1, 2, 3}
	for name, tc := range map[string]struct {
		study       *Study
		least, most float64
	}{
		"a ladder": {&Study{Find: &ladder, Rest: plan.Duration(5 * time.Second)}, 35, 115},
		"a trial": {&Study{
			Loads: []Load{{Command: "produce"}}, Trial: &Proposal{Changes: []Flag{{"linger", "5ms"}}, Looks: []int{6, 12, 20}}, Repeats: 20, Discard: 1, Order: ABBA,
		}, 130, 410},
	} {
		f, err := tc.study.Forecast(planner{"produce": {Load: plan.Load{Duration: plan.Duration(10 * time.Second)}}}, nil)
		if err != nil || math.Abs(f.Seconds-tc.least) > 0.5 || math.Abs(f.Most-tc.most) > 0.5 {
			t.Errorf("%s takes %v to %v s, %v", name, f.Seconds, f.Most, err)
		}
	}
	if least, most := DefaultSearch().takes(5); !(least > 300 && least < most && most < 3600) {
		t.Errorf("a search takes %v to %v s", least, most)
	}
}
