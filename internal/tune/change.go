package tune

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/kt-bench/kt/internal/suggest"
)

// Change makes one value of a running machine as wanted, and says how it is to stay so. Nothing happens by making one.
type Change struct {
	Setting string `json:"setting"` // the ID
	Kind    Kind   `json:"kind"`

	// Path is the file that is written; of Prlimit it is "/proc/PID/limits", of Remount the mount point.
	Path string `json:"path"`
	Old  string `json:"old"` // what is there now
	New  string `json:"new"`

	// Pair is the other file of a pair of which writing one sets the other to 0, and
	// PairOld what is there: that is the one to restore when Old is "0".
	Pair    string `json:"pair,omitempty"`
	PairOld string `json:"pair_old,omitempty"`

	PID   int   `json:"pid,omitempty"`   // of Prlimit, with the process's start in ticks
	Start int64 `json:"start,omitempty"` // so that no other process is ever meant

	// Keep are the lines for kt's own files that make the change last. Advice says what a person may do for that.
	Keep   []Line `json:"keep,omitempty"`
	Advice string `json:"advice,omitempty"`
}

// Kind is how a change is made.
type Kind string

// The kinds.
const (
	WriteFile Kind = "write"   // one value into a file below /proc/sys or /sys
	Prlimit   Kind = "prlimit" // RLIMIT_NOFILE of a process; values are "SOFT HARD"
	Remount   Kind = "remount" // mount options that differ: "noatime", "relatime"
	KeepOnly  Kind = "keep"    // nothing now, only the lines: what is read when something starts
)

// Line is one line of one of kt's own files.
type Line struct {
	File string `json:"file"` // "/etc/sysctl.d/zz-kt.conf"
	Text string `json:"text"` // "vm.swappiness = 1"
	// Head goes before the first line in the file that has it: "[Service]".
	Head string `json:"head,omitempty"`
}

// The files that are kt's own. Their names sort late, where order decides.
const (
	SysctlFile   = "/etc/sysctl.d/zz-kt.conf" // after 99-sysctl.conf, and after a sysctl.conf in any of the folders
	TmpfilesFile = "/etc/tmpfiles.d/zz-kt.conf"
	UdevFile     = "/etc/udev/rules.d/99-zz-kt.rules"
	LimitsFile   = "/etc/security/limits.d/zz-kt.conf"
)

// DropIn is kt's own file for a systemd unit.
func DropIn(unit string) string { return "/etc/systemd/system/" + unit + ".d/zz-kt.conf" }

// Sysctl is the change of a kernel setting: "vm.swappiness" from "60" to "1".
func Sysctl(id, key, old, wanted string) Change {
	return Change{
		Setting: id, Kind: WriteFile, Path: "/proc/sys/" + sysctlPath(key), Old: old, New: wanted,
		Keep: []Line{{File: SysctlFile, Text: key + " = " + wanted}},
	}
}

// Describe is the change in a line: "/proc/sys/vm/swappiness: 60 → 1".
func (c Change) Describe() string {
	what := c.Path
	switch c.Kind {
	case Prlimit:
		what = fmt.Sprintf("open files of process %d", c.PID)
	case Remount:
		what = "mount options of " + c.Path
	case KeepOnly:
		if c.Path == "" {
			return "at the next start: " + c.New
		}
	case WriteFile:
	}
	return what + ": " + c.Old + " → " + c.New
}

// checkChanges refuses what would be a mistake of kt's own, or could not be read back from the journal, before anything is done.
func checkChanges(changes []Change) error {
	var problems []error
	wanted := make(map[string]*Change)
	for i := range changes {
		c := &changes[i]
		if err := c.checkNew(); err != nil {
			problems = append(problems, fmt.Errorf("change of %s: %w", c.Setting, err))
			continue
		}
		if c.Kind == KeepOnly {
			continue
		}
		key := string(c.Kind) + " " + c.Path
		if other, ok := wanted[key]; ok && normal(other.New) != normal(c.New) {
			problems = append(problems, fmt.Errorf("change of %s: %s is to become %q and, by %s, %q", c.Setting, c.Path, c.New, other.Setting, other.New))
		}
		wanted[key] = c
	}
	return errors.Join(problems...)
}

// checkNew refuses a change to a value that kt does not set anew: one that is out of the range of its target.
func (c *Change) checkNew() error {
	old := normal(c.Old)
	if c.Pair != "" && old == "0" {
		old = "" // the other one of the pair is in force
	}
	return c.check(func(t *target, value string) error { return cmp.Or(holds(t, value), t.Sane.accept(value, old)) })
}

// check refuses a change that no setting of the catalogue makes: it would be a mistake of kt's own, or a journal that somebody else wrote.
func (c *Change) check(fit fitter) error {
	control := func(r rune) bool { return r != '\t' && unicode.IsControl(r) }
	for _, text := range []string{c.Old, c.PairOld, c.New} { // a script has the old ones in comments, which end with the line
		if strings.ContainsFunc(strings.TrimSpace(text), control) {
			return fmt.Errorf("%q is more than one line", text)
		}
	}
	var err error
	switch c.Kind {
	case KeepOnly:
	case WriteFile:
		if err = checkValue(c.Path, c.New, fit); err == nil && normal(c.New) == "" {
			err = errors.New("there is no value to write")
		}
		if other := otherOfPair(c.Path); c.Pair != "" && c.Pair != other {
			err = fmt.Errorf("%s and %s are no pair", c.Path, c.Pair)
		} else if other != "" && normal(c.New) == "0" {
			err = errors.New("0 is no value for one of a pair")
		}
	case Prlimit:
		if c.PID <= 0 || c.Path != fmt.Sprintf("/proc/%d/limits", c.PID) {
			err = fmt.Errorf("%q is not of process %d", c.Path, c.PID)
		} else if _, _, err = parseLimits(cmp.Or(c.Old, c.New)); err == nil {
			err = checkTarget(c.Path, c.New, fit)
		}
	case Remount:
		if err = checkPath(c.Path); !slices.Contains(atimes, c.New) || c.Old != "" && !slices.Contains(atimes, c.Old) {
			err = fmt.Errorf("kt does not remount from %q to %q", c.Old, c.New)
		}
	default:
		err = fmt.Errorf("there is no kind %q", c.Kind)
	}
	for _, l := range c.Keep {
		err = cmp.Or(err, checkOwnLine(l, fit))
	}
	return err
}

func checkPath(p string) error {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	if !path.IsAbs(p) || path.Clean(p) != p || strings.ContainsFunc(p, control) {
		return fmt.Errorf("%q is no path from the root", p)
	}
	return nil
}

// checkValuePath lets kt write only where the kernel's values are.
func checkValuePath(p string) error {
	if !strings.HasPrefix(p, "/proc/sys/") && !strings.HasPrefix(p, "/sys/") {
		return fmt.Errorf("%q is no file of the kernel's", p)
	}
	return checkPath(p)
}

// checkOwnPath lets kt's own files have only the names that kt gives them.
func checkOwnPath(p string) error {
	if !slices.Contains([]string{SysctlFile, TmpfilesFile, UdevFile, LimitsFile}, p) && !unitFile.MatchString(p) {
		return fmt.Errorf("%q is no place for a file of kt's", p)
	}
	return checkPath(p)
}

// SysctlTo returns the change that sets a kernel setting to a value until the next boot. It returns an error for a setting
// that kt tune does not change, and for a value outside its range.
func (t *Tree) SysctlTo(key, value string) (Change, error) {
	keys := changeable()
	if !slices.Contains(keys, key) {
		return Change{}, fmt.Errorf("sysctl %s is not among the kernel settings that kt changes%s", key, suggest.Hint(key, keys, "; kt tune --list shows what kt changes"))
	}
	c := Change{Kind: WriteFile, Path: "/proc/sys/" + sysctlPath(key), New: decimals(normal(value))}
	c.Setting = targets()[slices.IndexFunc(targets(), func(t target) bool { return t.Path == c.Path })].setting
	c.Pair = otherOfPair(c.Path)
	var err error
	if c.Old, c.PairOld, err = t.readPair(subject{Kind: WriteFile, Path: c.Path}); err != nil {
		return Change{}, err
	}
	return c, c.checkNew()
}

// changeable returns the kernel settings that kt can change, by their own names.
func changeable() (keys []string) {
	for _, key := range catalogueSysctls() {
		if slices.ContainsFunc(targets(), func(t target) bool { return t.Path == "/proc/sys/"+sysctlPath(key) }) {
			keys = append(keys, key)
		}
	}
	return keys
}
