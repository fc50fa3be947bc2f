package tune

import (
	"cmp"
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
