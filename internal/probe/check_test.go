package probe

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestCheckRefuses(t *testing.T) {
	dir := roomy(t)
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, []byte("x"), 0o600))
	below := filepath.Join(dir, "below")
	must.Do(t, os.Mkdir(below, 0o700))
	beside := filepath.Join(dir, "beside")
	must.Do(t, os.Mkdir(beside, 0o700))
	link := filepath.Join(dir, "link")
	must.Do(t, os.Symlink(below, link))
	s := must.Have(readSpace(dir))(t)
	for _, r := range []struct {
		sentence string
		o        Options
		says     string
	}{
		{"no directory", Options{}, "no directory to probe"},
		{"one that is missing", Options{Dirs: []string{dir + "/none"}}, "none: no such directory"},
		{"a file", Options{Dirs: []string{file}}, "file: not a directory"},
		{"one named twice, by another path", Options{Dirs: []string{below, link}, Force: true, Size: leastSize}, "is given twice"},
		{"an unknown mode", Options{Dirs: []string{dir}, Mode: "fast"}, `mode "fast" is none of`},
		{"an unknown test", Options{Dirs: []string{dir}, Tests: []string{"seek"}}, `test "seek" is none of write, append`},
		{"a short duration", Options{Dirs: []string{dir}, Duration: time.Millisecond}, "too short"},
		{"more than is free", Options{Dirs: []string{dir}, Size: s.Total, Force: true}, "must stay free"},
		{"two directories that are too much together", Options{Dirs: []string{below, beside}, Size: (s.Free - s.Total/10) * 3 / 4, Force: true}, "beside: "},
		{"a broker's directory", Options{Dirs: []string{below}, Brokers: []string{below}, Force: true}, "is in use by a broker"},
		{"a broker's directory by a link", Options{Dirs: []string{link}, Brokers: []string{below}, Force: true}, "is in use by a broker"},
		{"a folder in it", Options{Dirs: []string{below}, Brokers: []string{dir}, Force: true}, "is in use by a broker"},
		{"the folder that it is in", Options{Dirs: []string{dir}, Brokers: []string{below}, Force: true}, "is in use by a broker"},
		{"the file system of a broker", Options{Dirs: []string{beside}, Brokers: []string{below}}, "which a broker uses"},
		{"a heavy test beside a broker", Options{Dirs: []string{dir}, Mode: Live, Tests: []string{testWrite}}, "live has sync and append only"},
		{"one directory in parallel", Options{Dirs: []string{dir}, Tests: []string{testParallel, testRead}}, "parallel needs two directories"},
		{"a block that is larger than the size", Options{Dirs: []string{dir}, Blocks: []int64{32 * mib}, Size: leastSize, Force: true}, "does not fit in a size of 16 MiB"},
		{"a direct block of no whole pages", Options{Dirs: []string{dir}, Blocks: []int64{2301}, Size: leastSize, Force: true}, "and a block of 2301 is not"},
	} {
		_, err := Check(r.o)
		must.Err(t, r.says, err, "%s: Check(%+v)", r.sentence, r.o)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	must.True(t, len(names) == 0, "Check left %q", names)
}

func TestCheckTellsEveryReason(t *testing.T) {
	dir := t.TempDir()
	_, err := Check(Options{Dirs: []string{dir + "/a", dir + "/b"}, Size: 1})
	for _, want := range []string{"a: no such directory", "b: no such directory", "16 MiB"} {
		must.Err(t, want, err, "Check")
	}
}

func TestCheckAllows(t *testing.T) {
	dir := roomy(t)
	for _, r := range []struct {
		sentence string
		o        Options
		tests    []string
	}{
		{"quick", Options{}, []string{testWrite, testAppend, testSync}},
		{"live, in a broker's directory", Options{Mode: Live, Brokers: []string{dir}}, []string{testAppend, testSync}},
		{"mixed needs what append finds", Options{Tests: []string{testMixed}}, []string{testAppend, testMixed}},
		{"one directory is not parallel", Options{Mode: Standard}, []string{testWrite, testAppend, testSync, testCommit, testRead, testMixed}},
		{"block sizes mean dd", Options{Blocks: []int64{8 * kib}}, []string{testDD}},
		{"blocks of no whole page without direct", Options{Blocks: []int64{2300}, Direct: []bool{false}}, []string{testDD}},
	} {
		r.o.Dirs, r.o.Size, r.o.Force = []string{dir}, leastSize, true
		plan, err := Check(r.o)
		must.True(t, err == nil && slices.Equal(plan.Tests, r.tests) && plan.Duration > 0,
			"%s: Check(%+v) = %q for %s, %v, want %q", r.sentence, r.o, plan.Tests, plan.Duration, err, r.tests)
	}
}

func TestWithin(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/b", "ab"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	must.Do(t, os.Symlink(filepath.Join(dir, "a/b"), filepath.Join(dir, "link")))
	for _, r := range must.Rows[[]struct {
		Sentence   string
		Dir, Above string
		Want       bool
	}](t, "check") {
		must.Match(t, r.Want, within(filepath.Join(dir, r.Dir), filepath.Join(dir, r.Above)), "%s: within(%q, %q)", r.Sentence, r.Dir, r.Above)
	}
}

func TestSpaceThatMustStayFree(t *testing.T) {
	for _, r := range must.Rows[[]struct {
		Sentence           string
		Mode               Mode
		Total, Free, Wants int64
		Ok                 bool
	}](t, "check") {
		err := checkSpace(r.Mode, &place{Directory: Directory{Path: "/d", TotalBytes: r.Total, FreeBytes: r.Free, SizeBytes: r.Wants}}, r.Wants)
		must.Match(t, r.Ok, err == nil, "%s: checkSpace(…) = %v", r.Sentence, err)
	}
}
