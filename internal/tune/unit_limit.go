package tune

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
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
	files := append(m.first(managerFolders, "system.conf"), m.dropIns(in(managerFolders, "system.conf.d"))...)
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

// unitFiles are a unit's own file and those beside it, in the order in which they are read: beside an instance of a
// template, kafka@1.service, those of kafka@.service, and beside kafka-eu-1.service those of kafka-eu-.service and
// kafka-.service.
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

// dropIns are the files *.conf of some folders in the order in which systemd reads them:
// by their names, and of the same name the first.
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

// limitOption reads "65536", "1024:65536", of which the hard limit counts, or
// "infinity".
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
