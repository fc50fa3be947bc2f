package probe

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

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
		if !full && !seen || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: run = %v, want that %s is full and what to do", test, err, dir)
		}
		if report == nil || !report.Interrupted {
			t.Errorf("%s: run = %+v, want a report that says it was interrupted", test, report)
		}
		after, err := readSpace(dir)
		if err != nil || after.free != before.free {
			t.Errorf("%s: %d bytes are free after, %d were before (%v)", test, after.free, before.free, err)
		}
		empty(t, dir)
	}
}

func TestItStopsWhenSomethingElseFillsTheDisk(t *testing.T) {
	dir := mountTmpfs(t, "64m")
	r := &runner{tree: host.System()}
	p := &place{Directory: Directory{Path: dir}}
	if err := r.guard(p); err != nil {
		t.Errorf("guard of an empty file system = %v", err)
	}
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
	if err := r.guard(p); err != nil {
		t.Errorf("guard of mode quick = %v: kt itself makes everything wait", err)
	}
}
