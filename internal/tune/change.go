package tune

import "fmt"

// Change makes one value of a running machine as wanted, and says how it is to
// stay so. It is a value: nothing happens by making one.
type Change struct {
	Setting string `json:"setting"` // the ID
	Kind    Kind   `json:"kind"`

	// Path is the file that is written, from the root: "/proc/sys/vm/swappiness". Of
	// Prlimit it is "/proc/PID/limits", of Remount the mount point.
	Path string `json:"path"`
	Old  string `json:"old"` // what is there now
	New  string `json:"new"`

	// Pair is the other file of a pair of which writing one sets the other to 0, and
	// PairOld what is there: that is the one to restore when Old is "0".
	Pair    string `json:"pair,omitempty"`
	PairOld string `json:"pair_old,omitempty"`

	PID   int   `json:"pid,omitempty"`   // of Prlimit, with the process's start in ticks
	Start int64 `json:"start,omitempty"` // so that no other process is ever meant

	// Keep are the lines for kt's own files that make the change last. Without any it
	// lasts until the machine, or the process, starts again; Advice says what a person
	// may do about it.
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
