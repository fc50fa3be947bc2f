package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

// childDir names the directory that this binary probes when it is started as the
// child of a test.
const childDir = "KT_PROBE_TEST_CHILD"

func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	o := Options{Dirs: []string{dir}, Tests: []string{testAppend}, Size: leastSize, Duration: time.Hour, Mode: Soak, Force: true}
	_, err := Run(context.Background(), o, func(p Progress) { fmt.Println(p.Test, p.MiBPerSecond > 0) })
	fmt.Println(err)
}

func TestNothingIsLeftWhenItIsKilled(t *testing.T) {
	dir := roomy(t)
	killWhileItWrites(t, dir)
	empty(t, dir)
}

// killWhileItWrites has a process of its own probe a directory, and ends it as
// nothing can be ended in order.
func killWhileItWrites(t *testing.T, dir string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	out := must.Have(child.StdoutPipe())(t)
	must.Do(t, child.Start())
	lines := bufio.NewScanner(out)
	writing := false
	for !writing && lines.Scan() {
		writing = lines.Text() == "append true"
	}
	must.Do(t, child.Process.Kill())
	_ = child.Wait() // it was killed
	must.Hold(t, writing, "the child did not come to write: %q", lines.Text())
}

func TestFilesWithoutANameAndTheirSubstitute(t *testing.T) {
	for name, open := range map[string]func(string, bool) (*os.File, error){"nameless": nameless, "openUnlinked": openUnlinked} {
		dir := t.TempDir()
		f, err := open(dir, false)
		must.Hold(t, err == nil, "%s(%s) = %v", name, dir, err)
		_, err = f.WriteAt([]byte("kept"), 0)
		must.True(t, err == nil, "%s: write: %v", name, err)
		got := make([]byte, 4)
		_, err = f.ReadAt(got, 0)
		must.True(t, err == nil && string(got) == "kept", "%s: read %q, %v", name, got, err)
		empty(t, dir)
		f.Close()
		_, err = open(dir+"/none", false)
		must.True(t, errors.Is(err, os.ErrNotExist), "%s of a directory that is not there = %v", name, err)
	}
}

func TestAProbeFromBeginningToEnd(t *testing.T) {
	dir := roomy(t)
	var told []Progress
	o := Options{
		Dirs: []string{dir}, Tests: []string{testSync, testDD}, Size: leastSize, Duration: 10 * time.Second, Force: true,
		Blocks: []int64{64 * kib}, Direct: []bool{false},
	}
	report := must.Have(Run(context.Background(), o, func(p Progress) { told = append(told, p) }))(t)
	d := report.Directories[0]
	must.True(t, len(d.Results) == 1 && d.Results[0].Operations != 0 && d.Results[0].Grade != "",
		"Run: results %+v, want one, with operations and a grade", d.Results)
	must.True(t, len(d.DD) == 1 && d.DD[0].Count == leastSize/(64*kib) && d.DD[0].MBPerSecond > 0 && d.DD[0].PageCache,
		"Run: rows %+v, want one of 256 blocks from the page cache", d.DD)
	must.Match(t, "", d.Plan, "Run: plan")
	must.True(t, len(told) >= 2 && told[0].Step == 1 && told[len(told)-1].Step == 2 && told[0].Steps == 2,
		"Run told %+v, want both steps of two", told)
	empty(t, dir)

	text := must.Have(json.Marshal(report))(t)
	var again Report
	must.Do(t, json.Unmarshal(text, &again))
	must.Match(t, *report, again, "a report that was written and read again")
}

func TestItStopsWhenItsContextEnds(t *testing.T) {
	dir := roomy(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := Options{Dirs: []string{dir}, Tests: []string{testAppend, testSync}, Size: leastSize, Duration: time.Hour, Mode: Soak, Force: true}
	report, err := Run(ctx, o, func(p Progress) {
		if p.MiBPerSecond > 0 {
			cancel()
		}
	})
	must.True(t, errors.Is(err, context.Canceled), "Run = %v, want the end of the context", err)
	var tests []string
	for _, r := range report.Directories[0].Results {
		tests = append(tests, r.Test)
	}
	must.True(t, report.Interrupted && slices.Equal(tests, []string{testAppend}),
		"Run: interrupted %v with results of %q, want what append found", report.Interrupted, tests)
	empty(t, dir)
}

// A probe that lasts must not take more of a disk than it said, least of all beside
// a broker.
func TestPacedAppendsStayWithinTheirSize(t *testing.T) {
	const block, size = 4 * kib, 8*4*kib + 100 // not a multiple
	f := must.Have(nameless(t.TempDir(), false))(t)
	defer f.Close()
	r := &runner{tree: host.System(), o: Options{Mode: Standard}}
	p := &place{Directory: Directory{Path: roomy(t)}}
	out := must.Have(r.drive(context.Background(), p, trial{duration: tick, workers: []worker{paced(f, block, size, 1000)}}))(t)
	info := must.Have(f.Stat())(t)
	must.True(t, out.Operations > 8 && info.Size() == 8*block,
		"paced(…, %d, %d) wrote %d blocks to a file of %d bytes, want more than 8 in %d", block, size, out.Operations, info.Size(), 8*block)
	must.Match(t, out.Operations*block, out.Bytes, "bytes of %d operations of %d bytes", out.Operations, block)
}

// What waits for room is late, and counts from when it was due.
func TestMixedAppendsAreTimedWithTheirWaitForRoom(t *testing.T) {
	dir := roomy(t)
	synctest.Test(t, func(t *testing.T) {
		p := &place{Directory: Directory{Path: dir}}
		all, closeAll := must.Both(newAppended(p, leastSize))(t)
		defer closeAll()
		const slow = 20 * time.Millisecond
		for _, a := range all {
			a.limit, a.capacity = appendBlock, appendBlock // each is full after every append
			a.settle = func(*os.File) error { time.Sleep(slow); return nil }
		}
		r := &runner{tree: host.System(), o: Options{Mode: Standard}}
		var waited atomic.Int64
		out := must.Have(r.drive(t.Context(), p, trial{duration: 2 * tick, workers: appendWorkers(all, leastSize, 40, &waited)}))(t)
		// 5 appends of each worker are due in that time, and all but the first wait.
		if got := out.Latency; out.Operations < 16 || got.P50 < micros(slow) {
			t.Errorf("%d appends that waited %s: %+v, want a median of %s or more", out.Operations, time.Duration(waited.Load()), got, slow)
		}
	})
}

// roomy is a folder for probes; the test is skipped where they are refused for too
// little space.
func roomy(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	s := must.Have(readSpace(dir))(t)
	if s.Free-s.Total/10 < 4*leastSize {
		t.Skipf("%d of %d bytes are free in %s, and a tenth must stay free: set TMPDIR to a folder on another disk", s.Free, s.Total, dir)
	}
	return dir
}

func empty(t *testing.T, dir string) {
	t.Helper()
	entries := must.Have(os.ReadDir(dir))(t)
	for _, e := range entries {
		t.Errorf("%s is left in %s", e.Name(), dir)
	}
}

func TestRunRefusesWhatCheckRefuses(t *testing.T) {
	report, err := Run(context.Background(), Options{Dirs: []string{"/none/of/that"}}, nil)
	must.True(t, report == nil && err != nil && strings.Contains(err.Error(), "no such directory"), "Run = %+v, %v, want a refusal", report, err)
}

func TestAnOperationThatWasHeldUpBeganWhenItWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := newPacer(100) // every 10 ms
		for i, r := range []struct {
			took  time.Duration // the operation before
			begin time.Duration
		}{
			{0, 0},
			{4 * time.Millisecond, 10 * time.Millisecond},
			{35 * time.Millisecond, 20 * time.Millisecond}, // a stall: from 10 to 45 ms
			{0, 30 * time.Millisecond},
			{0, 40 * time.Millisecond},
			{0, 50 * time.Millisecond}, // it has caught up
		} {
			time.Sleep(r.took)
			begin, err := p.wait(context.Background())
			got := begin.Sub(start)
			must.True(t, got == r.begin && err == nil, "operation %d: wait() = %s, %v, want %s", i, got, err, r.begin)
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		p := newPacer(0.1)
		_, _ = p.wait(ctx)
		_, err := p.wait(ctx)
		must.True(t, errors.Is(err, context.DeadlineExceeded), "wait(ctx) = %v, want the end of the context", err)
	})
}

// at makes seconds of what the calls and the device wrote; a device that does not count is left out.
func at(pairs ...[]float64) []Second {
	out := make([]Second, len(pairs))
	for i, p := range pairs {
		if out[i] = (Second{At: float64(i + 1), Rate: p[0]}); len(p) > 1 {
			out[i].Device = &p[1]
		}
	}
	return out
}

func TestSteady(t *testing.T) {
	for _, r := range must.Rows[[]struct {
		Sentence string
		Seconds  [][]float64
		N        int
		Want     bool
	}](t, "steady") {
		must.Match(t, r.Want, steady(at(r.Seconds...), r.N), "%s: steady(…, %d)", r.Sentence, r.N)
	}
}

func TestSustained(t *testing.T) {
	for _, r := range must.Rows[[]struct {
		Sentence           string
		Seconds            [][]float64
		N                  int
		From, Rate, Others float64 // from: when it is throttled
	}](t, "steady") {
		seconds := at(r.Seconds...)
		must.Match(t, int(r.From), throttled(seconds), "%s: throttled(…)", r.Sentence)
		rate, others := sustained(seconds, r.N)
		must.True(t, math.Abs(rate-r.Rate) <= 0.5 && math.Abs(others-r.Others) <= 0.01,
			"%s: sustained(…, %d) = %.1f, %.2f, want %.1f, %.2f", r.Sentence, r.N, rate, others, r.Rate, r.Others)
	}
}

func TestAppendFindsBurstAndTheMomentItEnds(t *testing.T) {
	rate := 1.0
	o := outcome{Result: Result{DeviceMiBPerSecond: &rate, Series: at([]float64{900, 60}, []float64{700, 100}, []float64{100, 100}, []float64{98, 100}, []float64{102, 100})}}
	got := *foundByAppend(o, trial{steady: 3})
	want := Append{BurstMiBPerSecond: 800, SustainedMiBPerSecond: 100, ThrottledAfterSeconds: 2, Limited: true, Steady: true, From: "device"}
	must.Match(t, want, got, "foundByAppend(…)")
}

// Where the kernel does not count, calls that return say nothing of the device
// until the size is full.
func TestWithoutACounterTheFirstRoundIsMemory(t *testing.T) {
	const size = 1000 * mib
	for _, r := range must.Rows[[]struct {
		Sentence string
		Rates    []int64 // of the calls, MiB in each second
		Want     Append
	}](t, "steady") {
		o := outcome{readings: []reading{{device: -1}}}
		for i, rate := range r.Rates {
			last := o.readings[i]
			o.readings = append(o.readings, reading{last.at + time.Second, last.bytes + rate*mib, -1})
		}
		o.Series = series(o.readings)
		r.Want.From = "writes"
		must.Match(t, r.Want, *foundByAppend(o, trial{steady: 3, fill: size}), "%s: foundByAppend(…)", r.Sentence)
	}
}

func TestSeries(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	readings := []reading{
		{ms(0), 0, 0},
		{ms(250), 10 * mib, mib},
		{ms(990), 90 * mib, 15 * mib}, // the clock of a tick may be a little early
		{ms(1250), 100 * mib, 18 * mib},
		{ms(1990), 190 * mib, 35 * mib},
		{ms(2590), 250 * mib, 47 * mib},
	}
	got := series(readings)
	want := at([]float64{90 / 0.99, 15 / 0.99}, []float64{100, 20}, []float64{100, 20})
	must.Hold(t, len(got) == len(want), "series(…) = %d seconds, want %d", len(got), len(want))
	for i := range got {
		must.True(t, math.Abs(got[i].Rate-want[i].Rate) <= 0.01 && math.Abs(*got[i].Device-*want[i].Device) <= 0.01,
			"second %d: %.2f, device %.2f, want %.2f and %.2f", i, got[i].Rate, *got[i].Device, want[i].Rate, *want[i].Device)
	}
	must.Match(t, 2, len(seconds(readings, longest)), "seconds: the last is a rest")
	must.Match(t, 1, len(series(readings[:5][:4])), "seconds: a rest of 260 ms says too little")
	got = series([]reading{{0, 0, -1}, {ms(1000), mib, -1}})
	must.Match(t, (*float64)(nil), got[0].Device, "series(…): a device rate, want none: it is not known")
}

func TestSpread(t *testing.T) {
	for _, r := range []struct {
		sentence string
		rates    []float64
		want     Spread
	}{
		{"nothing", nil, Spread{}},
		{"one second has no variation", []float64{5}, Spread{1, 0, 5, 5}},
		{"even", []float64{5, 5, 5}, Spread{3, 0, 5, 5}},
		{"it falls off in the end", []float64{10, 10, 10, 10, 5, 5}, Spread{6, 0.3098, 10, 5}},
		{"standing still divides by nothing", []float64{0, 0}, Spread{2, 0, 0, 0}},
	} {
		got := spread(r.rates)
		got.CV = math.Round(got.CV*1e4) / 1e4
		must.Match(t, r.want, got, "%s: spread(%v)", r.sentence, r.rates)
	}
}
