package host

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Process is a program that runs.
type Process struct {
	PID   int
	Args  []string // of a JVM with the options that it takes from elsewhere, see [jvm.Complete]
	UID   int      // the effective one: what it may do depends on it
	Start int64    // in ticks since the machine started: with the PID it names the process for good
	Dir   string   // working directory; "" when it may not be read
	Unit  string   // the systemd unit that it runs in: "kafka.service"; "" for none, or for one of a user's own

	OptionsErr error // why Args lacks some options of a JVM
}

// Limit is a resource limit. -1 is unlimited.
type Limit struct{ Soft, Hard int64 }

// Processes are those that run here and have a command line, by PID. One that
// ends while it is looked at is left out.
func (f FS) Processes() ([]Process, error) {
	names, err := f.Names("proc")
	if err != nil {
		return nil, err
	}
	var all []Process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid <= 0 {
			continue
		}
		if p, err := f.Process(pid); err == nil && len(p.Args) > 0 {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
	return all, nil
}

// Process looks at one process. One that does not run is [fs.ErrNotExist]. Threads
// of the kernel, and processes that have ended and were not waited for, have no Args.
func (f FS) Process(pid int) (Process, error) {
	p := Process{PID: pid}
	line, err := f.Read(procFile(pid, "cmdline"))
	if err != nil {
		return p, gone(err)
	}
	if line = bytes.TrimSuffix(line, []byte{0}); len(line) > 0 {
		p.Args = strings.Split(string(line), "\x00")
	}
	stat, err := f.Text(procFile(pid, "stat"))
	if err != nil {
		return p, gone(err)
	}
	if p.Start, err = startOf(stat); err != nil {
		return p, fmt.Errorf("%s: %w", procFile(pid, "stat"), err)
	}
	if p.UID, err = f.effectiveUID(pid); err != nil {
		return p, gone(err)
	}
	p.Dir, _ = f.Link(procFile(pid, "cwd"))
	if len(p.Args) > 0 && path.Base(p.Args[0]) == "java" {
		f.complete(&p)
	}
	if groups, err := f.Text(procFile(pid, "cgroup")); err == nil {
		p.Unit = unitOf(groups)
	}
	return p, nil
}

// procFile returns a file of a process; 0 is the process that reads.
func procFile(pid int, name string) string {
	if pid == 0 {
		return path.Join("proc/self", name)
	}
	return path.Join("proc", strconv.Itoa(pid), name)
}

// gone returns an error that is [fs.ErrNotExist] also when the process ended between
// opening a file and reading it.
func gone(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}

// startOf returns the start in a stat file: its 22nd field. The second is the program's
// name in parentheses, in which there may be anything, also parentheses.
func startOf(stat string) (int64, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0, fmt.Errorf("%q has no start time", stat)
	}
	return strconv.ParseInt(fields[19], 10, 64)
}

// effectiveUID returns the second number of the line "Uid: real effective saved fs".
func (f FS) effectiveUID(pid int) (int, error) {
	line, err := f.status(pid, "Uid")
	if err != nil {
		return 0, err
	}
	ids := strings.Fields(line)
	if len(ids) < 2 {
		return 0, fmt.Errorf("%s: Uid: %q", procFile(pid, "status"), line)
	}
	return strconv.Atoi(ids[1])
}

// status returns a value in a process's status file: "Uid", "NSpid", "Cpus_allowed_list".
func (f FS) status(pid int, name string) (string, error) {
	text, err := f.Text(procFile(pid, "status"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v), nil
		}
	}
	return "", fmt.Errorf("%s has no %s: %w", procFile(pid, "status"), name, fs.ErrNotExist)
}

// InnerPID returns the PID that a process has in the innermost namespace that it is in:
// its own, in a container; pid itself where the kernel does not tell.
func (f FS) InnerPID(pid int) int {
	line, _ := f.status(pid, "NSpid") // outermost first
	if ids := strings.Fields(line); len(ids) > 0 {
		if inner, err := strconv.Atoi(ids[len(ids)-1]); err == nil && inner > 0 {
			return inner
		}
	}
	return pid
}

// unitOf returns the systemd service in a cgroup file. systemd keeps its tree under
// version 2, or in version 1 in a hierarchy of its own.
func unitOf(cgroups string) string {
	groups, _ := parseCgroups(cgroups) // what is read up to a broken line will do
	for _, g := range groups {
		if !g.v2() && !slices.Contains(g.controllers, "name=systemd") {
			continue
		}
		if unit := serviceIn(g.path); unit != "" {
			return unit
		}
	}
	return ""
}

// serviceIn returns the last service in a path. A scope in a service is what the service
// started on someone's behalf, and what is below user@1000.service belongs to that
// user's own systemd: the machine's drop-ins reach neither.
func serviceIn(p string) string {
	unit := ""
	for name := range strings.SplitSeq(p, "/") {
		switch {
		case strings.HasPrefix(name, "user@") && strings.HasSuffix(name, ".service"):
			return ""
		case strings.HasSuffix(name, ".service"):
			unit = name
		case strings.HasSuffix(name, ".scope"):
			unit = ""
		}
	}
	return unit
}

// Limits returns a process's resource limits under the kernel's names: "Max open
// files". pid 0 is kt itself.
func (f FS) Limits(pid int) (map[string]Limit, error) {
	name := procFile(pid, "limits")
	text, err := f.Text(name)
	if err != nil {
		return nil, gone(err)
	}
	limits, err := parseLimits(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return limits, nil
}

// parseLimits reads a table whose names have single spaces in them, and at least
// two behind them. Its first line is a heading.
func parseLimits(text string) (map[string]Limit, error) {
	limits := make(map[string]Limit)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "Limit ") {
			continue
		}
		name, rest, _ := strings.Cut(line, "  ")
		values := strings.Fields(rest)
		if len(values) < 2 {
			return nil, fmt.Errorf("%q is not a name and two limits", line)
		}
		var both [2]int64
		for i := range both {
			n, err := strconv.ParseUint(values[i], 10, 64)
			switch {
			case values[i] == "unlimited":
				both[i] = -1
			case err != nil:
				return nil, fmt.Errorf("%q: %q is not a limit", line, values[i])
			default:
				both[i] = int64(min(n, math.MaxInt64))
			}
		}
		limits[name] = Limit{both[0], both[1]}
	}
	return limits, nil
}

// MappedAreas counts a process's memory mappings, of which vm.max_map_count allows
// so many. Only root and the process's own user may count: for others the error is
// [fs.ErrPermission].
func (f FS) MappedAreas(pid int) (int, error) {
	text, err := f.Read(procFile(pid, "maps"))
	return bytes.Count(text, []byte{'\n'}), gone(err)
}

// OpenFiles counts a process's open files and connections. Only root and the
// process's own user may count: for others the error is [fs.ErrPermission].
func (f FS) OpenFiles(pid int) (int, error) {
	entries, err := fs.ReadDir(f.tree, procFile(pid, "fd"))
	return len(entries), gone(err)
}
