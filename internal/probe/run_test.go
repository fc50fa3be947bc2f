package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	if !writing {
		t.Fatalf("the child did not come to write: %q", lines.Text())
	}
}

func TestFilesWithoutANameAndTheirSubstitute(t *testing.T) {
	for name, open := range map[string]func(string, bool) (*os.File, error){"nameless": nameless, "openUnlinked": openUnlinked} {
		dir := t.TempDir()
		f, err := open(dir, false)
		if err != nil {
			t.Fatalf("%s(%s) = %v", name, dir, err)
		}
		if _, err := f.WriteAt([]byte("kept"), 0); err != nil {
			t.Errorf("%s: write: %v", name, err)
		}
		got := make([]byte, 4)
		if _, err := f.ReadAt(got, 0); err != nil || string(got) != "kept" {
			t.Errorf("%s: read %q, %v", name, got, err)
		}
		empty(t, dir)
		f.Close()
		if _, err := open(dir+"/none", false); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s of a directory that is not there = %v", name, err)
		}
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
	if len(d.Results) != 1 || d.Results[0].Operations == 0 || d.Results[0].Grade == "" {
		t.Errorf("Run: results %+v, want one, with operations and a grade", d.Results)
	}
	if len(d.DD) != 1 || d.DD[0].Count != leastSize/(64*kib) || d.DD[0].MBPerSecond <= 0 || !d.DD[0].PageCache {
		t.Errorf("Run: rows %+v, want one of 256 blocks from the page cache", d.DD)
	}
	must.Match(t, "", d.Plan, "Run: plan")
	if len(told) < 2 || told[0].Step != 1 || told[len(told)-1].Step != 2 || told[0].Steps != 2 {
		t.Errorf("Run told %+v, want both steps of two", told)
	}
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
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want the end of the context", err)
	}
	var tests []string
	for _, r := range report.Directories[0].Results {
		tests = append(tests, r.Test)
	}
	if !report.Interrupted || !slices.Equal(tests, []string{testAppend}) {
		t.Errorf("Run: interrupted %v with results of %q, want what append found", report.Interrupted, tests)
	}
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
	if out.count <= 8 || info.Size() != 8*block {
		t.Errorf("paced(…, %d, %d) wrote %d blocks to a file of %d bytes, want more than 8 in %d", block, size, out.count, info.Size(), 8*block)
	}
	must.Match(t, out.count*block, out.bytes, "bytes of %d operations of %d bytes", out.count, block)
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
		if got := out.latency(); out.count < 16 || got.P50 < micros(slow) {
			t.Errorf("%d appends that waited %s: %+v, want a median of %s or more", out.count, time.Duration(waited.Load()), got, slow)
		}
	})
}

// roomy is a folder for probes; the test is skipped where they are refused for too
// little space.
func roomy(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	s := must.Have(readSpace(dir))(t)
	if s.free-s.total/10 < 4*leastSize {
		t.Skipf("%d of %d bytes are free in %s, and a tenth must stay free: set TMPDIR to a folder on another disk", s.free, s.total, dir)
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
	if report != nil || err == nil || !strings.Contains(err.Error(), "no such directory") {
		t.Errorf("Run = %+v, %v, want a refusal", report, err)
	}
}
