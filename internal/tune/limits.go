package tune

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

const openFilesLimit = "Max open files" // as the kernel calls it

// unlimited is a limit that is none, as a number to compare.
const unlimited = math.MaxInt64

// processLimit is a resource limit of a process by the kernel's name for it; of kt for 0.
func (m *Machine) processLimit(pid int, name string) (host.Limit, error) {
	all, err := m.Limits(pid)
	l, ok := all[name]
	if err == nil && !ok {
		err = fmt.Errorf("/proc/%s/limits has no %q", strings.Replace(strconv.Itoa(pid), "0", "self", 1), name)
	}
	for _, n := range []*int64{&l.Soft, &l.Hard} {
		if *n < 0 {
			*n = unlimited
		}
	}
	return l, err
}

// filesWanted is the limit of open files that a broker needs here: the profile's, or more for its segments and connections.
func (m *Machine) filesWanted() int64 {
	var n int64
	if m.Profile != nil {
		v, _ := strconv.ParseFloat(m.Profile.Rule(rowOf("limits.nofile")).Value, 64) // a rule that leaves it alone wants nothing
		n = int64(v)
	}
	connections, _ := strconv.ParseInt(strings.TrimSpace(m.Config.Get("max.connections", "0")), 10, 64)
	if connections < 0 || connections >= math.MaxInt32 { // Kafka's word for unlimited
		connections = 0
	}
	if m.segments()+connections > 0 {
		n = max(n, m.segments()*9/2+2*connections+10000)
	}
	return n
}

// checkNofile judges the limit that the broker has, and that it will have when it starts again; of one that does not run the latter.
func checkNofile(m place) Reading {
	m.want = m.want.Floor(m.filesWanted())
	unit, text, file := m.Unit, "", ""
	if m.Process != nil {
		unit = m.Process.Unit
	}
	if isService(unit) && (m.Process == nil || !m.brokerContained()) { // the runtime of a container sets another
		text, file = m.unitLimit(unit)
	}
	later, known := limitOption(text)
	now, err := host.Limit{Soft: later}, error(nil)
	switch {
	case m.Process != nil:
		now, err = m.processLimit(m.Process.PID, openFilesLimit)
	case !isService(unit):
		err = none("no broker runs here")
	case !known:
		err = fmt.Errorf("no broker runs here, and nothing sets the LimitNOFILE of %s", unit)
	}
	if err != nil {
		return Denied(err)
	}
	r := m.raiseNofile(unit, text, file, now)
	if m.Process == nil {
		r.addNote("of %s, when it starts", unit)
	}
	return r
}

// raiseNofile judges a limit, and has the change of it, or of what a file says of the next start, where that can be raised.
func (m place) raiseNofile(unit, text, file string, now host.Limit) Reading {
	r, has := m.nofile(now.Soft), now.Soft
	if later, known := limitOption(text); known {
		has, r.Persisted, r.PersistedIn = later, text, file
	}
	target, err := strconv.ParseInt(m.want.Target(strconv.FormatInt(min(has, now.Soft), 10)), 10, 64)
	if m.Process != nil && r.Verdict == OK && has < target {
		r.Verdict = Warn
		r.addNote("%s when %s starts again: %s", text, unit, file)
	}
	ofUnit := m.Process == nil || now.Soft >= target
	if err != nil || r.Verdict == OK || ofUnit && m.Process != nil && r.Verdict == Fail {
		return r
	}
	c := Change{Setting: m.row.ID, Kind: KeepOnly, Path: file, Old: text}
	if c.Keep, c.Advice = m.keepNofile(unit, target, has); !ofUnit {
		c.Kind, c.Path, c.PID, c.Start = Prlimit, "/"+procFile(m.Process.PID, "limits"), m.Process.PID, m.Process.Start
		c.Old, c.New = limitText(now.Soft)+" "+limitText(now.Hard), limitText(target)+" "+limitText(max(target, now.Hard))
	} else if len(c.Keep) > 0 {
		_, c.New, _ = strings.Cut(c.Keep[0].Text, "=")
	}
	r.Changes = slices.DeleteFunc([]Change{c}, func(c Change) bool { return c.New == "" })
	return r
}

// nofile judges a limit of open files.
func (m place) nofile(limit int64) Reading {
	r := Reading{Current: strconv.FormatInt(limit, 10), bad: Info}
	if limit < 100000 {
		r.bad = Warn
	}
	r = m.judge(r)
	if need := 3 * m.segments(); limit < need {
		r.Verdict = Fail
		r.addNote("%d segments in the log directories need %d", m.segments(), need)
	} else if limit < 16384 {
		r.Verdict = Fail
	}
	return r
}

// brokerContained reports whether the broker runs in a container, whose runtime sets its limits.
func (m *Machine) brokerContained() bool {
	groups := strings.Join(slices.Collect(maps.Values(m.Cgroup.Paths)), " ")
	return m.Container != "" || slices.ContainsFunc([]string{"docker", "libpod", "kubepods", "containerd", "/lxc"}, func(mark string) bool {
		return strings.Contains(groups, mark)
	})
}

// keepNofile is where the broker will find its limit of n at its next start: nothing where fs.nr_open allows no more than it has.
func (m *Machine) keepNofile(unit string, n, has int64) (keep []Line, advice string) {
	if m.Process != nil && m.brokerContained() {
		return nil, fmt.Sprintf("the broker runs in a container: start it with --ulimit nofile=%d, or set the limit in the runtime's own configuration", n)
	}
	// What fs.nr_open allows both now and at the next start: a change of it may not be made, or not last.
	allowed := min(1<<20, n) // as the kernel starts
	if now, err := m.Number(host.SysctlFile("fs.nr_open")); err == nil {
		allowed = min(now, n)
	}
	if all := m.Sysctls["fs.nr_open"]; len(all) > 0 {
		if later, err := strconv.ParseInt(strings.TrimSpace(all[len(all)-1].Value), 10, 64); err == nil {
			allowed = min(allowed, later)
		}
	}
	if isService(unit) {
		advice = "systemctl daemon-reload, for it to count at the next start of " + unit
		keep = []Line{{File: DropIn(unit), Head: "[Service]", Text: fmt.Sprintf("LimitNOFILE=%d", allowed)}}
	} else {
		advice = "it counts from the next login of the user that starts the broker; a service of systemd does not read it"
		for _, kind := range []string{"soft", "hard"} {
			keep = append(keep, Line{File: LimitsFile, Text: fmt.Sprintf("%s %s nofile %d", m.userName(m.Process.UID), kind, allowed)})
		}
	}
	if allowed == n {
		return keep, advice
	}
	if allowed <= has {
		keep, advice = nil, "nothing is kept"
	}
	return keep, advice + fmt.Sprintf("; fs.nr_open allows no more than %d: raise it, and run kt tune --apply%s again", allowed, m.pick)
}

// userName is a user as limits.conf(5) names one: by name, or as the range of a single ID.
func (m *Machine) userName(uid int) string {
	text, _ := m.Text("etc/passwd") // without it there is the number
	id := strconv.Itoa(uid)
	for line := range strings.Lines(text) {
		f := strings.Split(line, ":")
		// A name that could be read as something else in that file is not taken.
		if len(f) >= 3 && f[2] == id && f[0] != "" && !strings.ContainsAny(f[0], " \t#*%@:\"") {
			return f[0]
		}
	}
	return id + ":" + id
}

// unitFolders hold the units of systemd; a file in one hides those of its name in the ones after it. See systemd.unit(5).
var unitFolders = []string{
	"etc/systemd/system.control", "run/systemd/system.control", "run/systemd/transient", "run/systemd/generator.early",
	"etc/systemd/system", "etc/systemd/system.attached", "run/systemd/system", "run/systemd/system.attached", "run/systemd/generator",
	"usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system", "run/systemd/generator.late",
}

// managerFolders hold the settings of systemd itself, in the same way.
var managerFolders = []string{"etc/systemd", "run/systemd", "usr/local/lib/systemd", "usr/lib/systemd", "lib/systemd"}

// unitLimit is a service's limit of open files as its unit or systemd sets it, and the file that says so; "" for none.
func (m *Machine) unitLimit(unit string) (value, file string) {
	if value, file = m.option(m.unitFiles(unit), "[Service]", "LimitNOFILE"); value != "" {
		return value, file
	}
	files := append(m.first(managerFolders, "system.conf"), m.dropIns(in(managerFolders, "system.conf.d"))...)
	return m.option(files, "[Manager]", "DefaultLimitNOFILE")
}

// option is what the last of some files sets an option of a section to, and its name; "" for none.
func (m *Machine) option(files []string, section, option string) (value, file string) {
	for _, name := range files {
		text, _ := m.Text(name) // what may not be read is passed over
		at := ""
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "[") {
				at = line
			}
			if key, v, ok := strings.Cut(line, "="); ok && at == section && strings.TrimSpace(key) == option {
				value, file = strings.TrimSpace(v), "/"+name
			}
		}
	}
	if value == "" {
		return "", "" // an empty value takes back what was set before
	}
	return value, file
}

// unitFiles are a unit's own file and those beside it in the order in which they are read: of kafka@1.service
// those of kafka@.service too, and of kafka-eu-1.service those of kafka-eu-.service and kafka-.service.
func (m *Machine) unitFiles(unit string) (files []string) {
	kind := path.Ext(unit)
	names := []string{unit}
	if stem, _, ok := strings.Cut(unit, "@"); ok {
		names = append(names, stem+"@"+kind)
	}
	var beside []string
	for _, n := range names {
		if len(files) == 0 {
			files = m.first(unitFolders, n)
		}
		for stem := strings.TrimSuffix(n, kind); stem != ""; {
			beside = append(beside, stem+kind+".d")
			stem = stem[:strings.LastIndexByte(strings.TrimRight(stem, "-"), '-')+1]
		}
	}
	// Those of all units of a kind are hidden by any of the unit's own.
	folders := append(in(unitFolders, beside...), in(unitFolders, strings.TrimPrefix(kind, ".")+".d")...)
	return append(files, m.dropIns(folders)...)
}

// in are the paths of names in some folders, by folder.
func in(folders []string, names ...string) (paths []string) {
	for _, f := range folders {
		for _, n := range names {
			paths = append(paths, path.Join(f, n))
		}
	}
	return paths
}

// first is the file of a name in the first of some folders that has it, or none.
func (m *Machine) first(folders []string, name string) []string {
	paths := in(folders, name)
	if i := slices.IndexFunc(paths, m.Exists); i >= 0 {
		return paths[i : i+1 : i+1]
	}
	return nil
}

// dropIns are the files *.conf of some folders as systemd reads them: by their names, and of the same name the first.
func (m *Machine) dropIns(folders []string) (files []string) {
	byName := make(map[string]string)
	for _, folder := range slices.Backward(folders) {
		for _, file := range m.Glob(path.Join(folder, "*.conf")) {
			byName[path.Base(file)] = file
		}
	}
	for _, base := range slices.Sorted(maps.Keys(byName)) {
		files = append(files, byName[base])
	}
	return files
}

// limitOption reads "65536", "1024:65536", of which the hard limit counts, or "infinity".
func limitOption(text string) (int64, bool) {
	if _, hard, ok := strings.Cut(text, ":"); ok {
		text = hard
	}
	if text == "infinity" {
		return unlimited, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0
}

func isService(unit string) bool {
	return strings.HasSuffix(unit, ".service") && !strings.HasPrefix(unit, "user@")
}
