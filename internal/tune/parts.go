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
	out := Reading{Verdict: parts[0].Verdict, Current: parts[0].Current}
	var wanted, notes, commands []string
	for _, p := range parts {
		for _, c := range p.Changes {
			if !slices.ContainsFunc(out.Changes, func(other Change) bool { return other.Path == c.Path }) {
				out.Changes = append(out.Changes, c)
			}
		}
		commands = addNew(commands, p.Command)
		if p.Verdict == out.Verdict {
			wanted, notes = addNew(wanted, p.Wanted), addNew(notes, p.Note)
		}
	}
	out.Wanted, out.Note, out.Command = strings.Join(wanted, "; "), strings.Join(notes, "; "), strings.Join(commands, "; ")
	if out.Verdict == Unknown {
		out.Note = byText(parts, Unknown, func(p part) string { return p.Note })
	}
	if slices.ContainsFunc(parts, func(p part) bool { return p.Current != out.Current }) {
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

// overDirs is one reading of the parts of all log directories, each of which is asked once.
func overDirs(m *Machine, of func(d Dir) []part) Reading {
	if len(m.Dirs) == 0 {
		return Absent("no log directory is known: name them with --dirs")
	}
	var all []part
	for _, d := range m.Dirs {
		if d.Err != nil { // it is never just absent: somebody wants it
			all = append(all, part{d.Path, Reading{Verdict: Unknown, Note: Denied(d.Err).Note}})
			continue
		}
		for _, p := range of(d) {
			if !slices.ContainsFunc(all, func(other part) bool { return other.name == p.name }) {
				all = append(all, p)
			}
		}
	}
	if len(all) == 0 {
		return Absent("the disks of the log directories are not visible from here")
	}
	slices.SortStableFunc(all, func(a, b part) int { return strings.Compare(a.name, b.name) })
	return together(all)
}

// eachDisk is the check of a row that asks each disk below the log directories.
func eachDisk(s *Setting, ask func(m *Machine, d host.Disk, want Rule) Reading) check {
	return func(m *Machine, want Rule) Reading {
		return overDirs(m, func(d Dir) (parts []part) {
			for _, disk := range d.Storage.Disks {
				parts = append(parts, part{disk.Name, s.told(ask(m, disk, want), want, "DISK", disk.Name)})
			}
			return parts
		})
	}
}

// eachDir is the check of a row that asks each log directory whose file system counts.
func eachDir(s *Setting, ask func(m *Machine, d Dir, want Rule) Reading) check {
	return func(m *Machine, want Rule) Reading {
		return overDirs(m, func(d Dir) []part {
			r := s.Read.counts(m, d)
			if r.Verdict == "" {
				r = ask(m, d, want)
			}
			return []part{{d.Path, s.told(r, want, "MOUNT", d.Mount.Point, "SOURCE", d.Mount.Source)}}
		})
	}
}

// counts is a reading without a verdict for a log directory whose file system is one of those that count.
func (r Read) counts(m *Machine, d Dir) Reading {
	fs := fsOf(d)
	switch {
	case r.FS == nil:
	case fs == "":
		return Reading{Verdict: Unknown, Note: "the file system is not known"}
	case slices.Contains(r.FS, fs), slices.Contains(r.FS, "any"):
	case !slices.Contains(r.FS, "local"), readNetworked(m, d, Rule{}).Verdict == Fail, slices.Contains(passing, fs):
		return Absent("the file system is %s", fs)
	}
	return Reading{}
}
