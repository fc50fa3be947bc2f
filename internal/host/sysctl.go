package host

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
)

// Sysctl is a kernel setting as a file sets it at boot.
type Sysctl struct {
	Key   string // "vm.swappiness"
	Value string // with single spaces: "4096 131072 16777216"
	File  string // "/etc/sysctl.d/99-sysctl.conf"
	Line  int    // from 1
}

// sysctlDirs are the folders of sysctl.d(5): of two files with one name, that of the folder named first is read.
var sysctlDirs = []string{
	"etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d", "lib/sysctl.d",
}

const sysctlConf = "etc/sysctl.conf"

// Sysctls returns the kernel settings that files set, by key, in the order in which
// systemd-sysctl reads them: the last one wins. Files are ordered by their base
// names over all folders; of two with one name the folder named first in
// sysctl.d(5) wins and the other is not read. /etc/sysctl.conf comes last, as
// procps reads it, and only if no link below sysctl.d already leads to it.
//
// A key that is a pattern counts for the settings that the machine has and no file
// names. The error names all files that cannot be read; the settings of the others are
// returned with it. A line that is no setting is left out, as systemd does.
func (f FS) Sysctls() (map[string][]Sysctl, error) {
	files, problems := f.sysctlFiles()
	var lines []sysctlLine
	for _, file := range files {
		text, err := f.Read(f.follow(file))
		if err != nil {
			problems = append(problems, err)
			continue
		}
		lines = append(lines, parseSysctls("/"+file, string(text))...)
	}
	named := make(map[string]bool)
	for _, l := range lines {
		named[l.Key] = true
	}
	all := make(map[string][]Sysctl)
	for _, l := range lines {
		switch {
		case l.spared:
		case !strings.ContainsAny(l.Key, "*?["):
			all[l.Key] = append(all[l.Key], l.Sysctl)
		default:
			for _, file := range f.Glob(SysctlFile(l.Key)) {
				if key := sysctlKey(strings.TrimPrefix(file, "proc/sys/")); !named[key] {
					all[key] = append(all[key], Sysctl{key, l.Value, l.File, l.Line})
				}
			}
		}
	}
	return all, errors.Join(problems...)
}

// sysctlFiles returns the files that are read, in order.
func (f FS) sysctlFiles() (files []string, problems []error) {
	first := make(map[string]string) // by base name
	for _, dir := range sysctlDirs {
		names, err := f.Names(dir)
		if err != nil {
			problems = append(problems, err)
		}
		for _, name := range names {
			if _, taken := first[name]; !taken && strings.HasSuffix(name, ".conf") {
				first[name] = path.Join(dir, name)
			}
		}
	}
	linked := false
	for _, base := range slices.Sorted(maps.Keys(first)) {
		if content := f.follow(first[base]); content != "dev/null" { // else it is masked
			linked = linked || content == sysctlConf
			files = append(files, first[base])
		}
	}
	if !linked && f.Exists(sysctlConf) {
		files = append(files, sysctlConf)
	}
	return files, problems
}

// follow returns the file that a link leads to, within the tree: an absolute one means a file there, not here.
func (f FS) follow(name string) string {
	for range 40 { // as many as the kernel follows
		target, err := f.Link(name)
		if err != nil {
			return name
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir("/"+name), target)
		}
		name = Rel(target)
	}
	return name
}

// sysctlLine is a line that sets a key, or keeps patterns from it.
type sysctlLine struct {
	Sysctl
	spared bool
}

// parseSysctls reads a file's lines, see sysctl.d(5).
func parseSysctls(file, text string) []sysctlLine {
	var lines []sysctlLine
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		// A hyphen: it is no error if the kernel refuses the value.
		line, hyphen := strings.CutPrefix(line, "-")
		key, value, sets := strings.Cut(line, "=")
		if key = sysctlKey(strings.TrimSpace(key)); key == "" || !sets && !hyphen {
			continue
		}
		lines = append(lines, sysctlLine{
			Sysctl: Sysctl{Key: key, Value: strings.Join(strings.Fields(value), " "), File: file, Line: number},
			spared: !sets,
		})
	}
	return lines
}

// SysctlFile returns the file of a kernel setting: "proc/sys/vm/swappiness". A slash in
// a key stands for a dot in a name: "net.ipv4.conf.eth0/200.forwarding".
func SysctlFile(key string) string { return "proc/sys/" + swapDots.Replace(sysctlKey(key)) }

var swapDots = strings.NewReplacer(".", "/", "/", ".")

// sysctlKey returns a key with dots where folders end. It may be written with slashes
// there: which of the two comes first is the one that is meant.
func sysctlKey(key string) string {
	key = strings.Trim(key, "/.")
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '/' {
		key = swapDots.Replace(key)
	}
	return key
}
