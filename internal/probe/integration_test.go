//go:build integration && linux

package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

// BenchmarkRowsBesideDD compares the rate of kt's rows with the rate of dd. Both
// write the same blocks to the same folder in turn, dd, kt, kt, dd, so that other
// work on the disk slows both. It reports the median of the pairs' ratios
// (kt/dd), and how far dd differs from itself (dd-noise).
func BenchmarkRowsBesideDD(b *testing.B) {
	dir := diskDir(b)
	for _, block := range []int64{mib, 8 * kib, 80_000 * kib} {
		b.Run(ddSize(block), func(b *testing.B) { besideDD(b, dir, block, countFor(b, dir, block)) })
	}
	nothingIn(b, dir)
}

// BenchmarkRowsBesideDDOnASlowDevice does the same on a device with a limit, which
// holds both back even on a busy machine.
func BenchmarkRowsBesideDDOnASlowDevice(b *testing.B) {
	dir, device := loopDisk(b, 256*mib)
	throttle(b, device, 40*mib)
	for _, row := range []struct{ block, count int64 }{{mib, 20}, {8 * kib, 1500}} {
		b.Run(ddSize(row.block), func(b *testing.B) { besideDD(b, dir, row.block, row.count) })
	}
}

// countFor returns the number of blocks that dd writes in some 0.3 s on this disk,
// at most 1 GiB in all.
func countFor(b *testing.B, dir string, block int64) int64 {
	b.Helper()
	const seconds = 0.3
	count := max(8*mib/block, 2)
	perSecond := ddRow(b, dir, block, count) * 1e6 / float64(block)
	return min(max(int64(seconds*perSecond), 2), gib/block)
}

func besideDD(b *testing.B, dir string, block, count int64) {
	b.Helper()
	kt := func() float64 { return ktRow(b, dir, block, count) }
	dd := func() float64 { return ddRow(b, dir, block, count) }
	dd()
	kt()
	var ratios, noises []float64
	for b.Loop() {
		d1, k1, k2, d2 := dd(), kt(), kt(), dd()
		ratios = append(ratios, (k1+k2)/(d1+d2))
		noises = append(noises, math.Abs(d1/d2-1))
	}
	b.ReportMetric(median(ratios), "kt/dd")
	b.ReportMetric(median(noises), "dd-noise")
}

// ext4 that writes data to its journal takes the flag of direct writes, and does
// not go round the page cache. Kernels before 6.1 do not tell.
func TestAJournalOfDataHasNoDirectWrites(t *testing.T) {
	t.Parallel()
	dir, _ := loopDisk(t, 256*mib, "-o", "data=journal")
	if f, err := nameless(dir, true); err == nil {
		f.Close()
		t.Skip("this kernel does not tell that a file system has no direct I/O")
	} else if !errors.Is(err, errNoDirect) {
		t.Fatal(err)
	}
	o := Options{Dirs: []string{dir}, Tests: []string{testDD}, Size: 16 * mib, Blocks: []int64{mib}, Duration: time.Second}
	_, err := Check(o)
	must.True(t, err != nil && strings.Contains(err.Error(), "no direct I/O"), "Check(%+v) = %v, want a refusal of direct rows", o, err)
	o.Tests = []string{testWrite, testRead}
	report := must.Have(Run(context.Background(), o, nil))(t)
	for _, r := range report.Directories[0].Results {
		must.True(t, !strings.HasPrefix(r.What, "direct") && len(r.Notes) != 0 && r.Operations != 0,
			"%s: %q, notes %q, %d operations, want it measured, and no word of direct", r.Test, r.What, r.Notes, r.Operations)
	}
	nothingIn(t, dir)
}

// The rates are held against the limit from above only: a busy machine may write less,
// and more would be writes to the page cache that never reached the device.
func TestFindsTheLimitOfADevice(t *testing.T) {
	t.Parallel()
	dir, device := loopDisk(t, 640*mib)
	const limit = 20 // a busy machine reaches it too
	throttle(t, device, limit*mib)
	o := Options{Dirs: []string{dir}, Tests: []string{testWrite, testAppend}, Size: 160 * mib, Duration: 7 * time.Second}
	report := must.Have(Run(context.Background(), o, nil))(t)
	for _, r := range report.Directories[0].Results {
		got := r.MiBPerSecond
		if r.Append != nil {
			got = r.Append.SustainedMiBPerSecond
		}
		t.Logf("%s: %.2f MiB/s in %.1f s, p99 %.1f ms, %+v, notes %q", r.Test, got, r.Seconds, r.Latency.P99/1000, r.Append, r.Notes)
		must.True(t, got > 0 && got <= 1.10*limit, "%s: %.2f MiB/s, want above 0 and at most the device's limit of %d and 10 %%", r.Test, got, limit)
		if !slices.ContainsFunc(r.Notes, func(s string) bool { return strings.Contains(s, "limit of kt's control group") }) {
			t.Errorf("%s: notes %q do not name the limit of the cgroup; cgroup io is %q", r.Test, r.Notes, report.Machine.CgroupIO)
		}
	}
	nothingIn(t, dir)
}

// A small ext4 that fills up while kt writes, in every way in which kt writes.
func TestFullDiskOnExt4GivesEverythingBack(t *testing.T) {
	t.Parallel()
	dir, _ := loopDisk(t, 128*mib)
	before := must.Have(readSpace(dir))(t)
	for _, test := range []string{testWrite, testAppend, testRead, testDD} {
		o := Options{Dirs: []string{dir}, Tests: []string{test}, Size: 32 * mib, Blocks: []int64{mib}, Direct: []bool{true, false}}
		plan, err := Check(o)
		must.Hold(t, err == nil, "%v", err)
		plan.Directories[0].SizeBytes = 256 * mib
		if _, err = run(context.Background(), o, plan, host.System(), nil); err == nil {
			t.Errorf("%s: run = nil, want an error: the disk is smaller than the size", test)
		} else if !errors.Is(err, syscall.ENOSPC) && !strings.Contains(err.Error(), "fills the disk") {
			t.Errorf("%s: run = %v, want that the disk is full", test, err)
		}
	}
	backToFree(t, dir, before.Free)
	nothingIn(t, dir)
}

func TestKillGivesTheSpaceBackOnExt4(t *testing.T) {
	t.Parallel()
	dir, _ := loopDisk(t, 256*mib)
	before := must.Have(readSpace(dir))(t)
	killWhileItWrites(t, dir)
	backToFree(t, dir, before.Free)
	nothingIn(t, dir)
}

// A run that ignored the end of its context would end without an error.
func TestItStopsOnASlowDevice(t *testing.T) {
	t.Parallel()
	dir, device := loopDisk(t, 640*mib)
	throttle(t, device, 40*mib)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var cancelled time.Time
	o := Options{Dirs: []string{dir}, Tests: []string{testAppend}, Size: 256 * mib}
	_, err := Run(ctx, o, func(p Progress) {
		if p.Elapsed > 3*time.Second && cancelled.IsZero() {
			cancelled = time.Now()
			cancel()
		}
	})
	t.Logf("stopped after %s", time.Since(cancelled))
	must.True(t, errors.Is(err, context.Canceled), "Run = %v, want the end of the context", err)
}

// backToFree waits for what the file system frees after the last close.
func backToFree(t *testing.T, dir string, want int64) {
	t.Helper()
	var s host.Space
	for range 100 {
		syscall.Sync()
		s = must.Have(readSpace(dir))(t)
		if s.Free >= want-mib { // the directory and the journal may have grown
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%s has %d bytes free, and had %d before", dir, s.Free, want)
}

func TestEveryTestRunsOnARealDisk(t *testing.T) {
	t.Parallel()
	dir := diskDir(t)
	other := filepath.Join(dir, "other")
	must.Do(t, os.Mkdir(other, 0o700))
	o := Options{Dirs: []string{dir, other}, Mode: Standard, Size: 128 * mib, Duration: time.Second, Tests: Tests()}
	report := must.Have(Run(context.Background(), o, nil))(t)
	for _, d := range report.Directories {
		var tests []string
		for _, r := range d.Results {
			tests = append(tests, r.Test)
			must.True(t, r.Latency.P50 > 0 && r.MiBPerSecond > 0,
				"%s %s: %.1f MiB/s, p50 %.1f us, want both above 0", d.Path, r.Test, r.MiBPerSecond, r.Latency.P50)
			t.Logf("%-16s %8.0f MiB/s p50 %8.1f p99.9 %9.1f max %9.1f us %s", r.Test, r.MiBPerSecond, r.Latency.P50, r.Latency.P999, r.Latency.Max, r.Grade)
		}
		want := []string{testWrite, testAppend, testSync, partSyncEtcd, testCommit, testRead, partReadInterleaved, testMixed}
		must.Match(t, want, tests, "Run: tests")
		for _, row := range d.DD {
			t.Logf("%s: %.0f MB/s, %.0f %% CPU", row.Command, row.MBPerSecond, row.CPUPercent)
		}
		must.Match(t, 4, len(d.DD), "Run: rows of dd")
	}
	known := len(report.Directories[0].Disks) > 0
	if p := report.Parallel; p == nil || p.Sum <= 0 || known && len(p.Shared) == 0 {
		t.Errorf("Run: parallel %+v, want a sum and the disk that both directories are on", p)
	}
}

// diskDir is a folder on something that is no memory.
func diskDir(t testing.TB) string {
	t.Helper()
	dir := roomy(t)
	if kind, _ := doubtful(must.Have(readSpace(dir))(t).Magic); kind != "" {
		t.Skipf("%s is on %q: set TMPDIR to a folder on a disk", dir, kind)
	}
	return dir
}

func ktRow(t testing.TB, dir string, block, count int64) float64 {
	t.Helper()
	o, timing := must.Both(Options{Dirs: []string{dir}, Tests: []string{testDD}}.resolved())(t)
	timing.row = longest
	r := &runner{o: o, t: timing, tree: host.System()}
	p := must.Have(readPlace(r.tree, dir))(t)
	p.SizeBytes = block * count
	row, err := r.dd(context.Background(), p, block, true)
	must.Hold(t, err == nil && row.Count == count, "dd(%d) wrote %d blocks, %v, want %d", block, row.Count, err, count)
	return row.MBPerSecond
}

var ddSays = regexp.MustCompile(`(?m)^(\d+) bytes.* copied, ([0-9.e-]+) s`)

func ddRow(t testing.TB, dir string, block, count int64) float64 {
	t.Helper()
	command := ddCommand(dir, Row{Block: block, Count: count, Direct: true})
	c := exec.Command("sh", "-c", command)
	c.Env = append(os.Environ(), "LC_ALL=C")
	out, err := c.CombinedOutput()
	must.Hold(t, err == nil, "%s: %v\n%s", command, err, out)
	defer func() { _ = os.Remove(filepath.Join(dir, "f")) }()
	found := ddSays.FindSubmatch(out)
	must.Hold(t, found != nil, "%s said %q", command, out)
	n, _ := strconv.ParseFloat(string(found[1]), 64)
	s, _ := strconv.ParseFloat(string(found[2]), 64)
	return n / 1e6 / s
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}

func nothingIn(t testing.TB, dir string) {
	t.Helper()
	entries := must.Have(os.ReadDir(dir))(t)
	for _, e := range entries {
		must.Match(t, "lost+found", e.Name(), "an entry that is left in %s", dir)
	}
}

// loopDisk is an ext4 file system of its own, mounted with options, and the number
// of its device.
func loopDisk(t testing.TB, size int64, options ...string) (dir, device string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a loop device")
	}
	base := diskDir(t)
	image := filepath.Join(base, "image")
	must.Do(t, os.WriteFile(image, nil, 0o600))
	must.Do(t, os.Truncate(image, size))
	loop, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skipf("no loop device: %v", err)
	}
	node := strings.TrimSpace(string(loop))
	t.Cleanup(func() { command(t, "losetup", "--detach", node) })
	command(t, "mkfs.ext4", "-q", node)
	dir = filepath.Join(base, "mnt")
	must.Do(t, os.Mkdir(dir, 0o700))
	command(t, "mount", append(options, node, dir)...)
	t.Cleanup(func() { command(t, "umount", dir) })
	number := must.Have(os.ReadFile("/sys/block/" + filepath.Base(node) + "/dev"))(t)
	return dir, string(bytes.TrimSpace(number))
}

// throttle limits the writes of everything to a device; only the cgroup at the
// root of version 1 can.
func throttle(t testing.TB, device string, perSecond int64) {
	t.Helper()
	const file = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"
	set := func(n int64) error {
		return os.WriteFile(file, fmt.Appendf(nil, "%s %d", device, n), 0o600)
	}
	if err := set(perSecond); err != nil {
		t.Skipf("no limit can be set: %v", err)
	}
	t.Cleanup(func() {
		err := set(0)
		must.True(t, err == nil, "the limit on %s stays: %v", device, err)
	})
}

func command(t testing.TB, name string, args ...string) {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	must.True(t, err == nil, "%s %q: %v\n%s", name, args, err, out)
}
