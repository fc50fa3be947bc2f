package tune

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
)

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

func (c *Change) check() error {
	for _, l := range c.Keep {
		if err := checkOwnPath(l.File); err != nil {
			return err
		}
		if strings.ContainsAny(l.Text+l.Head, "\n\x00") {
			return fmt.Errorf("%q is more than one line", l.Text)
		}
	}
	if strings.ContainsAny(c.New, "\n\x00") {
		return fmt.Errorf("%q is more than one line", c.New)
	}
	for _, old := range []string{c.Old, c.PairOld} { // a script has them in comments, which end with the line
		if strings.ContainsFunc(strings.TrimSpace(old), func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) {
			return fmt.Errorf("the old value %q is more than one line", old)
		}
	}
	switch c.Kind {
	case KeepOnly:
		return nil
	case WriteFile:
		if c.Pair != "" && normal(c.New) == "0" {
			return errors.New("0 is no value for one of a pair")
		}
		if normal(c.New) == "" {
			return errors.New("there is no value to write")
		}
		if c.Pair != "" {
			return errors.Join(checkValuePath(c.Path), checkValuePath(c.Pair))
		}
		return checkValuePath(c.Path)
	case Prlimit:
		if _, _, err := parseLimits(c.New); err != nil || c.PID <= 0 {
			return fmt.Errorf("%q of process %d is no limit", c.New, c.PID)
		}
		if _, _, err := parseLimits(c.Old); err != nil && c.Old != "" {
			return err
		}
		return nil
	case Remount:
		if !slices.Contains(atimes, c.New) {
			return fmt.Errorf("kt does not remount with %q", c.New)
		}
		if c.Old != "" && !slices.Contains(atimes, c.Old) {
			return fmt.Errorf("the old value %q is no way to keep access times", c.Old)
		}
		return checkPath(c.Path)
	}
	return fmt.Errorf("there is no kind %q", c.Kind)
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
