package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

func TestMemoryIsNoDisk(t *testing.T) {
	const shm = "/dev/shm"
	s, err := readSpace(shm)
	if kind, _ := doubtful(s.Magic); err != nil || kind != "tmpfs" {
		t.Skipf("%s is no tmpfs here: %q, %v", shm, kind, err)
	}
	dir, err := os.MkdirTemp(shm, "kt-probe-test")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must.Err(t, "is on tmpfs, ", must.Fail(Check(Options{Dirs: []string{dir}, Size: leastSize})), "Check(%s)", dir)
	if s.Free-s.Total/10 < leastSize {
		t.Skipf("%s is full", shm)
	}
	_, err = Check(Options{Dirs: []string{dir}, Size: leastSize, Force: true})
	must.True(t, err == nil, "Check(%s) by force = %v, want it allowed", dir, err)
}

func TestFileSystemsThatAreNoDisk(t *testing.T) {
	for _, r := range must.Rows[[]struct {
		Magic   int64
		Kind    string
		Network bool
	}](t, "check_linux") {
		if kind, why := doubtful(r.Magic); kind != r.Kind || strings.Contains(why, "over the network") != r.Network {
			t.Errorf("doubtful(%#x) = %q, %q, want %q, network: %v", r.Magic, kind, why, r.Kind, r.Network)
		}
	}
}

func TestReadOnlyIsRefused(t *testing.T) {
	dir := mountTmpfs(t, "32m")
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skip(err)
	}
	must.Err(t, "mounted read-only", must.Fail(Check(Options{Dirs: []string{dir}, Size: leastSize, Force: true})), "Check(%s)", dir)
}

func TestDirectoryOfAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o500))
	must.Err(t, "permission denied", must.Fail(Check(Options{Dirs: []string{dir}, Size: leastSize, Force: true})), "Check(%s)", dir)
}

// The kernel shows the directories of a broker in a container below /proc, where
// links are true for the broker only.
func TestABrokersDirectoryByItsProcess(t *testing.T) {
	dir := roomy(t)
	used := fmt.Sprintf("/proc/%d/root%s", os.Getpid(), dir)
	_, err := Check(Options{Dirs: []string{dir}, Brokers: []string{used}, Size: leastSize, Force: true})
	must.Err(t, "is in use by a broker", err, "Check(%s) with a broker in %s", dir, used)
	must.Match(t, used, resolve(used), "resolve)")
}

func TestAPlaceBelowProcIsNotOnProc(t *testing.T) {
	dir := t.TempDir()
	want := must.Have(readPlace(host.System(), dir))(t)
	path := fmt.Sprintf("/proc/%d/root%s", os.Getpid(), dir)
	got := must.Have(readPlace(host.System(), path))(t)
	must.True(t, got.FileSystem != "proc" && got.Device == want.Device && len(got.Disks) == len(want.Disks),
		"readPlace(%s) = %q on %q, %d disks, want %q and %d disks", path, got.FileSystem, got.Device, len(got.Disks), want.Device, len(want.Disks))
}

func TestDisksThatTwoDirectoriesAreOn(t *testing.T) {
	dir := t.TempDir()
	p, err := readPlace(host.System(), dir)
	if err != nil || len(p.Disks) == 0 {
		t.Skipf("the disk of %s is not known: %v", dir, err)
	}
	must.Match(t, p.Disks[0].Name, sharedDisk(dir, filepath.Dir(dir)), "sharedDisk of %s and the folder that it is in", dir)
	must.Match(t, "", sharedDisk(dir, mountTmpfs(t, "16m")), "sharedDisk of %s and a tmpfs", dir)
}

func TestABrokersDirectoryByAnotherMount(t *testing.T) {
	dir, used := mountTmpfs(t, "64m"), t.TempDir()
	if err := unix.Mount(dir, used, "", unix.MS_BIND, ""); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		err := unix.Unmount(used, 0)
		must.True(t, err == nil, "unmount %s: %v", used, err)
	})
	_, err := Check(Options{Dirs: []string{dir}, Brokers: []string{used}, Size: leastSize, Force: true})
	must.Err(t, "is in use by a broker", err, "Check(%s) with a broker in its other mount %s", dir, used)
}

func TestFileSystemsThatDoNotLogNamelessFiles(t *testing.T) {
	for _, r := range []struct {
		magic int64
		want  string
	}{{0x9123683e, "btrfs"}, {0x2fc12fc1, "zfs"}, {unix.EXT4_SUPER_MAGIC, ""}, {unix.XFS_SUPER_MAGIC, ""}} {
		must.Match(t, r.want, unlogged(r.magic), "unlogged(%#x)", r.magic)
	}
	var r Result
	p := &place{unlogged: "btrfs"}
	if p.sayUnlogged(&r); !r.LatencyUngraded || len(r.Notes) != 1 {
		t.Errorf("sayUnlogged of btrfs: %+v, want a note and no grade", r)
	}
}

// mountTmpfs is a small file system of the test's own.
func mountTmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("kt-probe-test", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mount a tmpfs: %v: needs root", err)
	}
	t.Cleanup(func() {
		err := unix.Unmount(dir, 0)
		must.True(t, err == nil, "unmount %s: %v", dir, err)
	})
	return dir
}

// What Check saw free may be gone when it is needed.
func TestDiskThatIsFullInTheMiddle(t *testing.T) {
	for _, test := range []string{testWrite, testAppend, testRead, testDD} {
		dir := mountTmpfs(t, "64m")
		before := must.Have(readSpace(dir))(t)
		o := Options{Dirs: []string{dir}, Tests: []string{test}, Size: 32 * mib, Blocks: []int64{mib}, Direct: []bool{false}, Force: true}
		plan := must.Have(Check(o))(t)
		plan.Directories[0].SizeBytes = 256 * mib
		report, err := run(context.Background(), o, plan, host.System(), nil)
		full := errors.Is(err, syscall.ENOSPC) && strings.Contains(err.Error(), "smaller size")
		seen := err != nil && strings.Contains(err.Error(), "fills the disk") // a look came before the write that failed
		must.True(t, (full || seen) && strings.Contains(err.Error(), dir), "%s: run = %v, want that %s is full and what to do", test, err, dir)
		must.True(t, report != nil && report.Interrupted, "%s: run = %+v, want a report that says it was interrupted", test, report)
		after, err := readSpace(dir)
		must.True(t, err == nil && after.Free == before.Free, "%s: %d bytes are free after, %d were before (%v)", test, after.Free, before.Free, err)
		empty(t, dir)
	}
}

func TestItStopsWhenSomethingElseFillsTheDisk(t *testing.T) {
	dir := mountTmpfs(t, "64m")
	r := &runner{tree: host.System()}
	p := &place{Directory: Directory{Path: dir}}
	err := r.guard(p)
	must.True(t, err == nil, "guard of an empty file system = %v", err)
	must.Do(t, os.WriteFile(filepath.Join(dir, "log"), make([]byte, 62*mib), 0o600))
	must.Err(t, "something else fills the disk", r.guard(p), "guard with 2 of 64 MiB free")
}

func TestLiveStopsWhenEverythingWaitsForDisks(t *testing.T) {
	tree := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(tree, "proc/pressure"), 0o700))
	text := "some avg10=90.00 avg60=7.22 avg300=1.72 total=210\nfull avg10=55.00 avg60=5.43 avg300=1.32 total=81\n"
	must.Do(t, os.WriteFile(filepath.Join(tree, "proc/pressure/io"), []byte(text), 0o600))
	p := &place{Directory: Directory{Path: t.TempDir()}}
	r := &runner{o: Options{Mode: Live}, tree: host.Rooted(tree)}
	must.Err(t, "55 %", r.guard(p), "guard of mode live under pressure")
	r.o.Mode = Quick
	err := r.guard(p)
	must.True(t, err == nil, "guard of mode quick = %v: kt itself makes everything wait", err)
}
