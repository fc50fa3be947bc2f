package probe

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestThresholds(t *testing.T) {
	for _, r := range []struct {
		scale scale
		value float64
		grade Grade
		says  string
	}{
		{syncScale, 0.2, Good, "p99 of 0.2 ms: "},
		{syncScale, 2, Good, ""},
		{syncScale, 9.9, OK, "within the 10 ms that etcd"},
		{syncScale, 12, OK, "over the 10 ms"},
		{syncScale, 20.1, Poor, "OpenShift"},
		{stallScale, 4.9, Good, ""},
		{stallScale, 65, OK, "within the 65 ms"},
		{stallScale, 66, OK, "over the 65 ms"},
		{stallScale, 201, Poor, "journal"},
		{shareScale, 86, Good, "sustained/direct of 86 %"},
		{shareScale, 60, OK, ""},
		{shareScale, 59.9, Poor, "vm.dirty_*"},
		{writeScale, 500, Good, ""},
		{writeScale, 125, OK, "at least the base rate"},
		{writeScale, 110, OK, "less than the base rate"},
		{writeScale, 99, Poor, "rate of 99 MiB/s"},
		{thirdsScale, 96, Good, ""},
		{thirdsScale, 81, OK, ""},
		{thirdsScale, 79, Poor, "credits"},
		{evenScale, 2.15, Good, "variation of 2.1 %"},
		{evenScale, 9, OK, ""},
		{evenScale, 24, OK, "uneven"},
		{evenScale, 26, Poor, ""},
		{parallelScale, 91, Good, ""},
		{parallelScale, 71, OK, ""},
		{parallelScale, 69, Poor, "add little"},
	} {
		got := r.scale.judge(r.value)
		if got.Grade != r.grade || !strings.Contains(got.Sentence, r.says) {
			t.Errorf("%s %v: judged %s, %q, want %s, with %q", r.scale.metric, r.value, got.Grade, got.Sentence, r.grade, r.says)
		}
		if got.Source == "" {
			t.Errorf("%s %v: the threshold has no source", r.scale.metric, r.value)
		}
	}
}

func TestDirectoryIsAsGoodAsItsWorstFinding(t *testing.T) {
	d := Directory{Results: []Result{
		{Test: testWrite, Operations: 1, MiBPerSecond: 200},
		{Test: testAppend, Operations: 1, Append: &Append{SustainedMiBPerSecond: 100, Limited: true, Steady: true}},
		{Test: testSync, Operations: 1, Latency: Latency{P99: 1500}},
		{Test: testRead, Operations: 1, MiBPerSecond: 10},
	}}
	d.judge()
	want := []Grade{OK, Poor, Good, ""} // 50 % of direct; reads have no threshold
	for i, r := range d.Results {
		must.Match(t, want[i], r.Grade, "%s: grade of %+v", r.Test, r.Findings)
	}
	if d.Grade != Poor || d.Plan != "plan with 100 MiB/s" {
		t.Errorf("judge: %q, %q, want poor and a plan with 100 MiB/s", d.Grade, d.Plan)
	}
}

func TestAFastDiskIsNotPoorForItsPageCache(t *testing.T) {
	if got := judgeShare(1400, 2500); got.Grade != OK || !strings.Contains(got.Sentence, "1,400 MiB/s") {
		t.Errorf("judgeShare(1400, 2500) = %s, %q, want ok, with the rate", got.Grade, got.Sentence)
	}
	if got := judgeShare(140, 250); got.Grade != Poor {
		t.Errorf("judgeShare(140, 250) = %s, want poor", got.Grade)
	}
}

func TestNothingIsJudgedThatTheDeviceDidNotLimit(t *testing.T) {
	r := Result{Test: testAppend, Operations: 1, Append: &Append{SustainedMiBPerSecond: 10}}
	for _, f := range r.judge(1000) {
		if f.Metric == shareScale.metric {
			t.Errorf("judge: %+v, want no share: the device was not the limit", f)
		}
	}
}

func TestARateToPlanWith(t *testing.T) {
	for _, r := range []struct {
		sentence string
		a        Append
		plan     string
		rate     float64
	}{
		{"the device was the limit", Append{SustainedMiBPerSecond: 941, Limited: true, Steady: true}, "plan with 941 MiB/s", 941},
		{"it was not, and may do more", Append{SustainedMiBPerSecond: 941, Steady: true}, "plan with at least 941 MiB/s", 941},
		{"it was not steady", Append{SustainedMiBPerSecond: 941, Limited: true}, "", 0},
		{"it was ended before its time", Append{SustainedMiBPerSecond: 941, Limited: true, Steady: true, Cut: true}, "", 0},
		{"no rate of the device was found", Append{}, "", 0},
	} {
		memory := Directory{Memory: "loop0 in tmpfs", Results: []Result{{Test: testAppend, Operations: 1, Append: &r.a}}}
		if memory.judge(); memory.Plan != "" || memory.PlanMiBPerSecond != 0 || memory.Grade != "" || memory.Results[0].Findings != nil {
			t.Errorf("%s, in memory: judge: %+v, want no grade and no plan", r.sentence, memory)
		}
		d := Directory{Results: []Result{{Test: testAppend, Operations: 1, Append: &r.a}}}
		d.judge()
		if d.Plan != r.plan || d.PlanMiBPerSecond != r.rate {
			t.Errorf("%s: judge: %q and %v, want %q and %v", r.sentence, d.Plan, d.PlanMiBPerSecond, r.plan, r.rate)
		}
	}
}

func TestLatenciesThatAreNotTheDisksHaveNoGrade(t *testing.T) {
	for _, test := range []string{testAppend, testSync, testCommit, testMixed} {
		r := Result{Test: test, Operations: 1, Latency: Latency{P99: 1, P999: 1}}
		if got := r.judge(0); len(got) != 1 || got[0].Grade != Good {
			t.Errorf("%s: judge = %+v, want a good latency", test, got)
		}
		r.LatencyUngraded = true
		if got := r.judge(0); len(got) != 0 {
			t.Errorf("%s: judge = %+v, want nothing of a latency that is not to be graded", test, got)
		}
	}
}

func TestUnevennessIsJudgedByTheSecondsThatItIsOf(t *testing.T) {
	r := Result{
		Test: testAppend, Operations: 1, LatencyUngraded: true, Series: make([]Second, 60),
		Append: &Append{SustainedMiBPerSecond: 10, Limited: true}, Spread: Spread{Seconds: 2, CV: 0.9, FirstThird: 10, LastThird: 1},
	}
	if got := r.judge(0); len(got) != 0 {
		t.Errorf("judge of two seconds = %+v, want nothing: that may be chance", got)
	}
	r.Spread.Seconds = 6
	if got := r.judge(0); len(got) != 2 {
		t.Errorf("judge of six seconds = %+v, want the variation and the thirds", got)
	}
}

func TestLimitsThatAreKnownAreNamed(t *testing.T) {
	ebs := []Disk{{Name: "nvme1n1", Model: "Amazon Elastic Block Store"}}
	for _, r := range []struct {
		sentence string
		figure   rated
		cgroup   []string
		disks    []Disk
		says     string
	}{
		{"io.max of version 2", rated{"wbps", 19.5 * mib}, []string{"8:0 rbps=max wbps=20971520 riops=max wiops=max"}, nil, "20 MiB/s"},
		{"the throttle of version 1", rated{"wbps", 20.5 * mib}, []string{"8:0 wbps=20971520"}, nil, "20 MiB/s"},
		{"far from the limit", rated{"wbps", 15 * mib}, []string{"8:0 wbps=20971520"}, nil, ""},
		{"the limit of another disk", rated{"wbps", 20 * mib}, []string{"8:16 wbps=20971520"}, nil, ""},
		{"a limit of reads only", rated{"wbps", 20 * mib}, []string{"8:0 rbps=20971520 wbps=max"}, nil, ""},
		{"reads at theirs", rated{"rbps", 20 * mib}, []string{"8:0 rbps=20971520 wbps=max"}, nil, "20 MiB/s"},
		{"operations a second", rated{"wiops", 98}, []string{"8:0 wbps=max wiops=100"}, nil, "100 operations a second"},
		{"an empty line", rated{"wbps", 98}, []string{""}, nil, ""},
		{"a volume of AWS at its base rate", rated{"wbps", 126 * mib}, nil, ebs, "gp3"},
		{"a volume of AWS at some other rate", rated{"wbps", 160 * mib}, nil, ebs, ""},
		{"125 operations are not 125 MiB/s", rated{"wiops", 125 * mib}, nil, ebs, ""},
		{"125 MiB/s elsewhere mean nothing", rated{"wbps", 125 * mib}, nil, []Disk{{Model: "QEMU"}}, ""},
	} {
		got := nameLimit(r.figure, r.cgroup, []string{"8:1", "8:0"}, r.disks)
		if r.says == "" && got != "" || !strings.Contains(got, r.says) {
			t.Errorf("%s: nameLimit(%v, %q) = %q, want %q in it", r.sentence, r.figure, r.cgroup, got, r.says)
		}
	}
}

func TestLimitsOfOtherDisksAreLeftOut(t *testing.T) {
	places := []*place{{numbers: []string{"8:1", "8:0"}}, {numbers: []string{"9:0"}}}
	got := limitsOn(places, []string{"7:0 wbps=1048576", "8:0 wbps=2097152", "9:0 riops=100", "8:01 wbps=1", ""})
	must.Match(t, []string{"8:0 wbps=2097152", "9:0 riops=100"}, got, "limitsOn(…)")
}

func TestARateThatIsLessThanWasAskedFor(t *testing.T) {
	if got := behind("alone", 95, 100); got != nil {
		t.Errorf("behind(95 of 100) = %q, want nothing", got)
	}
	if got := behind("alone", 94, 100); len(got) != 1 || !strings.Contains(got[0], "94 of the target of 100 MiB/s") {
		t.Errorf("behind(94 of 100) = %q, want a note", got)
	}
}
