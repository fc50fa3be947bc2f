package tune

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// place is where a row is asked: a machine, and one of its disks, log directories or cards. want is what the profile wants of it.
type place struct {
	*Machine
	row   *Setting
	want  Rule
	name  string // of the one of several
	disk  host.Disk
	dir   Dir
	card  NIC
	value string // what was read, for the row's words

	brokers int // of the cluster, for hints
}

// check reads the value of a row. It changes nothing, and never fails: what it may not read is [Denied] or [Absent].
// A reading without a verdict is compared with what is wanted, and gets the words of its row: see [place.judge].
type check func(a place) Reading

// part is what one of several disks, directories or cards reads.
type part struct {
	name string
	Reading
}

// readAll is one reading of all that the row is asked about.
func (a place) readAll(read check) Reading {
	var parts []part
	ask := func(one place, name string) {
		if one.name = name; !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			parts = append(parts, part{name, one.readOne(read)})
		}
	}
	missing := a.row.Read.None
	switch each := a.row.Read.Each; each {
	case "":
		return a.readOne(read)
	case "card":
		for _, a.card = range a.NICs {
			ask(a, a.card.Name)
		}
		missing = "no active network card is visible from here"
	case "dir", "disk", "device":
		missing = "the disks of the log directories are not visible from here"
		if len(a.Dirs) == 0 {
			missing = "no log directory is known: name them with --dirs"
		}
		for _, a.dir = range a.Dirs {
			disks := a.dir.Storage.Disks
			switch {
			case a.dir.Err != nil: // it is never just absent: somebody wants it
				parts = append(parts, part{a.dir.Path, Reading{Verdict: Unknown, Note: Denied(a.dir.Err).Note}})
				continue
			case each == "dir":
				ask(a, a.dir.Path)
				continue
			case each == "device":
				disks = a.topOf()
			}
			for _, a.disk = range disks {
				ask(a, a.disk.Name)
			}
		}
	default:
		i := slices.IndexFunc(strings.Split(each, "/"), func(part string) bool { return strings.Contains(part, "*") })
		for _, folder := range a.Glob(each) {
			a.card.Name = strings.Split(folder, "/")[i]
			ask(a, a.card.Name)
		}
	}
	if len(parts) == 0 {
		return Absent("%s", missing)
	}
	slices.SortStableFunc(parts, func(a, b part) int { return strings.Compare(a.name, b.name) })
	return together(parts)
}

// readOne reads the row at one place, unless a case says why it is not read there, and judges it.
func (a place) readOne(read check) Reading {
	r := a.checkFS()
	if r.Verdict == "" {
		a.cases(&r)
	}
	if r.Verdict == "" {
		if r = read(a); r.Verdict == "" {
			if means, ok := a.row.Read.Means[r.Current]; ok {
				r.Current = means
			}
			a.value = r.Current
			a.cases(&r)
		}
	}
	if a.row.Group == Network && a.name != "" && r.Note != "" {
		r.Note = a.name + ": " + r.Note
	}
	return a.judge(r)
}

// checkFS is a reading without a verdict for a log directory whose file system is one of those that count.
func (a place) checkFS() Reading {
	fs, counted := fsOf(a.dir), a.row.Read.FS
	switch {
	case counted == nil:
	case fs == "":
		return Unreadable("the file system is not known")
	case slices.Contains(counted, fs), slices.Contains(counted, "any"):
	case !slices.Contains(counted, "local"), overNetwork(fs), slices.Contains(passing, fs):
		return Absent("the file system is %s", fs)
	}
	return Reading{}
}

// unreadable is [Denied] with the reason of the row, if it has one, for a file that is not there.
func (a place) unreadable(err error) Reading {
	reason := a.row.Read.Missing
	if a.Virtual != "" {
		reason = cmp.Or(a.row.Read.Virtual, reason)
	}
	return lacking(err, a.names(reason))
}

// names replaces what stands for a place in the name of a file or in words of the row.
func (a place) names(text string, more ...string) string {
	pid := "PID"
	if a.Process != nil {
		pid = strconv.Itoa(a.Process.PID)
	}
	return strings.NewReplacer(append(more, "PID", pid, "DISK", a.disk.Name, "DEVICE", a.dir.Storage.Device, "CARD", a.card.Name,
		"MOUNT", a.dir.Mount.Point, "SOURCE", a.dir.Mount.Source, "NAME", a.name)...).Replace(text)
}

// together is one reading of several: the worst verdict, what it is owed to, and everything that would help.
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

// byText is "sda,sdb: bfq; sdc: kyber" of those that have a verdict: each text once, without the name if it is in it.
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
