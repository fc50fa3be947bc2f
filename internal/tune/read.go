package tune

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Read is how a row reads its value without a function, and what is said of a value that has no verdict yet.
type Read struct {
	Each string `yaml:"each"` // what is asked: disk, device (that a file system reads ahead on), dir, card, or each folder of a pattern
	None string `yaml:"none"` // why some machines have no folder of the pattern

	// Where the value is. At most one of these is set.
	Value    string   `yaml:"value"`    // an expression: see Case
	Answer   string   `yaml:"answer"`   // a condition: yes or no
	Sysctl   int      `yaml:"sysctl"`   // so many whole numbers of the kernel setting that the row is named after
	Property string   `yaml:"property"` // a name in server.properties: a number if Unset is one, else a word
	G1       string   `yaml:"g1"`       // a flag of the JVM that is a number
	Flags    []string `yaml:"flags"`    // flags of the JVM of which each has the same effect
	File     string   `yaml:"file"`     // "sys/…": a whole number, or with Words a word; DISK, DEVICE and NAME are what is asked, PID the broker
	Offers   string   `yaml:"offers"`   // the file beside File with the words that may be written there; in File a * is one of several
	Options  []string `yaml:"options"`  // mount options of each log directory

	Field    string            `yaml:"field"`          // of a File of lines such as "AnonHugePages: 2048 kB": the one whose number is read
	Words    []string          `yaml:"words"`          // what File may hold
	Means    map[string]string `yaml:"means"`          // values in place of which others are judged
	FS       []string          `yaml:"fs"`             // the types of file system that count; local: all those on disks, any: all that are known
	Unset    string            `yaml:"unset"`          // the value where nothing is set
	Before4  string            `yaml:"unset_before_4"` // the same before Kafka 4
	Floor    string            `yaml:"floor"`          // an expression: the least value on this machine
	Missing  string            `yaml:"missing"`        // why some machines do not have it
	Virtual  string            `yaml:"virtual"`        // the same of a virtual machine
	Counters string            `yaml:"counters"`       // of the kernel: what total, grew, count, when and recent tell of

	Good   string            `yaml:"good"`   // a rule, of a row of which no profile has one; "-" for a value that is only shown
	Rule   string            `yaml:"rule"`   // the same with {EXPRESSION}, where the profile has none
	Milder string            `yaml:"milder"` // a rule: values for which it holds, or after ! does not, are only noted
	Noted  map[string]string `yaml:"noted"`  // values that are accepted with a note
	Round  *int              `yaml:"round"`  // the decimal places that a value that is worked out is judged by; without it all
	Unit   string            `yaml:"unit"`   // of what is shown
	Shown  map[string]string `yaml:"shown"`  // values in words
	Wanted string            `yaml:"wanted"` // the rule in words
	Cases  []Case            `yaml:"cases"`

	// Of a value that is not as wanted. VALUE, TARGET and DISK, DEVICE, MOUNT or SOURCE stand for what they say.
	Note    string `yaml:"note"`
	Command string `yaml:"command"`
}

// way returns what reads the value of a row; nil for a row that has a function.
func (r Read) way() check {
	switch {
	case r.Value != "":
		return place.expression
	case r.Answer != "":
		return place.answer
	case r.Sysctl > 0:
		return place.kernel
	case r.Property != "":
		return place.property
	case r.G1 != "":
		return place.numberFlag
	case r.Flags != nil:
		return func(a place) Reading {
			return Reading{Current: yesNo(slices.ContainsFunc(r.Flags, func(name string) bool { return a.Process.JVM.XX[name] == "true" }))}
		}
	case r.Offers != "", strings.Contains(r.File, "*"):
		return place.files
	case r.Options != nil:
		return func(a place) Reading { return ofOptions(a.dir.Mount, r.Unset, r.Options...) }
	case r.File != "":
		return place.readFile
	}
	return nil
}

// readFile reads the file of the row. That of a disk's queue may be one that kt sets.
func (a place) readFile() Reading {
	if a.row.Read.Each == "dir" && strings.Contains(a.row.Read.File, "DEVICE") && a.dir.Storage.Device == "" {
		return Unreadable("the device is not known")
	}
	name := a.names(a.row.Read.File)
	r := a.number(name)
	if a.row.Applies && a.disk.Name != "" {
		old := r.Current
		r.set = func(value string) Change { return a.sysfsChange(name, old, value) }
	}
	return r
}

// number reads a file that holds a whole number, or what else the row says.
func (a place) number(name string) Reading {
	text, err := a.Text(name)
	if err != nil {
		return a.unreadable(err)
	}
	read := a.row.Read
	if read.Field != "" {
		_, text, _ = strings.Cut("\n"+text, "\n"+read.Field+":")
		text, _, _ = strings.Cut(strings.TrimSpace(text), " ")
	}
	n, err := strconv.ParseInt(text, 0, 64) // "0x1f" is one of a disk's counters
	switch {
	case read.Words == nil && err == nil:
		text = strconv.FormatInt(n, 10)
	case read.Words == nil:
		return Unreadable("%s: %q is not a number", name, text)
	case !slices.Contains(read.Words, text):
		return Unreadable("%s: %q is not %s", name, text, inProse(read.Words))
	}
	return Reading{Current: text}
}

// rounded is a number that has more decimal places than are wanted without the rest of them, and any other value as it is.
func rounded(value string, places int) string {
	n, err := strconv.ParseFloat(value, 64)
	if _, decimals, _ := strings.Cut(value, "."); err != nil || len(decimals) <= places {
		return value
	}
	unit := math.Pow10(places)
	return strconv.FormatFloat(math.Round(n*unit)/unit, 'f', -1, 64)
}

// show puts the value of a reading into the words of its row.
func (a place) show(r *Reading) {
	r.Current = rounded(r.Current, 2)
	r.shown = cmp.Or(r.shown, a.row.Read.Shown[r.Current], r.Current+a.row.Read.Unit)
}

// judge compares a reading without a verdict with what is wanted, and puts it into the words of its row.
func (a place) judge(r Reading) Reading {
	s := a.row
	compared := r.Verdict == ""
	if compared {
		a.compare(&r)
	}
	text, not := strings.CutPrefix(s.Read.Milder, "!")
	switch milder, _ := ParseRule(text); { // complete has read it
	case r.Verdict == s.verdict() && !milder.Leave() && milder.Holds(r.Current) != not,
		r.Verdict == Warn && a.want.Leave() && r.rule.Leave() && s.Want != "": // the profile leaves the matter alone, as for a laptop
		r.Verdict = Info
	}
	if compared {
		a.show(&r)
	}
	r.Current, r.shown = cmp.Or(r.shown, r.Current), ""
	return r
}

// compare judges the value of a reading by what is wanted of it.
func (a place) compare(r *Reading) {
	read := a.row.Read
	want, err := a.ruleFor(r.rule)
	if err != nil {
		*r = Denied(err)
		return
	}
	r.rule = want
	switch {
	case want.Leave():
		r.Verdict = Info
	case want.Holds(r.Current):
		r.Verdict = OK
	default:
		r.Verdict = cmp.Or(r.bad, a.row.verdict())
	}
	if r.Wanted == "" && (read.Good == "" || read.Wanted != "") {
		r.Wanted = a.ruleShown(want)
		if !want.Leave() {
			r.Wanted = cmp.Or(a.fillWords(read.Wanted), r.Wanted)
		}
	}
	note, accepted := read.Noted[r.Current]
	switch {
	case want.Leave() || r.Verdict == OK && !accepted:
		r.Command = ""
	case r.Verdict == OK:
		r.Verdict, r.Note, r.Command = Info, cmp.Or(note, r.Note), ""
	default:
		a.advise(r, want.Target(r.Current))
	}
}

// ruleShown is a rule in the words of the row.
func (a place) ruleShown(r Rule) string {
	if r.Leave() {
		return r.String()
	}
	return cmp.Or(a.row.Read.Shown[r.String()], r.String()+a.row.Read.Unit)
}

// ruleFor is the rule that a value is held to. own is that of the reading.
func (a place) ruleFor(own Rule) (Rule, error) {
	read, want := a.row.Read, a.want
	switch text, err := a.fill(cmp.Or(read.Good, read.Rule)); {
	case text != "" && (read.Good != "" || want.Leave()):
		rule, _ := ParseRule(text)
		return rule, err
	case own != (Rule{}):
		want = own // as it is on this machine
	}
	if read.Floor != "" && !want.Leave() {
		floor, err := a.eval(read.Floor)
		n, _ := strconv.ParseFloat(floor, 64)
		return want.Floor(int64(n)), err
	}
	return want, nil
}

// advise says what to do about a value, or how kt changes it to the target.
func (a place) advise(r *Reading, target string) {
	words := func(text string) string {
		return a.names(a.fillWords(text), "VALUE", rounded(r.Current, 2), "TARGET", target)
	}
	r.Note = cmp.Or(r.Note, words(a.row.Read.Note))
	if r.set != nil && a.row.Applies {
		r.Changes = []Change{r.set(target)}
		return
	}
	r.Command = cmp.Or(r.Command, words(a.row.Read.Command))
	if r.Command == "" && r.set != nil {
		r.Command = sysctlCommand(a.row.ID, target)
	}
}

// files reads the row's file, or of several one that is not as wanted. These get the first wanted word that may be written there.
func (a place) files() Reading {
	names := []string{a.names(a.row.Read.File)}
	if strings.Contains(names[0], "*") {
		names = a.Glob(names[0])
	}
	values, offers := make([]string, len(names)), make([][]string, len(names))
	err := map[bool]error{true: fs.ErrNotExist}[len(names) == 0]
	for i, name := range names {
		var wrong error
		values[i], offers[i], wrong = a.choice(name, a.row.Read.Offers)
		err = cmp.Or(err, wrong)
	}
	if err != nil {
		return a.unreadable(err)
	}
	r := Reading{Current: values[0], shown: tally(values)}
	for i, name := range names {
		if a.want.Holds(values[i]) {
			continue
		}
		r.Current = values[i]
		words := strings.Split(a.want.Value, "|")
		first := slices.IndexFunc(words, func(w string) bool { return slices.Contains(offers[i], w) })
		switch {
		case a.row.Read.Offers == "":
		case first < 0:
			r.Note = strings.TrimPrefix(a.disk.Name+": only these are offered here: ", ": ") + cmp.Or(strings.Join(offers[i], ", "), "none")
		case a.row.Applies:
			r.Changes = append(r.Changes, a.sysfsChange(name, values[i], words[first]))
		default:
			r.Command = "echo " + words[first] + " > /" + name
		}
	}
	return r
}

// texts are the contents of files, all of them or none.
func (m *Machine) texts(files []string) ([]string, error) {
	texts := make([]string, len(files))
	for i, f := range files {
		text, err := m.Text(f)
		if err != nil {
			return nil, err
		}
		if texts[i] = strings.Join(strings.Fields(text), " "); text == "" {
			return nil, fmt.Errorf("/%s is empty", f)
		}
	}
	return texts, nil
}

// tally says which values there are: "powersave", or "6 performance, 2 powersave".
func tally(values []string) string {
	count := make(map[string]int)
	var distinct []string
	for _, v := range values {
		if count[v]++; count[v] == 1 {
			distinct = append(distinct, v)
		}
	}
	if len(distinct) == 1 {
		return distinct[0]
	}
	slices.SortStableFunc(distinct, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	for i, v := range distinct {
		distinct[i] = fmt.Sprintf("%d %s", count[v], v)
	}
	return strings.Join(distinct, ", ")
}
