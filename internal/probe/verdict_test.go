package probe

import (
	"strings"
	"testing"
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
		{writeScale, 125, OK, "no less than an EBS gp3"},
		{writeScale, 110, OK, "less than the 125"},
		{writeScale, 99, Poor, "rate of 99 MiB/s"},
		{thirdsScale, 96, Good, ""},
		{thirdsScale, 81, OK, ""},
		{thirdsScale, 79, Poor, "credits"},
		{evenScale, 2.15, Good, "variation of 2.15 %"},
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
		{Test: testAppend, Operations: 1, Append: &Append{SustainedMiBPerSecond: 100, Limited: true}},
		{Test: testSync, Operations: 1, Latency: Latency{P99: 1500}},
		{Test: testRead, Operations: 1, MiBPerSecond: 10},
	}}
	d.judge()
	want := []Grade{OK, Poor, Good, ""} // 50 % of direct; reads have no threshold
	for i, r := range d.Results {
		if r.Grade != want[i] {
			t.Errorf("%s: grade %q, want %q: %+v", r.Test, r.Grade, want[i], r.Findings)
		}
	}
	if d.Grade != Poor || d.Plan != "plan with 100 MiB/s" {
		t.Errorf("judge: %q, %q, want poor and a plan with 100 MiB/s", d.Grade, d.Plan)
	}
}

func TestAFastDiskIsNotPoorForItsPageCache(t *testing.T) {
	if got := judgeShare(1400, 2500); got.Grade != OK || !strings.Contains(got.Sentence, "1400 MiB/s") {
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

func TestLimitsThatAreKnownAreNamed(t *testing.T) {
	ebs := []Disk{{Name: "nvme1n1", Model: "Amazon Elastic Block Store"}}
	for _, r := range []struct {
		sentence string
		rate     float64
		cgroup   []string
		disks    []Disk
		says     string
	}{
		{"io.max of version 2", 19.5, []string{"8:0 rbps=max wbps=20971520 riops=max wiops=max"}, nil, "20 MiB/s"},
		{"the throttle of version 1", 20.5, []string{"8:0 20971520"}, nil, "20 MiB/s"},
		{"far from the limit", 15, []string{"8:0 20971520"}, nil, ""},
		{"the limit of another disk", 20, []string{"8:16 20971520"}, nil, ""},
		{"a limit of reads only", 20, []string{"8:0 rbps=20971520 wbps=max"}, nil, ""},
		{"a volume of AWS at its base rate", 126, nil, ebs, "gp3"},
		{"a volume of AWS at some other rate", 160, nil, ebs, ""},
		{"125 MiB/s elsewhere mean nothing", 125, nil, []Disk{{Model: "QEMU"}}, ""},
	} {
		got := nameLimit(r.rate, r.cgroup, []string{"8:1", "8:0"}, r.disks)
		if r.says == "" && got != "" || !strings.Contains(got, r.says) {
			t.Errorf("%s: nameLimit(%v, %q) = %q, want %q in it", r.sentence, r.rate, r.cgroup, got, r.says)
		}
	}
}
