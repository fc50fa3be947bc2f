package tune

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// A check of several disks, directories or cards asks each, and makes one reading of
// their parts.

// part is what one of several disks, directories or cards reads.
type part struct {
	name string
	Reading
}

// together is one reading of several: the worst verdict, what those have that it is
// owed to, and everything that would help.
func together(parts []part) Reading {
	rank := func(p part) int { return slices.Index(Verdicts, p.Verdict) }
	slices.SortStableFunc(parts, func(a, b part) int { return rank(a) - rank(b) })
	out := Reading{Verdict: parts[0].Verdict}
	var wanted, notes, commands []string
	one := true // all have the same value
	for _, p := range parts {
		one = one && p.Current == parts[0].Current
		out.Changes = append(out.Changes, p.Changes...)
		commands = addNew(commands, p.Command)
		if p.Verdict == out.Verdict {
			wanted, notes = addNew(wanted, p.Wanted), addNew(notes, p.Note)
		}
	}
	out.Wanted, out.Note = strings.Join(wanted, "; "), strings.Join(notes, "; ")
	if out.Verdict == Unknown {
		out.Note = byText(parts, Unknown, func(p part) string { return p.Note })
	}
	out.Command = strings.Join(commands, "; ")
	if out.Current = parts[0].Current; !one {
		out.Current = byText(parts, out.Verdict, func(p part) string { return p.Current })
	}
	return out
}

// byText is "sda,sdb: bfq; sdc: kyber" of those that have a verdict: each text once. One
// that has the name in it stands as it is.
func byText(parts []part, v Verdict, of func(part) string) string {
	var texts []string
	names := make(map[string][]string)
	for _, p := range parts {
		text := of(p)
		if p.Verdict != v || text == "" {
			continue
		}
		texts = addNew(texts, text)
		if !strings.Contains(text, p.name) {
			names[text] = append(names[text], p.name)
		}
	}
	for i, text := range texts {
		if len(names[text]) > 0 {
			texts[i] = listed(names[text]) + ": " + text
		}
	}
	return strings.Join(texts, "; ")
}

// listed is "sda,sdb,sdc and 9 more".
func listed(names []string) string {
	const most = 3
	if n := len(names) - most; n > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ","), n)
	}
	return strings.Join(names, ",")
}

func addNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// eachDir is one reading of all log directories.
func eachDir(m *Machine, ask func(d Dir) Reading) Reading {
	if len(m.Dirs) == 0 {
		return Absent("no log directory is known: name them with --dirs")
	}
	var parts []part
	for _, d := range m.Dirs {
		if d.Err != nil {
			parts = append(parts, unread(d))
			continue
		}
		parts = append(parts, part{d.Path, ask(d)})
	}
	return together(parts)
}

// unread is the reading of a log directory about which nothing is known. Unlike a
// file of the kernel's it is never just absent: somebody wants it.
func unread(d Dir) part {
	return part{d.Path, Reading{Verdict: Unknown, Note: Denied(d.Err).Note}}
}

// eachDisk is one reading of all disks below the log directories.
func eachDisk(m *Machine, ask func(d host.Disk) Reading) Reading {
	return overDisks(m, func(d Dir) []host.Disk { return d.Storage.Disks }, ask)
}

// overDisks is one reading of the disks of all log directories; each is asked once.
func overDisks(m *Machine, of func(d Dir) []host.Disk, ask func(d host.Disk) Reading) Reading {
	if len(m.Dirs) == 0 {
		return Absent("no log directory is known: name them with --dirs")
	}
	var parts []part
	seen := make(map[string]bool)
	for _, d := range m.Dirs {
		if d.Err != nil {
			parts = append(parts, unread(d))
			continue
		}
		for _, disk := range of(d) {
			if !seen[disk.Name] {
				seen[disk.Name] = true
				parts = append(parts, part{disk.Name, ask(disk)})
			}
		}
	}
	if len(parts) == 0 {
		return Absent("the disks of the log directories are not visible from here")
	}
	slices.SortStableFunc(parts, func(a, b part) int { return strings.Compare(a.name, b.name) })
	return together(parts)
}
