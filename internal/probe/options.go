package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Mode is how much a probe does.
type Mode string

// The modes. The zero Mode is Quick.
const (
	Quick    Mode = "quick"    // write, append, sync: some 20 s for a directory
	Standard Mode = "standard" // every test: two to three minutes
	Soak     Mode = "soak"     // write, and append for ten minutes: finds credits and caches that run out
	Live     Mode = "live"     // beside a running broker: a few small writes a second, at low priority
)

// Tests are the names that Options.Tests takes, in the order in which they run.
func Tests() (names []string) {
	for _, t := range allTests {
		names = append(names, t.name)
	}
	return names
}

const (
	testWrite    = "write"
	testAppend   = "append"
	testSync     = "sync"
	testCommit   = "commit"
	testRead     = "read"
	testMixed    = "mixed"
	testParallel = "parallel"
	testDD       = "dd"

	// Parts of a test that have a result of their own.
	partSyncEtcd        = "sync-2300"
	partReadInterleaved = "read-interleaved"
)

// test is one of the tests.
type test struct {
	name  string
	lasts func(t timing, o Options) time.Duration // at most
	run   func(r *runner, ctx context.Context, p *place) ([]Result, error)
}

// allTests are in the order in which they run. Parallel is run for all directories at once, and dd has rows in place of results.
var allTests = []test{
	{testWrite, func(t timing, _ Options) time.Duration { return t.warmup + t.write }, one((*runner).write)},
	{testAppend, func(t timing, _ Options) time.Duration { return t.appends }, one((*runner).append)},
	{testSync, timing.syncs, (*runner).syncs},
	{testCommit, func(t timing, _ Options) time.Duration { return 2 * t.commit }, one((*runner).commit)},
	{testRead, func(t timing, _ Options) time.Duration { return 2 * t.read }, (*runner).read},
	{testMixed, func(t timing, _ Options) time.Duration { return 2 * t.mixed }, one((*runner).mixed)},
	{testParallel, func(t timing, _ Options) time.Duration { return t.warmup + t.write }, nil},
	{testDD, func(t timing, o Options) time.Duration { return t.row * time.Duration(len(o.Blocks)*len(o.Direct)) }, nil},
}

func one(run func(*runner, context.Context, *place) (Result, error)) func(*runner, context.Context, *place) ([]Result, error) {
	return func(r *runner, ctx context.Context, p *place) ([]Result, error) {
		result, err := run(r, ctx, p)
		return []Result{result}, err
	}
}

// Options say what to probe. Only Dirs is needed.
type Options struct {
	Dirs  []string
	Mode  Mode
	Tests []string // of Tests(); none: those of the mode, or dd alone when Blocks are given

	// Size is how much each directory's file system must lend, in bytes; from 16
	// MiB. 0: the mode's, 1 GiB for Quick, 16 MiB for Live, 4 GiB for the others, and
	// except for Live never more than a tenth of what is free.
	Size int64

	// Duration is how long each test measures. 0: the mode's. Append ends sooner
	// when the device is steady, except in Soak.
	Duration time.Duration

	// Blocks and Direct are the rows of the dd table: every block size in bytes,
	// with and without the page cache. None: 8 KiB, and 80,000 KiB where Size has
	// room for it; both ways.
	Blocks []int64
	Direct []bool

	// Brokers are the directories that brokers write to, as paths by which kt can
	// reach them: that of a broker in a container may be /proc/PID/root/var/lib/kafka.
	// To probe one, or a directory above or below it, is refused except in Live; and
	// another directory of its file system or its disks too, without Force.
	Brokers []string

	// Force allows file systems that say little about a disk: tmpfs, overlay, zfs
	// and those of a network; and one that a broker uses another directory of, or another
	// one on the disk of.
	Force bool
}

// timing is how long the tests of a mode take.
type timing struct {
	warmup   time.Duration // before write, of which nothing counts
	write    time.Duration
	appends  time.Duration // at most
	sync     time.Duration
	commit   time.Duration // for each half
	read     time.Duration // for each part
	mixed    time.Duration // for each half
	row      time.Duration // of dd, at most
	steady   int           // seconds of an even rate that end append; 0: it runs to its end
	size     int64
	tests    []string
	syncSize bool // sync with etcd's size of write too
}

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30

	leastSize = 16 * mib
)

// timings are the modes as data.
func timings(m Mode) (timing, bool) {
	switch m {
	case Quick, "":
		return timing{
			warmup: 500 * time.Millisecond, write: 2500 * time.Millisecond, appends: 10 * time.Second, sync: 3 * time.Second,
			commit: 4 * time.Second, read: 3 * time.Second, mixed: 4 * time.Second, row: 10 * time.Second,
			steady: 4, size: gib, tests: []string{testWrite, testAppend, testSync},
		}, true
	case Standard:
		return timing{
			warmup: 2 * time.Second, write: 8 * time.Second, appends: 60 * time.Second, sync: 10 * time.Second,
			commit: 8 * time.Second, read: 5 * time.Second, mixed: 8 * time.Second, row: 60 * time.Second,
			steady: 8, size: 4 * gib, syncSize: true,
			tests: []string{testWrite, testAppend, testSync, testCommit, testRead, testMixed, testParallel},
		}, true
	case Soak:
		t, _ := timings(Standard)
		t.appends, t.steady = 10*time.Minute, 0
		t.tests = []string{testWrite, testAppend}
		return t, true
	case Live:
		t, _ := timings(Quick)
		t.sync, t.appends, t.steady, t.size = 20*time.Second, 10*time.Second, 0, leastSize
		t.tests = []string{testSync, testAppend}
		return t, true
	}
	return timing{}, false
}

// resolved is the options with everything that was left out filled in.
func (o Options) resolved() (Options, timing, error) {
	if o.Mode == "" {
		o.Mode = Quick
	}
	t, ok := timings(o.Mode)
	if !ok {
		return o, t, fmt.Errorf("mode %q is none of quick, standard, soak and live", o.Mode)
	}
	if d := o.Duration; d != 0 {
		if d < time.Second {
			return o, t, fmt.Errorf("a duration of %s is too short to measure: use 1s or more", d)
		}
		t.write, t.appends, t.sync, t.commit, t.read, t.mixed, t.row = d, d, d, d, d, d, d
	}
	asked := len(o.Tests) > 0
	if !asked {
		o.Tests = t.tests
		if len(o.Blocks) > 0 {
			o.Tests = []string{testDD}
		}
	}
	for _, name := range o.Tests {
		if !slices.Contains(Tests(), name) {
			return o, t, fmt.Errorf("test %q is none of %s", name, strings.Join(Tests(), ", "))
		}
		if o.Mode == Live && name != testSync && name != testAppend {
			return o, t, fmt.Errorf("test %q would disturb a running broker: live has sync and append only", name)
		}
	}
	if asked && slices.Contains(o.Tests, testParallel) && len(o.Dirs) == 1 {
		return o, t, errors.New("parallel needs two directories or more: give another, or leave out the test")
	}
	// Mixed needs the rate that append finds, and parallel what write found for each directory.
	want := make(map[string]bool)
	for _, name := range o.Tests {
		want[name] = true
	}
	want[testAppend] = want[testAppend] || want[testMixed]
	want[testParallel] = want[testParallel] && len(o.Dirs) > 1
	want[testWrite] = want[testWrite] || want[testParallel]
	o.Tests = slices.DeleteFunc(Tests(), func(name string) bool { return !want[name] })
	if len(o.Blocks) == 0 {
		const small, large = 8 * kib, 80_000 * kib
		o.Blocks = []int64{small}
		if o.Size == 0 || o.Size >= large {
			o.Blocks = append(o.Blocks, large)
		}
	}
	if len(o.Direct) == 0 {
		o.Direct = []bool{true, false}
	}
	return o, t, nil
}
