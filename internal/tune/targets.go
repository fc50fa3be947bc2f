package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
)

// target is a file of the kernel's that kt may write.
type target struct {
	setting string // its ID in the catalogue
	path    string // a pattern of [path.Match]
	holds   check  // accepts every value that the file can hold
	sane    check  // accepts the values that kt sets anew
}

// check returns an error if a value does not fit. old is the value that is there, "" if that is no excuse.
type check func(value, old string) error

// targets are all files of the kernel's that kt may write. No change, and no journal, can name another one. Whoever asks for a
// change, it sets a sane value. What is put back may be anything that the file can hold.
var targets = []target{
	{"vm.swappiness", "/proc/sys/vm/swappiness", within(span{0, 200}), within(span{0, 100})},
	{"vm.max_map_count", "/proc/sys/vm/max_map_count", within(span{0, math.MaxInt32}), within(span{65530, 1 << 24})}, // from the kernel's default
	{"vm.zone_reclaim_mode", "/proc/sys/vm/zone_reclaim_mode", within(span{0, math.MaxInt32}), within(span{0, 7})},
	{"vm.dirty_background", "/proc/sys/vm/dirty_background_ratio", within(span{0, 100}), within(span{1, 50})},
	{"vm.dirty_background", "/proc/sys/vm/dirty_background_bytes", within(span{0, math.MaxInt64}), within(span{1 * mib, 1 << 40})},
	{"vm.dirty_limit", "/proc/sys/vm/dirty_ratio", within(span{0, 100}), within(span{2, 90})},
	{"vm.dirty_limit", "/proc/sys/vm/dirty_bytes", within(span{0, math.MaxInt64}), within(span{8 * mib, 1 << 40})},
	{"fs.nr_open", nrOpenFile, within(span{0, math.MaxInt64}), within(span{1 << 20, 1 << 30})}, // below the kernel's default units may not start
	{"limits.nofile", "/proc/*/limits", within(anyNumber, anyNumber), within(span{1024, 1 << 30}, span{1024, math.MaxUint64})},
	{"kernel.numa_balancing", "/proc/sys/kernel/numa_balancing", within(span{0, math.MaxInt32}), within(span{0, 3})},
	{"net.core.rmem_max", "/proc/sys/net/core/rmem_max", within(span{0, math.MaxInt64}), within(span{64 << 10, 1 << 30})},
	{"net.core.wmem_max", "/proc/sys/net/core/wmem_max", within(span{0, math.MaxInt64}), within(span{64 << 10, 1 << 30})},
	{"net.core.somaxconn", "/proc/sys/net/core/somaxconn", within(span{0, math.MaxInt64}), within(span{128, 65535})},
	{"net.ipv4.tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem", within(anyNumber, anyNumber, anyNumber), within(buffers...)},
	{"net.ipv4.tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem", within(anyNumber, anyNumber, anyNumber), within(buffers...)},
	{"net.ipv4.tcp_max_syn_backlog", "/proc/sys/net/ipv4/tcp_max_syn_backlog", within(span{0, math.MaxInt64}), within(span{128, 1 << 20})},
	{"net.ipv4.tcp_slow_start_after_idle", "/proc/sys/net/ipv4/tcp_slow_start_after_idle", within(span{0, 255}), within(span{0, 1})},
	{"thp.enabled", "/" + thpFolder + "enabled", word, among("always", "madvise", "never")},
	{"thp.enabled", "/" + thpOldFolder + "enabled", word, among("always", "madvise", "never")},
	{"thp.defrag", "/" + thpFolder + "defrag", word, among("always", "defer", "defer+madvise", "madvise", "never")},
	{"thp.defrag", "/" + thpOldFolder + "defrag", word, among("always", "madvise", "never")},
	{"cpu.governor", "/" + policies + "scaling_governor", word, among("performance", "powersave", "schedutil", "ondemand", "conservative")},
	{"cpu.epp", "/" + policies + "energy_performance_preference", word, among("performance", "balance_performance", "default", "balance_power", "power")},
	{"disk.scheduler", "/sys/block/*/queue/scheduler", word, among("none", "mq-deadline", "kyber", "bfq", "noop", "deadline", "cfq")},
	{"disk.scheduler", "/sys/block/*/queue/nr_requests", within(span{0, math.MaxInt32}), within(span{4, 1 << 14})}, // the kernel sets it anew with the scheduler
	{"disk.nomerges", "/sys/block/*/queue/nomerges", within(span{0, 2}), within(span{0, 2})},
	{"disk.read_ahead_kb", "/sys/block/*/queue/read_ahead_kb", within(span{0, math.MaxInt64}), within(span{0, 64 << 10})},
}

// span is a range of whole numbers, with both ends.
type span struct{ least, most uint64 }

var anyNumber = span{0, math.MaxUint64}

// buffers are the least, the first and the largest buffer of a TCP connection, in bytes.
var buffers = []span{{1024, 1 * mib}, {4096, 64 * mib}, {64 << 10, 1 << 30}}

// within accepts a number in each span. The old number widens its span, so that the present value can be kept, or improved in part.
func within(spans ...span) check {
	return func(value, old string) error {
		fields, before := strings.Fields(value), strings.Fields(old)
		if len(fields) != len(spans) {
			return fmt.Errorf("%q is not %s", value, theme.Plural(len(spans), "whole number", "whole numbers"))
		}
		for i, in := range spans {
			if was, err := wholeOf(before, i); err == nil {
				in = span{min(in.least, was), max(in.most, was)}
			}
			if v, err := wholeOf(fields, i); err != nil || v < in.least || v > in.most {
				return fmt.Errorf("%q is out of range, which is %d to %d", fields[i], in.least, in.most)
			}
		}
		return nil
	}
}

// wholeOf reads one of some whole numbers, or limits of open files.
func wholeOf(fields []string, i int) (uint64, error) {
	switch {
	case i >= len(fields):
		return 0, strconv.ErrSyntax
	case fields[i] == "unlimited":
		return math.MaxUint64, nil
	}
	return strconv.ParseUint(fields[i], 10, 64)
}

// among accepts some words, and the old one.
func among(words ...string) check {
	return func(value, old string) error {
		if value != old && !slices.Contains(words, value) {
			return fmt.Errorf("%q is none of the words that kt sets: %s", value, strings.Join(words, ", "))
		}
		return nil
	}
}

var wordForm = regexp.MustCompile(`^[A-Za-z0-9_+.-]+$`)

// word holds a name as the kernel has them: "defer+madvise".
func word(value, _ string) error {
	if !wordForm.MatchString(value) {
		return fmt.Errorf("%q is no word", value)
	}
	return nil
}

// fitter returns an error if a value does not fit a target.
type fitter func(t *target, value string) error

func holds(t *target, value string) error { return t.holds(value, "") }

// checkHolds refuses a file of the kernel's that kt does not set, and a value that the file cannot hold.
func checkHolds(p, value string) error { return checkValue(p, value, holds) }

func checkValue(p, value string, fit fitter) error {
	if err := checkValuePath(p); err != nil {
		return err
	}
	return checkTarget(p, value, fit)
}

func checkTarget(p, value string, fit fitter) error {
	for i := range targets {
		if ok, _ := path.Match(targets[i].path, p); !ok {
			continue
		}
		if err := fit(&targets[i], normal(value)); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		return nil
	}
	return fmt.Errorf("%s is not among the files that kt sets", p)
}

// checkNew refuses a change to a value that kt does not set anew: one that is out of the range of its target.
func (c *Change) checkNew() error {
	old := normal(c.Old)
	if c.Pair != "" && old == "0" {
		old = "" // the other one of the pair is in force
	}
	return c.checkKnown(func(t *target, value string) error { return cmp.Or(holds(t, value), t.sane(value, old)) })
}

// checkKnown refuses a change that no setting of the catalogue makes: it would be a mistake of kt's
// own, or a journal that somebody else wrote.
func (c *Change) checkKnown(fit fitter) error {
	problems := []error{c.check()}
	switch c.Kind {
	case WriteFile:
		problems = append(problems, checkValue(c.Path, c.New, fit))
		if c.Pair != "" && c.Pair != otherOfPair(c.Path) {
			problems = append(problems, fmt.Errorf("%s and %s are no pair", c.Path, c.Pair))
		}
	case Prlimit:
		problems = append(problems, checkTarget(c.Path, c.New, fit))
	case Remount, KeepOnly:
	}
	for _, l := range c.Keep {
		problems = append(problems, checkOwnLine(l, fit))
	}
	for _, err := range problems {
		if err != nil {
			return err // one of them is enough: they are about the same
		}
	}
	return nil
}

// otherOfPair returns the file that the kernel sets to 0 when another one is written; "" for none.
func otherOfPair(p string) string {
	for _, ends := range [][2]string{{"_ratio", "_bytes"}, {"_bytes", "_ratio"}} {
		if name, ok := strings.CutSuffix(p, ends[0]); ok && strings.HasPrefix(name, "/proc/sys/vm/dirty") {
			return name + ends[1]
		}
	}
	return ""
}

// The forms of the lines in kt's own files. A match of udev's is of a key that only compares:
// PROGRAM would run one.
var (
	sysctlLine   = regexp.MustCompile(`^([a-z0-9_.]+) = ([0-9 ]+)$`)
	tmpfilesLine = regexp.MustCompile(`^w (/sys/\S+) - - - - (\S+)$`)
	udevLine     = regexp.MustCompile(`^ACTION=="add\|change", SUBSYSTEM=="block", ENV\{DEVTYPE\}=="disk", ` +
		`(?:ATTRS?\{[a-z]+\}|KERNEL)=="[^"\\$%]*", ATTR\{queue/([a-z_]+)\}="([^"\\$%]*)"$`)
	limitsLine = regexp.MustCompile(`^[^\s#*%@:"]+(?::[0-9]+)? (?:soft|hard) nofile ([0-9]+)$`)
	unitLines  = regexp.MustCompile(`^LimitNOFILE=([0-9]+)$`)
	unitFile   = regexp.MustCompile(`^/etc/systemd/system/[^/]+\.service\.d/zz-kt\.conf$`)
)

// checkOwnLine refuses a line that is not of the form that kt writes into that file, or whose value does not fit.
func checkOwnLine(l Line, fit fitter) error {
	err := errors.New("kt writes no such line")
	switch {
	case l.File == SysctlFile:
		if m := sysctlLine.FindStringSubmatch(l.Text); m != nil {
			err = checkValue("/proc/sys/"+sysctlPath(m[1]), m[2], fit)
		}
	case l.File == TmpfilesFile:
		if m := tmpfilesLine.FindStringSubmatch(l.Text); m != nil {
			err = checkValue(m[1], m[2], fit)
		}
	case l.File == UdevFile:
		if m := udevLine.FindStringSubmatch(l.Text); m != nil {
			err = checkValue("/sys/block/any/queue/"+m[1], m[2], fit)
		}
	case l.File == LimitsFile:
		if m := limitsLine.FindStringSubmatch(l.Text); m != nil {
			err = checkTarget("/proc/any/limits", m[1]+" "+m[1], fit)
		}
	case unitFile.MatchString(l.File) && l.Head == "[Service]":
		if m := unitLines.FindStringSubmatch(l.Text); m != nil {
			err, l.Head = checkTarget("/proc/any/limits", m[1]+" "+m[1], fit), "" // only such a file has a head
		}
	}
	if err == nil && l.Head != "" {
		err = fmt.Errorf("%q is no part of it", l.Head)
	}
	if err != nil {
		return fmt.Errorf("%s: %q: %w", l.File, l.Text, err)
	}
	return nil
}

// checkFolder refuses folders that kt never makes.
func checkFolder(dir string) error {
	if err := checkPath(dir); err != nil {
		return fmt.Errorf("%q is no folder", dir)
	}
	ours := []string{SysctlFile, TmpfilesFile, UdevFile, LimitsFile, journalFile}
	if unit := DropIn(strings.TrimSuffix(path.Base(dir), ".d")); unitFile.MatchString(unit) {
		ours = append(ours, unit)
	} else {
		ours = append(ours, DropIn("any.service"))
	}
	for _, file := range ours {
		if strings.HasPrefix(file, strings.TrimSuffix(dir, "/")+"/") {
			return nil
		}
	}
	return fmt.Errorf("%q is no folder of kt's", dir)
}
