package tune

import (
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// unitFolders hold the units of systemd; a file in one hides those of the same name in
// the ones after it.
var unitFolders = []string{"etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"}

// unitOption is a service's option as its unit and the files beside it set it, and
// the file that wins; "" for none.
func (m *Machine) unitOption(unit, option string) (value, file string) {
	for _, name := range m.unitFiles(unit) {
		text, _ := m.Text(name) // what may not be read is passed over
		section := ""
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "[") {
				section = line
				continue
			}
			key, v, ok := strings.Cut(line, "=")
			if ok && section == "[Service]" && strings.TrimSpace(key) == option {
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
	var files []string
	beside := make(map[string]string) // by base name, which decides their order
	for _, n := range names {
		for _, dir := range unitFolders {
			if name := path.Join(dir, n); len(files) == 0 && m.Exists(name) {
				files = append(files, name)
			}
			for _, name := range m.Glob(path.Join(dir, n+".d", "*.conf")) {
				if base := path.Base(name); beside[base] == "" {
					beside[base] = name
				}
			}
		}
	}
	for _, base := range slices.Sorted(maps.Keys(beside)) {
		files = append(files, beside[base])
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
	if !strings.HasSuffix(unit, ".service") {
		return
	}
	text, file := m.unitOption(unit, "LimitNOFILE")
	n, ok := limitOption(text)
	if !ok {
		return
	}
	r.Persisted, r.PersistedIn = text, file
	later := strconv.FormatInt(n, 10)
	if r.Verdict != OK || want.Leave() || want.Holds(later) {
		return
	}
	target := want.Target(later)
	wanted, err := strconv.ParseInt(target, 10, 64)
	if err != nil {
		return
	}
	r.Verdict = Warn
	r.addNote("will be %s when %s starts again: %s", text, unit, file)
	c := Change{Setting: "limits.nofile", Kind: KeepOnly, Path: file, Old: text, New: target}
	c.Keep, c.Advice = m.keepNofile(wanted)
	r.Changes = []Change{c}
}
