package tune

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// files is the check of the row's file: of several, as one for each CPU, those that are not as wanted count.
func (s *Setting) files(m *Machine, want Rule) Reading {
	names := []string{s.Read.File}
	if strings.Contains(s.Read.File, "*") {
		names = m.Glob(s.Read.File)
	}
	values, err := m.texts(names)
	if len(names) == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return s.lacks(m, err)
	}
	for i, v := range values {
		values[i] = cmp.Or(s.Read.As[v], v)
	}
	f := fact{value: values[0], shown: tally(values), note: s.Read.beside(m)}
	if i := slices.IndexFunc(values, func(v string) bool { return !want.Holds(v) }); i >= 0 {
		f.value = values[i]
	}
	r := s.reading(m, f, nil, want)
	if r.Verdict != OK && !want.Leave() && s.Read.Offers != "" {
		s.choose(m, &r, names, values, want)
	}
	return r
}

// choose has the first wanted word written to each file that does not hold one, of the words that the file beside it offers.
func (s *Setting) choose(m *Machine, r *Reading, names, values []string, want Rule) {
	for i, name := range names {
		if want.Holds(values[i]) {
			continue
		}
		list, _ := m.Text(path.Join(path.Dir(name), s.Read.Offers)) // without it there is nothing to choose from
		switch target := offered(want, strings.Fields(list)); {
		case target == "":
			r.Note, r.Command = "only these are offered here: "+cmp.Or(strings.Join(strings.Fields(list), ", "), "none"), ""
		case s.Applies:
			r.Changes = append(r.Changes, sysfsChange(s.ID, name, values[i], target))
		default:
			r.Command = strings.ReplaceAll(s.Read.Command, "%s", target)
		}
	}
}

// offered is the first word that a rule accepts of those that may be chosen; "" for none.
func offered(want Rule, words []string) string {
	for w := range strings.SplitSeq(want.Value, "|") {
		if slices.Contains(words, w) {
			return w
		}
	}
	return ""
}

// sysfsChange is a value written to a file of the tree below sys, and written again
// at each boot.
func sysfsChange(id, name, old, wanted string) Change {
	return Change{
		Setting: id, Kind: WriteFile, Path: "/" + name, Old: old, New: wanted,
		Keep: []Line{{File: TmpfilesFile, Text: "w /" + name + " - - - - " + wanted}},
	}
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

// kernelName is a name as the kernel has them: "cubic", "fq_codel".
var kernelName = regexp.MustCompile(`^[a-z0-9_-]+$`)
