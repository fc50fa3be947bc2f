package tune

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kt-bench/kt/internal/theme"
)

// target is a file of the kernel's that kt may write.
type target struct {
	setting string   // its ID in the catalogue
	Path    string   `yaml:"path"`  // a pattern of [path.Match]
	Holds   accepted `yaml:"holds"` // what the file can hold; any word for those that kt sets by words
	Sane    accepted `yaml:"sane"`  // what kt sets anew
}

// targets are all files of the kernel's that kt may write. No change, and no journal, can name another one.
var targets = sync.OnceValue(func() []target {
	var all []target
	for _, s := range Catalogue() {
		for _, t := range s.Sets {
			t.setting = s.ID
			all = append(all, t)
		}
	}
	return all
})

// accepted is what a file takes: a number in each span, or one of some words.
type accepted struct {
	spans []span
	words []string
}

// span is a range of whole numbers, with both ends.
type span struct{ least, most uint64 }

// UnmarshalText reads "1024..1Gi 0..uint64" or "always|never".
func (v *accepted) UnmarshalText(text []byte) error {
	if !bytes.Contains(text, []byte("..")) {
		v.words = strings.Split(string(text), "|")
		return nil
	}
	for field := range strings.FieldsSeq(string(text)) {
		least, most, _ := strings.Cut(field, "..")
		low, err := boundOf(least)
		high, wrong := boundOf(most)
		if err != nil || wrong != nil || low > high {
			return fmt.Errorf("%q is not a range of whole numbers", field)
		}
		v.spans = append(v.spans, span{low, high})
	}
	return nil
}

// boundOf reads an end of a range: a number, one with Ki, Mi, Gi or Ti, or the largest number of a type.
func boundOf(text string) (uint64, error) {
	if most, ok := map[string]uint64{"": math.MaxInt64, "int32": math.MaxInt32, "int64": math.MaxInt64, "uint64": math.MaxUint64}[text]; ok {
		return most, nil
	}
	for i, unit := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseUint(number, 10, 24)
			return n << (10 * (i + 1)), err
		}
	}
	return strconv.ParseUint(text, 10, 64)
}

// accept refuses a value that does not fit. The old one always does, and an old number widens its span.
func (v accepted) accept(value, old string) error {
	switch {
	case v.words != nil && value != old && !slices.Contains(v.words, value):
		return fmt.Errorf("%q is none of the words that kt sets: %s", value, strings.Join(v.words, ", "))
	case v.words != nil:
		return nil
	case v.spans == nil && !wordForm.MatchString(value):
		return fmt.Errorf("%q is no word", value)
	case v.spans == nil:
		return nil
	}
	fields, before := strings.Fields(value), strings.Fields(old)
	if len(fields) != len(v.spans) {
		return fmt.Errorf("%q is not %s", value, theme.Plural(len(v.spans), "whole number", "whole numbers"))
	}
	for i, in := range v.spans {
		if was, err := wholeOf(before, i); err == nil {
			in = span{min(in.least, was), max(in.most, was)}
		}
		if n, err := wholeOf(fields, i); err != nil || n < in.least || n > in.most {
			return fmt.Errorf("%q is out of range, which is %d to %d", fields[i], in.least, in.most)
		}
	}
	return nil
}

// wholeOf reads one of some whole numbers, or limits of open files.
func wholeOf(fields []string, i int) (uint64, error) {
	switch {
	case i >= len(fields):
		return 0, strconv.ErrSyntax
	case fields[i] == "unlimited":
		return math.MaxUint64, nil
	}
	return strconv.ParseUint(fields[i], 10, 64)
}

// wordForm is a name as the kernel has them: "defer+madvise".
var wordForm = regexp.MustCompile(`^[A-Za-z0-9_+.-]+$`)

// fitter returns an error if a value does not fit a target.
type fitter func(t *target, value string) error

func holds(t *target, value string) error { return t.Holds.accept(value, "") }

// checkHolds refuses a file of the kernel's that kt does not set, and a value that the file cannot hold.
func checkHolds(p, value string) error { return checkValue(p, value, holds) }

func checkValue(p, value string, fit fitter) error {
	if err := checkValuePath(p); err != nil {
		return err
	}
	return checkTarget(p, value, fit)
}

func checkTarget(p, value string, fit fitter) error {
	for _, one := range targets() {
		if ok, _ := path.Match(one.Path, p); !ok {
			continue
		}
		if err := fit(&one, normal(value)); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		return nil
	}
	return fmt.Errorf("%s is not among the files that kt sets", p)
}

// otherOfPair returns the file that the kernel sets to 0 when another one is written; "" for none.
func otherOfPair(p string) string {
	for _, ends := range [][2]string{{"_ratio", "_bytes"}, {"_bytes", "_ratio"}} {
		if name, ok := strings.CutSuffix(p, ends[0]); ok && strings.HasPrefix(name, "/proc/sys/vm/dirty") {
			return name + ends[1]
		}
	}
	return ""
}

var unitFile = regexp.MustCompile(`^/etc/systemd/system/[^/]+\.service\.d/zz-kt\.conf$`)

const udevForm = `^ACTION=="add\|change", SUBSYSTEM=="block", ENV\{DEVTYPE\}=="disk", ` +
	`(?:ATTRS?\{[a-z]+\}|ENV\{DM_NAME\}|KERNEL)=="[^"\\$%]*", ATTR\{queue/([a-z_]+)\}="([^"\\$%]*)"$`

// ownForms are the forms of the lines in kt's own files. The first group of each is what it sets, and the last the value.
// A match of udev's is of a key that only compares: PROGRAM would run one.
var ownForms = []struct {
	file string // "" for that of a unit
	form *regexp.Regexp
	sets func(name, value string) (path, holds string)
}{
	{SysctlFile, regexp.MustCompile(`^([a-z0-9_.]+) = ([0-9 ]+)$`), func(n, v string) (string, string) { return "/proc/sys/" + sysctlPath(n), v }},
	{TmpfilesFile, regexp.MustCompile(`^w (/sys/\S+) - - - - (\S+)$`), func(n, v string) (string, string) { return n, v }},
	{UdevFile, regexp.MustCompile(udevForm), func(n, v string) (string, string) { return "/sys/block/any/queue/" + n, v }},
	{LimitsFile, regexp.MustCompile(`^[^\s#*%@:"]+(?::[0-9]+)? (soft|hard) nofile ([0-9]+)$`), openFilesTo},
	{"", regexp.MustCompile(`^(LimitNOFILE)=([0-9]+)$`), openFilesTo},
}

func openFilesTo(_, n string) (path, holds string) { return anyLimits, n + " " + n }

const anyLimits = "/proc/any/limits"

// setBy returns what a line of one of kt's own files sets: a file, and its value. Both are "" for a line that kt does not write.
func setBy(l Line) (p, value string) {
	if strings.ContainsAny(l.Text+l.File, "\n\x00") {
		return "", ""
	}
	for _, own := range ownForms {
		ofUnit := own.file == "" && unitFile.MatchString(l.File) && l.Head == "[Service]"
		found := own.form.FindStringSubmatch(l.Text)
		if found != nil && (ofUnit || own.file != "" && own.file == l.File && l.Head == "") {
			return own.sets(found[1], found[2])
		}
	}
	return "", ""
}

// checkOwnLine refuses a line that is not of the form that kt writes into that file, or whose value does not fit.
func checkOwnLine(l Line, fit fitter) error {
	p, value := setBy(l)
	var err error
	switch p {
	case "":
		err = errors.New("kt writes no such line")
	case anyLimits:
		err = checkTarget(p, value, fit)
	default:
		err = checkValue(p, value, fit)
	}
	if err != nil {
		return fmt.Errorf("%s: %q: %w", l.File, l.Text, err)
	}
	return nil
}

// checkFolder refuses folders that kt never makes.
func checkFolder(dir string) error {
	if err := checkPath(dir); err != nil {
		return fmt.Errorf("%q is no folder", dir)
	}
	for _, file := range []string{SysctlFile, TmpfilesFile, UdevFile, LimitsFile, journalFile, DropIn("any.service")} {
		if strings.HasPrefix(file, strings.TrimSuffix(dir, "/")+"/") {
			return nil
		}
	}
	if unitFile.MatchString(dir + "/zz-kt.conf") {
		return nil
	}
	return fmt.Errorf("%q is no folder of kt's", dir)
}
