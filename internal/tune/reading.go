package tune

import (
	"errors"
	"fmt"
	"io/fs"
)

// Verdict is what a check found.
type Verdict string

// The verdicts.
const (
	OK            Verdict = "ok"
	Fail          Verdict = "fail"
	Warn          Verdict = "warn"
	Info          Verdict = "info"    // not as wanted, or worth knowing; nothing depends on it
	Unknown       Verdict = "unknown" // could not be read: neither good nor bad
	NotApplicable Verdict = "not_applicable"
)

// Verdicts are all verdicts, the worst first.
var Verdicts = []Verdict{Fail, Warn, Info, Unknown, OK, NotApplicable}

// Reading is what one check found on one machine.
type Reading struct {
	Verdict Verdict `json:"verdict"`
	Current string  `json:"current"`        // as the machine has it, "" for nothing
	Wanted  string  `json:"wanted"`         // "≥ 262144"; "" where nothing is wanted
	Note    string  `json:"note,omitempty"` // what is special about this machine, in one line; shown before the setting's Why

	// What it will be after the next boot, and which file says so: "" for none. Of
	// kernel settings Check need not fill these in.
	Persisted   string `json:"persisted"`
	PersistedIn string `json:"persisted_in,omitempty"`
	Drifts      bool   `json:"-"` // the value is as wanted now, and Note says which one it will have after the next boot

	Changes []Change `json:"changes,omitempty"` // would make it as wanted
	Command string   `json:"command,omitempty"` // what to run instead, where kt does not change it by itself

	rule  Rule    // that [Compare] held the value to, or is to hold it to in place of the row's
	shown string  // Current in other words, of a reading without a verdict
	bad   Verdict // in place of the row's, of a reading without a verdict
	// set makes the change to another value, of a reading without a verdict.
	set func(value string) Change
}

// Unreadable is the reading of what could not be read, and why.
func Unreadable(format string, args ...any) Reading {
	return Reading{Verdict: Unknown, Note: fmt.Sprintf(format, args...)}
}

const needsRoot = "needs root"

// none is the error of what a machine does not have: the reason.
type none string

func (n none) Error() string { return string(n) }

// Denied is the reading of what kt may not read, or could not: of err the reader
// gets the reason. A file that is not there is [NotApplicable].
func Denied(err error) Reading {
	var reason none
	switch {
	case errors.As(err, &reason):
		return Absent("%s", reason)
	case errors.Is(err, fs.ErrPermission):
		return Unreadable(needsRoot)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errors.ErrUnsupported):
		return Absent("this machine does not have it")
	}
	return Unreadable("%s", err)
}

// lacking is [Denied], with a reason of its own, if there is one, for a file that is not there.
func lacking(err error, reason string) Reading {
	r := Denied(err)
	if reason != "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported)) {
		r.Note = reason
	}
	return r
}

// Absent is the reading of what does not apply to this machine, and why.
func Absent(format string, args ...any) Reading {
	return Reading{Verdict: NotApplicable, Note: fmt.Sprintf(format, args...)}
}

// Compare is the reading of a value that a rule judges. bad is the verdict when it
// does not hold; a rule that leaves the value alone has the verdict Info.
func Compare(current string, want Rule, bad Verdict) Reading {
	r := Reading{Current: current, Wanted: want.String(), rule: want}
	switch {
	case want.Leave():
		r.Verdict = Info
	case want.Holds(current):
		r.Verdict = OK
	default:
		r.Verdict = bad
	}
	return r
}
