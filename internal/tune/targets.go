package tune

import (
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
)

// target is a file of the kernel's that kt may write.
type target struct {
	setting string // its ID in the catalogue
	path    string // a pattern of [path.Match]
	holds   func(value string) error
}

// targets are all files of the kernel's that kt may write, with what each can hold. No change,
// and no journal, can name another one or another value, whoever wrote it.
var targets = []target{
	{"vm.swappiness", "/proc/sys/vm/swappiness", numbers(1, 200)},
	{"vm.max_map_count", "/proc/sys/vm/max_map_count", numbers(1, math.MaxInt32)},
	{"vm.zone_reclaim_mode", "/proc/sys/vm/zone_reclaim_mode", numbers(1, math.MaxInt32)},
	{"vm.dirty_background", "/proc/sys/vm/dirty_background_ratio", numbers(1, 100)},
	{"vm.dirty_background", "/proc/sys/vm/dirty_background_bytes", numbers(1, math.MaxInt64)},
	{"vm.dirty_limit", "/proc/sys/vm/dirty_ratio", numbers(1, 100)},
	{"vm.dirty_limit", "/proc/sys/vm/dirty_bytes", numbers(1, math.MaxInt64)},
	{"fs.nr_open", nrOpenFile, numbers(1, math.MaxInt64)},
	{"kernel.numa_balancing", "/proc/sys/kernel/numa_balancing", numbers(1, math.MaxInt32)},
	{"net.core.rmem_max", "/proc/sys/net/core/rmem_max", numbers(1, math.MaxInt64)},
	{"net.core.wmem_max", "/proc/sys/net/core/wmem_max", numbers(1, math.MaxInt64)},
	{"net.core.somaxconn", "/proc/sys/net/core/somaxconn", numbers(1, math.MaxInt64)},
	{"net.ipv4.tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem", numbers(3, math.MaxInt64)},
	{"net.ipv4.tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem", numbers(3, math.MaxInt64)},
	{"net.ipv4.tcp_max_syn_backlog", "/proc/sys/net/ipv4/tcp_max_syn_backlog", numbers(1, math.MaxInt64)},
	{"net.ipv4.tcp_slow_start_after_idle", "/proc/sys/net/ipv4/tcp_slow_start_after_idle", numbers(1, 255)},
	{"thp.enabled", "/" + thpFolder + "enabled", word},
	{"thp.enabled", "/" + thpOldFolder + "enabled", word},
	{"thp.defrag", "/" + thpFolder + "defrag", word},
	{"thp.defrag", "/" + thpOldFolder + "defrag", word},
	{"cpu.governor", "/" + policies + "scaling_governor", word},
	{"cpu.epp", "/" + policies + "energy_performance_preference", word},
	{"disk.scheduler", "/sys/block/*/queue/scheduler", word},
	{"disk.scheduler", "/sys/block/*/queue/nr_requests", numbers(1, math.MaxInt32)}, // the kernel sets it anew with the scheduler
	{"disk.nomerges", "/sys/block/*/queue/nomerges", numbers(1, 2)},
	{"disk.read_ahead_kb", "/sys/block/*/queue/read_ahead_kb", numbers(1, math.MaxInt64)},
}

// numbers holds n whole numbers from 0 to most.
func numbers(n int, most uint64) func(string) error {
	return func(value string) error {
		fields := strings.Fields(value)
		good := len(fields) == n
		for _, f := range fields {
			v, err := strconv.ParseUint(f, 10, 64)
			good = good && err == nil && v <= most
		}
		if !good {
			return fmt.Errorf("%q is not %s up to %d", value, theme.Plural(n, "whole number", "whole numbers"), most)
		}
		return nil
	}
}

var wordForm = regexp.MustCompile(`^[A-Za-z0-9_+.-]+$`)

// word holds a name as the kernel has them: "defer+madvise".
func word(value string) error {
	if !wordForm.MatchString(value) {
		return fmt.Errorf("%q is no word", value)
	}
	return nil
}

// checkHolds refuses a file of the kernel's that kt does not set, and a value that the file
// cannot hold.
func checkHolds(p, value string) error {
	if err := checkValuePath(p); err != nil {
		return err
	}
	for _, t := range targets {
		if ok, _ := path.Match(t.path, p); !ok {
			continue
		}
		if err := t.holds(normal(value)); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		return nil
	}
	return fmt.Errorf("%s is not among the files that kt sets", p)
}

// checkKnown refuses a change that no setting of the catalogue makes: it would be a mistake of kt's
// own, or a journal that somebody else wrote.
func (c *Change) checkKnown() error {
	problems := []error{c.check()}
	if c.Kind == WriteFile {
		problems = append(problems, checkHolds(c.Path, c.New))
		if c.Pair != "" && c.Pair != otherOfPair(c.Path) {
			problems = append(problems, fmt.Errorf("%s and %s are no pair", c.Path, c.Pair))
		}
	}
	for _, l := range c.Keep {
		problems = append(problems, checkOwnLine(l))
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
	limitsLine = regexp.MustCompile(`^[^\s#*%@:"]+(?::[0-9]+)? (?:soft|hard) nofile [0-9]+$`)
	unitLines  = regexp.MustCompile(`^LimitNOFILE=[0-9]+$`)
	unitFile   = regexp.MustCompile(`^/etc/systemd/system/[^/]+\.service\.d/zz-kt\.conf$`)
)

// checkOwnLine refuses a line that is not of the form that kt writes into that file.
func checkOwnLine(l Line) error {
	err := errors.New("kt writes no such line")
	switch {
	case l.File == SysctlFile:
		if m := sysctlLine.FindStringSubmatch(l.Text); m != nil {
			err = checkHolds("/proc/sys/"+sysctlPath(m[1]), m[2])
		}
	case l.File == TmpfilesFile:
		if m := tmpfilesLine.FindStringSubmatch(l.Text); m != nil {
			err = checkHolds(m[1], m[2])
		}
	case l.File == UdevFile:
		if m := udevLine.FindStringSubmatch(l.Text); m != nil {
			err = checkHolds("/sys/block/any/queue/"+m[1], m[2])
		}
	case l.File == LimitsFile && limitsLine.MatchString(l.Text):
		err = nil
	case unitFile.MatchString(l.File) && unitLines.MatchString(l.Text):
		if l.Head == "[Service]" {
			return nil
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
	ours := []string{SysctlFile, TmpfilesFile, UdevFile, LimitsFile, journalFile, formerJournal}
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
