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

// unitFolders hold the units of systemd; a file in one hides those of the same name in
// the ones after it. See systemd.unit(5).
var unitFolders = []string{
	"etc/systemd/system.control", "run/systemd/system.control", "run/systemd/transient", "run/systemd/generator.early",
	"etc/systemd/system", "etc/systemd/system.attached", "run/systemd/system", "run/systemd/system.attached", "run/systemd/generator",
	"usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system", "run/systemd/generator.late",
}

// managerFolders hold the settings of systemd itself, in the same way.
var managerFolders = []string{"etc/systemd", "run/systemd", "usr/local/lib/systemd", "usr/lib/systemd", "lib/systemd"}

// unitLimit is a service's limit of open files as its unit sets it, or else systemd for
// all services, and the file that says so; "" for none.
func (m *Machine) unitLimit(unit string) (value, file string) {
	if value, file = m.option(m.unitFiles(unit), "[Service]", "LimitNOFILE"); value != "" {
		return value, file
	}
	files := slices.Concat(m.first(managerFolders, "system.conf"), m.dropIns(in(managerFolders, "system.conf.d")))
	return m.option(files, "[Manager]", "DefaultLimitNOFILE")
}

// option is what the last of some files sets an option of a section to, and its name;
// "" for none.
func (m *Machine) option(files []string, section, option string) (value, file string) {
	for _, name := range files {
		text, _ := m.Text(name) // what may not be read is passed over
		at := ""
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "[") {
				at = line
				continue
			}
			key, v, ok := strings.Cut(line, "=")
			if ok && at == section && strings.TrimSpace(key) == option {
				value, file = strings.TrimSpace(v), "/"+name
			}
		}
	}
	if value == "" {
		return "", "" // an empty value takes back what was set before
	}
	return value, file
}

// unitFiles are a unit's own file and those beside it, in the order in which they are
// read.
func (m *Machine) unitFiles(unit string) []string {
	names := []string{unit}
	if at := strings.IndexByte(unit, '@'); at >= 0 { // an instance: kafka@1.service of kafka@.service
		names = append(names, unit[:at+1]+path.Ext(unit))
	}
	var beside []string // folders, those first that hide the same names in others
	for _, folder := range unitFolders {
		for _, n := range names {
			for _, shorter := range cutAtDashes(n) {
				beside = append(beside, path.Join(folder, shorter+".d"))
			}
		}
	}
	// Those of all units of a kind are hidden by any of the unit's own.
	beside = append(beside, in(unitFolders, strings.TrimPrefix(path.Ext(unit), ".")+".d")...)
	var own []string
	for _, n := range names {
		if own = m.first(unitFolders, n); len(own) > 0 {
			break
		}
	}
	return slices.Concat(own, m.dropIns(beside))
}

// cutAtDashes are a unit's name and those of which it is one by its prefix:
// "kafka-eu-1.service", "kafka-eu-.service", "kafka-.service".
func cutAtDashes(unit string) []string {
	names := []string{unit}
	kind := path.Ext(unit)
	for stem := strings.TrimSuffix(unit, kind); ; {
		i := strings.LastIndexByte(strings.TrimRight(stem, "-"), '-')
		if i <= 0 {
			return names
		}
		stem = stem[:i+1]
		names = append(names, stem+kind)
	}
}

// in are the paths of a name in some folders.
func in(folders []string, name string) []string {
	paths := make([]string, len(folders))
	for i, f := range folders {
		paths[i] = path.Join(f, name)
	}
	return paths
}

// first is the file of a name in the first of some folders that has it, or none.
func (m *Machine) first(folders []string, name string) []string {
	for _, p := range in(folders, name) {
		if m.Exists(p) {
			return []string{p}
		}
	}
	return nil
}

// dropIns are the files *.conf of some folders in the order in which systemd reads them:
// by their names, and of the same name the first.
func (m *Machine) dropIns(folders []string) []string {
	byName := make(map[string]string)
	for _, folder := range folders {
		for _, file := range m.Glob(path.Join(folder, "*.conf")) {
			if base := path.Base(file); byName[base] == "" {
				byName[base] = file
			}
		}
	}
	var files []string
	for _, base := range slices.Sorted(maps.Keys(byName)) {
		files = append(files, byName[base])
	}
	return files
}

// limitOption reads "65536", "1024:65536", of which the hard limit counts, or
// "infinity".
func limitOption(text string) (int64, bool) {
	if _, hard, ok := strings.Cut(text, ":"); ok {
		text = hard
	}
	if text == "infinity" {
		return math.MaxInt64, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0
}

// persistNofile notes what the broker will be allowed when it starts again, where
// its unit says so: a limit that is right now and will not be then is a warning.
func (m *Machine) persistNofile(r *Reading, want Rule) {
	unit := m.Process.Unit
	if !isService(unit) || m.brokerContained() { // whose unit is that of the runtime
		return
	}
	text, file := m.unitLimit(unit)
	n, ok := limitOption(text)
	if !ok {
		return
	}
	r.Persisted, r.PersistedIn = text, file
	if r.Verdict != OK || want.Leave() || want.Holds(strconv.FormatInt(n, 10)) {
		return
	}
	r.Verdict = Warn
	r.addNote("%s when %s starts again: %s", text, unit, file)
	r.Changes = m.keepUnitLimit(unit, n, text, file, want)
}

// unitNofile judges the limit of a broker that does not run, by its unit.
func (m *Machine) unitNofile(want Rule) Reading {
	if !isService(m.Unit) {
		return Absent("no broker runs here")
	}
	text, file := m.unitLimit(m.Unit)
	n, ok := limitOption(text)
	if !ok {
		return Reading{Verdict: Unknown, Note: "no broker runs here, and nothing sets the LimitNOFILE of " + m.Unit}
	}
	limit := n
	if n == math.MaxInt64 {
		limit = -1 // as the kernel's figures have it
	}
	r := nofileVerdict(m, limit, want)
	r.Persisted, r.PersistedIn = text, file
	r.addNote("of %s, when it starts", m.Unit)
	if r.Verdict != OK && !want.Leave() {
		r.Changes = m.keepUnitLimit(m.Unit, n, text, file, want)
	}
	return r
}

// keepUnitLimit is the change of what a unit says; none where that cannot be raised.
func (m *Machine) keepUnitLimit(unit string, n int64, text, file string, want Rule) []Change {
	target, err := strconv.ParseInt(want.Target(strconv.FormatInt(n, 10)), 10, 64)
	if err != nil {
		return nil
	}
	allowed := m.allowedNofile(target)
	if allowed <= n {
		return nil
	}
	return []Change{{
		Setting: "limits.nofile", Kind: KeepOnly, Path: file, Old: text, New: strconv.FormatInt(allowed, 10),
		Keep: []Line{unitLine(unit, allowed)}, Advice: m.capAdvice(target, "systemctl daemon-reload, for it to count at the next start of "+unit),
	}}
}

func isService(unit string) bool {
	return strings.HasSuffix(unit, ".service") && !strings.HasPrefix(unit, "user@")
}

func unitLine(unit string, n int64) Line {
	return Line{File: DropIn(unit), Head: "[Service]", Text: fmt.Sprintf("LimitNOFILE=%d", n)}
}

// allowedNofile is a limit of open files, or as much of it as fs.nr_open is sure to allow
// at the next start. With more than that a login or a unit fails, and a change of
// fs.nr_open may not be made, or not last.
func (m *Machine) allowedNofile(n int64) int64 {
	most := int64(1 << 20) // as the kernel starts
	if now, err := m.Number(host.SysctlFile("fs.nr_open")); err == nil {
		most = now
	}
	if all := m.Sysctls["fs.nr_open"]; len(all) > 0 {
		if later, err := strconv.ParseInt(strings.TrimSpace(all[len(all)-1].Value), 10, 64); err == nil {
			most = min(most, later)
		}
	}
	return min(n, most)
}

// capAdvice adds to an advice what is to be done where fs.nr_open allows less than wanted.
func (m *Machine) capAdvice(wanted int64, advice string) string {
	if allowed := m.allowedNofile(wanted); allowed < wanted {
		advice += fmt.Sprintf("; fs.nr_open allows no more than %d: raise it, and run kt tune --apply%s again", allowed, m.pick)
	}
	return advice
}
