package probe

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

func aReport(path string, results ...Result) *Report {
	return &Report{Schema: Schema, Mode: Quick, Machine: Machine{Hostname: "a"}, Directories: []Directory{{Path: path, Results: results}}}
}

func TestCompare(t *testing.T) {
	before := aReport("/d",
		Result{Test: testWrite, MiBPerSecond: 100, Latency: Latency{P50: 100, P99: 1000, P999: 5000}},
		Result{Test: testSync, Latency: Latency{P50: 100, P99: 1000, P999: 5000}})
	before.Machine.Writeback = map[string]string{"vm.dirty_ratio": "20", "vm.dirty_bytes": "0"}
	before.Directories[0].Disks = []Disk{{Name: "sda", Scheduler: "bfq"}}
	after := aReport("/d",
		Result{Test: testWrite, MiBPerSecond: 140, Latency: Latency{P50: 110, P99: 700, P999: 9000}},
		Result{Test: testRead, MiBPerSecond: 10})
	after.Machine.Writeback = map[string]string{"vm.dirty_ratio": "60", "vm.dirty_bytes": "0"}
	after.Directories[0].Disks = []Disk{{Name: "sda", Scheduler: "none"}}

	got := must.Have(Compare(before, after))(t)
	var changes []string
	for _, c := range got.Changes {
		changes = append(changes, c.Test+" "+c.Metric+" "+string(c.Effect))
	}
	must.Match(t, []string{"write rate better", "write p50 unchanged", "write p99 better", "write p99.9 worse"}, changes, "Compare: changes")
	must.Match(t, []Difference{{"vm.dirty_ratio", "20", "60"}, {"/d sda scheduler", "bfq", "none"}}, got.Settings, "Compare: settings")
	must.Match(t, []string{"/d read: only after", "/d sync: only before"}, got.Missing, "Compare: missing")
}

func TestAnUnevenRateMustChangeMore(t *testing.T) {
	before := aReport("/d", Result{Test: testWrite, MiBPerSecond: 100, Spread: Spread{CV: 0.2}})
	after := aReport("/d", Result{Test: testWrite, MiBPerSecond: 130})
	got, err := Compare(before, after)
	must.True(t, err == nil && got.Changes[0].Effect == Unchanged,
		"Compare = %+v, %v, want a change of 30 %% unchanged where seconds vary by 20 %%", got.Changes, err)
}

func TestEarlierReports(t *testing.T) {
	for _, r := range must.Rows[[]struct {
		Sentence, Text, Says string
	}](t, "compare") {
		if got, err := Earlier([]byte(r.Text)); got != nil || err == nil || !strings.Contains(err.Error(), r.Says) {
			t.Errorf("%s: Earlier(%q) = %v, %v, want an error with %q", r.Sentence, r.Text, got, err, r.Says)
		}
	}
	text := must.Have(json.Marshal(aReport("/d", Result{Test: testWrite, MiBPerSecond: 1})))(t)
	got, err := Earlier(text)
	must.True(t, err == nil && len(got.Directories) == 1 && got.Directories[0].Results[0].MiBPerSecond == 1,
		"Earlier(%s) = %+v, %v, want the report", text, got, err)
}

func TestComparableBeforeAnythingIsMeasured(t *testing.T) {
	two := aReport("/a")
	two.Directories = append(two.Directories, Directory{Path: "/b"})
	err := Comparable(two, []string{"/b", "/c"})
	must.True(t, err == nil, "Comparable of one directory in common = %v", err)
	must.Err(t, "no directory in common", Comparable(two, []string{"/c"}), "Comparable of none in common")
	err = Comparable(aReport("/a"), []string{"/c"})
	must.True(t, err == nil, "Comparable of one and one = %v, want them paired", err)
}

func TestWhatIsNotFitToBeCompared(t *testing.T) {
	two := aReport("/a")
	two.Directories = append(two.Directories, Directory{Path: "/b"})
	must.Err(t, "no directory in common", must.Fail(Compare(two, aReport("/c"))), "Compare of other directories")
	other := aReport("/e")
	other.Mode, other.Machine.Hostname = Soak, "b"
	got, err := Compare(aReport("/d"), other)
	must.True(t, err == nil && len(got.Notes) == 3, "Compare = %q, %v, want notes on the mode, the host and the directory", got.Notes, err)
}

func TestNoTwoPagesAreEqual(t *testing.T) {
	for _, block := range []int{4 * kib, 64 * kib, mib} {
		p := newPool(block, 16*mib)
		seen := make(map[string]bool)
		for range 3 * len(p.data) / block { // several times round
			b := p.next(block)
			must.Hold(t, uintptr(unsafe.Pointer(unsafe.SliceData(b)))%page == 0, "next(%d) starts in the middle of a page", block)
			for ; len(b) > 0; b = b[page:] {
				must.Hold(t, !seen[string(b[:page])], "next(%d) gave a page twice", block)
				seen[string(b[:page])] = true
			}
		}
	}
}

func TestBlocksOfAnySize(t *testing.T) {
	for _, size := range []int{1, 7, 8, 2300, page, page + 1, 3*page + 9, 2 * mib} {
		p := newPool(min(size, 64*kib), leastSize)
		a, b := make([]byte, size), make([]byte, size)
		p.copyTo(a)
		p.copyTo(b)
		must.True(t, size < 8 || !bytes.Equal(a, b), "copyTo of %d bytes gave the same twice", size)
		must.Match(t, min(size, 64*kib), len(p.next(min(size, 64*kib))), "bytes of next(%d)", size)
	}
}

func TestDataCannotBeCompressed(t *testing.T) {
	var packed bytes.Buffer
	w := must.Have(flate.NewWriter(&packed, flate.BestSpeed))(t)
	data := newPool(mib, 16*mib).next(mib)
	must.Have(w.Write(data))(t)
	w.Close()
	must.True(t, packed.Len() >= len(data), "%d bytes of data were packed into %d", len(data), packed.Len())
}

func TestMeter(t *testing.T) {
	m := newMeter(time.Time{})
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for range 33 {
				m.record(20*time.Microsecond, 10)
			}
		})
	}
	workers.Wait()
	m.record(600*time.Millisecond, 10)
	l := m.latency()
	must.True(t, l.Count == 100 && (l.P50 == 20.015 || l.P50 == 20) && l.Max == 600_000 && l.P999 == 600_000,
		"latency() = %+v, want 100 values, a median of 20 us and a maximum of 600,000 us", l)
	want := (Stalls{1, 1, 1})
	must.True(t, m.stalls == want && m.bytes == 1000, "%+v and %d bytes, want %+v and 1000", m.stalls, m.bytes, want)
	must.Match(t, (Latency{}), newMeter(time.Time{}).latency(), "latency() of nothing")
}

func TestTextOfTheKernel(t *testing.T) {
	const stat = "  65        0     2242        1      634      147   808352      511        0      256      683\n"
	for _, r := range []struct {
		text string
		read bool
		want int64
	}{{stat, false, 808352 * 512}, {stat, true, 2242 * 512}, {"", false, -1}, {"1 2 3", false, -1}, {"a b c d e f g", false, -1}} {
		must.Match(t, r.want, sectors(r.text, r.read), "sectors(%q, %v)", r.text, r.read)
	}
	const pressure = "some avg10=34.34 avg60=7.22 avg300=1.72 total=210\nfull avg10=25.50 avg60=5.43 avg300=1.32 total=81\n"
	must.Match(t, 25.5, must.Have(host.ParsePressure(pressure, "full", "avg10"))(t), "ParsePressure(%q)", pressure)
	_, err := host.ParsePressure("some avg10=1.00 avg60=1", "full", "avg10")
	must.True(t, err != nil, "ParsePressure of a text without it says that it is known")
}

func TestTheCommandThatARowStandsFor(t *testing.T) {
	for _, r := range []struct {
		dir  string
		row  Row
		want string
	}{
		{"/data/kafka1", Row{Block: 8192, Count: 300000, Direct: true}, "dd if=/dev/zero of=/data/kafka1/f bs=8k count=300000 oflag=direct"},
		{"/data/kafka1", Row{Block: 81920000, Count: 30}, "dd if=/dev/zero of=/data/kafka1/f bs=80000k count=30"},
		{"/data/kafka1", Row{Block: mib, Count: 65536, Direct: true}, "dd if=/dev/zero of=/data/kafka1/f bs=1M count=65536 oflag=direct"},
		{"/data/it's 1", Row{Block: 2300, Count: 1}, `dd if=/dev/zero of='/data/it'\''s 1/f' bs=2300 count=1`},
	} {
		must.Match(t, r.want, ddCommand(r.dir, r.row), "ddCommand(%q, %+v)", r.dir, r.row)
	}
}

func TestThresholds(t *testing.T) {
	for _, r := range must.Rows[[]struct {
		Scale string
		Value float64
		Grade Grade
		Says  string
	}](t, "compare") {
		got := judge(r.Scale, r.Value)
		must.True(t, got.Grade == r.Grade && strings.Contains(got.Sentence, r.Says) && got.Source != "",
			"%s %v: judged %s, %q by %q, want %s, with %q, by a source", r.Scale, r.Value, got.Grade, got.Sentence, got.Source, r.Grade, r.Says)
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
	must.True(t, d.Grade == Poor && d.Plan == "plan with 100 MiB/s", "judge: %q, %q, want poor and a plan with 100 MiB/s", d.Grade, d.Plan)
}

func TestAFastDiskIsNotPoorForItsPageCache(t *testing.T) {
	if got := judgeShare(1400, 2500); got.Grade != OK || !strings.Contains(got.Sentence, "1,400 MiB/s") {
		t.Errorf("judgeShare(1400, 2500) = %s, %q, want ok, with the rate", got.Grade, got.Sentence)
	}
	got := judgeShare(140, 250)
	must.True(t, got.Grade == Poor, "judgeShare(140, 250) = %s, want poor", got.Grade)
}

func TestNothingIsJudgedThatTheDeviceDidNotLimit(t *testing.T) {
	r := Result{Test: testAppend, Operations: 1, Append: &Append{SustainedMiBPerSecond: 10}}
	for _, f := range r.judge(1000) {
		must.True(t, f.Metric != scales()["share"].Metric, "judge: %+v, want no share: the device was not the limit", f)
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
		must.True(t, d.Plan == r.plan && d.PlanMiBPerSecond == r.rate,
			"%s: judge: %q and %v, want %q and %v", r.sentence, d.Plan, d.PlanMiBPerSecond, r.plan, r.rate)
	}
}

func TestLatenciesThatAreNotTheDisksHaveNoGrade(t *testing.T) {
	for _, test := range []string{testAppend, testSync, testCommit, testMixed} {
		r := Result{Test: test, Operations: 1, Latency: Latency{P99: 1, P999: 1}}
		got := r.judge(0)
		must.True(t, len(got) == 1 && got[0].Grade == Good, "%s: judge = %+v, want a good latency", test, got)
		r.LatencyUngraded = true
		got = r.judge(0)
		must.True(t, len(got) == 0, "%s: judge = %+v, want nothing of a latency that is not to be graded", test, got)
	}
}

func TestUnevennessIsJudgedByTheSecondsThatItIsOf(t *testing.T) {
	r := Result{
		Test: testAppend, Operations: 1, LatencyUngraded: true, Series: make([]Second, 60),
		Append: &Append{SustainedMiBPerSecond: 10, Limited: true}, Spread: Spread{Seconds: 2, CV: 0.9, FirstThird: 10, LastThird: 1},
	}
	got := r.judge(0)
	must.True(t, len(got) == 0, "judge of two seconds = %+v, want nothing: that may be chance", got)
	r.Spread.Seconds = 6
	got = r.judge(0)
	must.True(t, len(got) == 2, "judge of six seconds = %+v, want the variation and the thirds", got)
}

func TestLimitsThatAreKnownAreNamed(t *testing.T) {
	for _, r := range must.Rows[[]struct {
		Sentence, Limit string
		Value           float64
		Cgroup          []string
		Model           string // of the disk
		Says            string
	}](t, "compare") {
		got := nameLimit(rated{r.Limit, r.Value}, r.Cgroup, []string{"8:1", "8:0"}, []Disk{{Model: r.Model}})
		must.True(t, (r.Says != "" || got == "") && strings.Contains(got, r.Says),
			"%s: nameLimit(%s of %v, %q) = %q, want %q in it", r.Sentence, r.Limit, r.Value, r.Cgroup, got, r.Says)
	}
}

func TestLimitsOfOtherDisksAreLeftOut(t *testing.T) {
	places := []*place{{numbers: []string{"8:1", "8:0"}}, {numbers: []string{"9:0"}}}
	got := limitsOn(places, []string{"7:0 wbps=1048576", "8:0 wbps=2097152", "9:0 riops=100", "8:01 wbps=1", ""})
	must.Match(t, []string{"8:0 wbps=2097152", "9:0 riops=100"}, got, "limitsOn(…)")
}

func TestARateThatIsLessThanWasAskedFor(t *testing.T) {
	got := behind("alone", 95, 100)
	must.True(t, got == nil, "behind(95 of 100) = %q, want nothing", got)
	got = behind("alone", 94, 100)
	must.True(t, len(got) == 1 && strings.Contains(got[0], "94 of the target of 100 MiB/s"), "behind(94 of 100) = %q, want a note", got)
}
