package host

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/kt-bench/kt/internal/host/jvm"
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

// Processes returns those that run here and have a command line, by PID; with a program those of that, and then it reads no more
// than the command lines of others. One that ends while it is looked at is left out.
func (f FS) Processes(program string) ([]Process, error) {
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
		line, _ := f.Text(procFile(pid, "cmdline"))
		if first, _, _ := strings.Cut(line, "\x00"); first == "" || program != "" && path.Base(first) != program {
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
	// The second field is the program's name in parentheses, in which there may be anything; the 22nd is the start.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return p, fmt.Errorf("%s: %q has no start time", procFile(pid, "stat"), stat)
	}
	if p.Start, err = strconv.ParseInt(fields[19], 10, 64); err != nil {
		return p, fmt.Errorf("%s: %w", procFile(pid, "stat"), err)
	}
	ids, err := f.status(pid, "Uid") // real, effective, saved, of files
	if err == nil && len(ids) < 2 {
		err = fmt.Errorf("%s: Uid: %q", procFile(pid, "status"), ids)
	}
	if err == nil {
		p.UID, err = strconv.Atoi(ids[1])
	}
	if err != nil {
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

// gone returns an error that is [fs.ErrNotExist] also when the process ended between opening a file and reading it.
func gone(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}

// status returns the words of a value in a process's status file: of "Uid", "NSpid", "Cpus_allowed_list".
func (f FS) status(pid int, name string) ([]string, error) {
	text, err := f.Text(procFile(pid, "status"))
	if err != nil {
		return nil, err
	}
	for words := range rows(text) {
		if words[0] == name+":" {
			return words[1:], nil
		}
	}
	return nil, fmt.Errorf("%s has no %s: %w", procFile(pid, "status"), name, fs.ErrNotExist)
}

// InnerPID returns the PID that a process has in the innermost namespace that it is in:
// its own, in a container; pid itself where the kernel does not tell.
func (f FS) InnerPID(pid int) int {
	ids, _ := f.status(pid, "NSpid") // outermost first
	if len(ids) > 0 {
		if inner, err := strconv.Atoi(ids[len(ids)-1]); err == nil && inner > 0 {
			return inner
		}
	}
	return pid
}

// unitOf returns the last systemd service in a cgroup file, of version 2 or of systemd's own hierarchy. A scope in it is what the
// service started for someone, and what is below user@1000.service belongs to that user's systemd: no drop-in of the machine reaches
// those.
func unitOf(cgroups string) (unit string) {
	groups, _ := parseCgroups(cgroups) // what is read up to a broken line will do
	for _, g := range groups {
		if unit != "" || !g.v2() && !slices.Contains(g.controllers, "name=systemd") {
			continue
		}
		for name := range strings.SplitSeq(g.path, "/") {
			isService := strings.HasSuffix(name, ".service")
			if isService && strings.HasPrefix(name, "user@") {
				unit = ""
				break
			}
			if isService {
				unit = name
			} else if strings.HasSuffix(name, ".scope") {
				unit = ""
			}
		}
	}
	return unit
}

// Limits returns a process's resource limits under the kernel's names: "Max open
// files". pid 0 is kt itself.
func (f FS) Limits(pid int) (map[string]Limit, error) {
	file := procFile(pid, "limits")
	text, err := f.Text(file)
	if err != nil {
		return nil, gone(err)
	}
	limits := make(map[string]Limit)
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), "  ") // names have single spaces in them
		if name == "" || strings.HasPrefix(name, "Limit") {
			continue
		}
		values := strings.Fields(rest)
		if len(values) < 2 {
			return nil, fmt.Errorf("%s: %q is not a name and two limits", file, line)
		}
		var both [2]int64
		for i := range both {
			n, err := strconv.ParseUint(values[i], 10, 64)
			switch {
			case values[i] == "unlimited":
				both[i] = -1
			case err != nil:
				return nil, fmt.Errorf("%s: %q: %q is not a limit", file, line, values[i])
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

// Maps is how many memory mappings a Kafka process has. It ends when it needs more than the limit,
// vm.max_map_count: the indexes of each log segment take two.
type Maps struct {
	PID         int
	Used, Limit int64 // 0: not known
}

// mapsShow is the share of the limit from which on it is time to raise it.
const mapsShow = 0.80

// Near reports whether a process is near the limit.
func (m Maps) Near() bool { return m.Limit > 0 && float64(m.Used) >= mapsShow*float64(m.Limit) }

func (m Maps) String() string {
	return fmt.Sprintf("broker process %d has %d of %d memory mappings, and ends when it needs more: raise vm.max_map_count (kt tune)", m.PID, m.Used, m.Limit)
}

// Maps counts the memory mappings of a process.
func (f FS) Maps(pid int) Maps {
	limit, _ := f.Number("proc/sys/vm/max_map_count") // 0: not known
	used, _ := f.MappedAreas(pid)
	return Maps{PID: pid, Used: int64(used), Limit: limit}
}

// mostRead is the size in bytes up to which a file is read that a process names, or leaves where anybody may write.
const mostRead = 1 << 20

// complete adds to the command line of a JVM what it does not show.
func (f FS) complete(p *Process) {
	environ, _, err := f.ReadRegular(procFile(p.PID, "environ"), mostRead)
	if errors.Is(err, fs.ErrNotExist) { // of a copy of a machine's files
		err = nil
	}
	root := ""
	if f.OtherMounts(p.PID) {
		root = procFile(p.PID, "root")
	}
	if f.root == "/" { // the links in the root of a process lead to places in that root
		f.tree = below(f.root)
	}
	args, problem := jvm.Complete(p.Args, strings.Split(string(environ), "\x00"), func(name string) (string, error) {
		if !path.IsAbs(name) {
			name = path.Join(p.Dir, name)
		}
		b, _, err := f.ReadRegular(path.Join(root, Rel(name)), mostRead)
		return string(b), err
	})
	p.Args, p.OptionsErr = args, errors.Join(err, problem)
}

// OtherMounts reports whether a process sees other mounts than kt does. The lists are
// compared, which every user may read; the links in /proc/PID/ns only root may.
func (f FS) OtherMounts(pid int) bool {
	own, err := f.Text("proc/self/mountinfo")
	theirs, theirErr := f.Text(procFile(pid, "mountinfo"))
	return err == nil && theirErr == nil && own != theirs
}

// RunsKafka reports whether a process with these words on its command line, as [Process] has them, is Kafka's
// server: Apache's class, or Confluent's wrapper around it.
func (f FS) RunsKafka(pid int, args []string) bool {
	if len(args) == 0 || path.Base(args[0]) != "java" {
		return false
	}
	// A command line can say anything; the program cannot. Only root may look at it.
	if program, err := f.Link(path.Join("proc", strconv.Itoa(pid), "exe")); err == nil && path.Base(program) != "java" {
		return false
	}
	main := jvm.ParseFlags(args).Main
	return main == "kafka.Kafka" || main == "io.confluent.support.metrics.SupportedKafka"
}

// Brokers returns the processes of Kafka's server, by PID.
func (f FS) Brokers() ([]Process, error) {
	all, err := f.Processes("java")
	return slices.DeleteFunc(all, func(p Process) bool { return !f.RunsKafka(p.PID, p.Args) }), err
}

// kafkaJar is Kafka's own jar in a class path.
var kafkaJar = regexp.MustCompile(`kafka_2\.\d+-(\d+\.\d+\.\d+[^/:]*?)\.jar`)

// KafkaVersion returns the version of Kafka that words of a command line start: "4.3.1"; "": the class path does not tell. within
// returns the file of the tree for a folder of it.
func (f FS) KafkaVersion(args []string, within func(folder string) string) string {
	jars := slices.Clone(args)
	i := slices.IndexFunc(jars, func(a string) bool { return a == "-cp" || a == "-classpath" || a == "--class-path" })
	if i >= 0 && i+1 < len(jars) {
		for entry := range strings.SplitSeq(jars[i+1], ":") {
			if folder, all := strings.CutSuffix(entry, "/*"); all {
				names, _ := f.Names(within(folder)) // a folder that may not be read tells nothing
				jars = append(jars, names...)
			}
		}
	}
	for _, jar := range jars {
		if found := kafkaJar.FindStringSubmatch(jar); found != nil {
			return found[1]
		}
	}
	return ""
}

// LogSystems returns the kinds of file systems with a broker's logs, "ext4 tmpfs", by the indexes that it has mapped; "": not known.
func (f FS) LogSystems(pid int) string {
	maps, _ := f.Text(procFile(pid, "maps")) // only root and the broker's user may read it
	text, _ := f.Text(procFile(pid, "mountinfo"))
	mounts, _ := ParseMounts(text)
	var kinds []string
	for line := range strings.Lines(maps) {
		_, file, ok := strings.Cut(strings.TrimSpace(line), "/")
		if m, found := MountOf(mounts, "/"+file); ok && found && strings.HasSuffix(file, ".index") && !slices.Contains(kinds, m.Type) {
			kinds = append(kinds, m.Type)
		}
	}
	slices.Sort(kinds)
	return strings.Join(kinds, " ")
}

// Perf reads what a JVM publishes of itself, in the /tmp that it sees first. Anybody may leave such a file: one of another user
// is not the JVM's.
func (f FS) Perf(p Process) (jvm.Perf, error) {
	inner := f.InnerPID(p.PID)
	files := f.Glob(fmt.Sprintf("proc/%d/root/tmp/hsperfdata_*/%d", p.PID, inner))
	if inner == p.PID { // else the file of that number is another process's
		files = append(files, f.Glob(fmt.Sprintf("tmp/hsperfdata_*/%d", inner))...)
	}
	err := fmt.Errorf("hsperfdata of process %d: %w", p.PID, fs.ErrNotExist)
	for _, name := range files {
		b, owner, readErr := f.ReadRegular(name, mostRead)
		if readErr != nil {
			err = readErr
		} else if owner == p.UID || owner < 0 {
			return jvm.ParsePerf(b)
		}
	}
	return jvm.Perf{}, err
}
