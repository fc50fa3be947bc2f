package tune

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
)

// check looks at a machine. It changes nothing, and never fails: what it may not read is [Denied] or [Absent].
// A reading without a verdict is compared with what is wanted, and gets the words of its row: see [Setting.told].
type check func(m *Machine, want Rule) Reading

// Read is how a row reads its value without a function, and what is said of a value that has no verdict yet.
type Read struct {
	// Where the value is. At most one of these is set.
	Sysctl   int      `yaml:"sysctl"`   // so many whole numbers of the kernel setting that the row is named after
	Property string   `yaml:"property"` // a name in server.properties: a number if Unset is one, else a word
	G1       string   `yaml:"g1"`       // a flag of the JVM that is a number
	Flags    []string `yaml:"flags"`    // flags of the JVM of which each has the same effect
	File     string   `yaml:"file"`     // "sys/…": a whole number, or with Words a word; DISK is each disk, DEVICE that of each directory, PID the broker
	Offers   string   `yaml:"offers"`   // the file beside File with the words that may be written there; in File a * is one of several
	Options  []string `yaml:"options"`  // mount options of each log directory

	Field     string   `yaml:"field"`          // of a File of lines such as "AnonHugePages: 2048 kB": the one whose number is read
	Words     []string `yaml:"words"`          // what File may hold
	FS        []string `yaml:"fs"`             // the types of file system that count; local: all those on disks, any: all that are known
	Unset     string   `yaml:"unset"`          // the value where nothing is set
	Before4   string   `yaml:"unset_before_4"` // the same before Kafka 4
	Floor     string   `yaml:"floor"`          // of [floors]: the least value on this machine
	Missing   string   `yaml:"missing"`        // why some machines do not have it
	Virtual   string   `yaml:"virtual"`        // the same of a virtual machine
	Beside    string   `yaml:"beside"`         // another kernel setting, which a note tells
	IfCounted string   `yaml:"if_counted"`     // judged only where /proc/net/softnet_stat counts this,
	What      string   `yaml:"what"`           // which means so many of that

	Good   string            `yaml:"good"`   // a rule, of a row of which no profile has one; "-" for a value that is only shown
	Milder string            `yaml:"milder"` // a rule: values for which it holds, or after ! does not, are only noted
	Noted  map[string]string `yaml:"noted"`  // values that are accepted with a note
	Unit   string            `yaml:"unit"`   // of what is shown
	Shown  map[string]string `yaml:"shown"`  // values in words
	Wanted string            `yaml:"wanted"` // the rule in words

	// Of a value that is not as wanted. VALUE, TARGET and DISK, DEVICE, MOUNT or SOURCE stand for what they say.
	Note    string `yaml:"note"`
	Command string `yaml:"command"`
}

// value returns what reads the value of a row; nil for a row that has a function.
func (r Read) value(s *Setting) check {
	switch {
	case r.IfCounted != "":
		return s.ifCounted
	case r.Sysctl > 0:
		return s.kernel
	case r.Property != "":
		s.Read.Command = cmp.Or(r.Command, r.Property+"=TARGET")
		return r.property
	case r.G1 != "":
		s.Read.Command = addFlag("-XX:" + r.G1 + "=TARGET")
		return func(m *Machine, _ Rule) Reading { return r.numberFlag(m) }
	case r.Flags != nil:
		return func(m *Machine, _ Rule) Reading { return r.flag(m) }
	case r.Offers != "", r.Beside != "", strings.Contains(r.File, "*"):
		return s.files
	case strings.Contains(r.File, "DISK"):
		return eachDisk(s, s.ofDisk)
	case strings.Contains(r.File, "DEVICE"):
		return eachDir(s, r.ofDevice)
	case r.Options != nil:
		return eachDir(s, r.ofOptions)
	case r.File != "":
		return func(m *Machine, _ Rule) Reading { return r.file(m, r.File) }
	}
	return nil
}

// file reads a file of the tree.
func (r Read) file(m *Machine, name string) Reading {
	if m.Process != nil {
		name = strings.ReplaceAll(name, "PID", strconv.Itoa(m.Process.PID))
	}
	text, err := m.Text(name)
	if err != nil {
		return lacking(err, r.Missing)
	}
	if r.Field != "" {
		_, text, _ = strings.Cut("\n"+text, "\n"+r.Field+":")
		text, _, _ = strings.Cut(strings.TrimSpace(text), " ")
	}
	n, err := strconv.ParseInt(text, 0, 64) // "0x1f" is one of a disk's counters
	switch {
	case r.Words == nil && err == nil:
		text = strconv.FormatInt(n, 10)
	case r.Words == nil:
		return Reading{Verdict: Unknown, Note: fmt.Sprintf("%s: %q is not a number", name, text)}
	case !slices.Contains(r.Words, text):
		return Reading{Verdict: Unknown, Note: fmt.Sprintf("%s: %q is not %s", name, text, inProse(r.Words))}
	}
	return Reading{Current: text}
}

// number is the reading of a file that holds a whole number.
func (m *Machine) number(name string) Reading { return Read{}.file(m, name) }

// rounded is a number that kt has worked out, to two places.
func rounded(n float64) string { return strconv.FormatFloat(math.Round(n*100)/100, 'f', -1, 64) }

// lacking is [Denied], with a reason of its own, if there is one, for a file that is not there.
func lacking(err error, reason string) Reading {
	r := Denied(err)
	if reason != "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported)) {
		r.Note = reason
	}
	return r
}

// lacks is [lacking] with the reason of the row.
func (s *Setting) lacks(m *Machine, err error) Reading {
	if m.Virtual != "" && s.Read.Virtual != "" {
		return lacking(err, s.Read.Virtual)
	}
	return lacking(err, s.Read.Missing)
}

// told completes a reading. names are pairs of what the words of the row may name, and what that is here.
func (s *Setting) told(r Reading, want Rule, names ...string) Reading {
	compared := r.Verdict == ""
	if compared {
		s.compare(&r, want, names)
	}
	text, not := strings.CutPrefix(s.Read.Milder, "!")
	switch milder, _ := ParseRule(text); { // complete has read it
	case r.Verdict == s.verdict() && !milder.Leave() && milder.Holds(r.Current) != not,
		r.Verdict == Warn && want.Leave() && r.rule.Leave() && s.Want != "": // the profile leaves the matter alone, as for a laptop
		r.Verdict = Info
	}
	if n, err := strconv.ParseFloat(r.Current, 64); r.rounds && err == nil {
		r.Current = rounded(n)
	}
	if compared && r.shown == "" {
		r.Current = cmp.Or(s.Read.Shown[r.Current], r.Current+s.Read.Unit)
	}
	r.Current = cmp.Or(r.shown, r.Current)
	return r
}

// compare judges the value of a reading by what is wanted of it.
func (s *Setting) compare(r *Reading, want Rule, names []string) {
	if s.Read.Good != "" {
		want, _ = ParseRule(s.Read.Good) // complete has read it
	} else if r.rule != (Rule{}) {
		want = r.rule // as it is on this machine
	}
	c := Compare(r.Current, want, cmp.Or(r.bad, s.verdict()))
	r.Verdict, r.rule = c.Verdict, want
	if r.Wanted == "" && (s.Read.Good == "" || s.Read.Wanted != "") {
		r.Wanted = c.Wanted
		if !want.Leave() {
			r.Wanted = cmp.Or(s.Read.Wanted, s.Read.Shown[c.Wanted], c.Wanted+s.Read.Unit)
		}
	}
	note, accepted := s.Read.Noted[r.Current]
	switch {
	case want.Leave() || r.Verdict == OK && !accepted:
		r.Command = ""
	case r.Verdict == OK:
		r.Verdict, r.Note, r.Command = Info, cmp.Or(note, r.Note), ""
	default:
		target := want.Target(r.Current)
		value := r.Current
		if n, err := strconv.ParseFloat(value, 64); r.rounds && err == nil {
			value = rounded(n)
		}
		words := strings.NewReplacer(append(names, "VALUE", value, "TARGET", target)...)
		r.Note = cmp.Or(r.Note, words.Replace(s.Read.Note))
		if r.set != nil && s.Applies {
			r.Changes = []Change{r.set(target)}
		} else {
			r.Command = cmp.Or(r.Command, words.Replace(s.Read.Command))
			if r.Command == "" && r.set != nil {
				r.Command = sysctlCommand(s.ID, target)
			}
		}
	}
}
