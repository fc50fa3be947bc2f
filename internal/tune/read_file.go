package tune

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// files reads the row's file: of several, as one for each CPU, one that is not as wanted. Those that are not get the
// first wanted word that the file beside them offers.
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
	r := Reading{Current: values[0], Note: s.Read.beside(m), shown: tally(values)}
	for i, name := range names {
		if want.Holds(values[i]) {
			continue
		}
		r.Current = values[i]
		if s.Read.Offers == "" {
			continue
		}
		list, _ := m.Text(path.Join(path.Dir(name), s.Read.Offers)) // without it there is nothing to choose from
		switch target := offered(want, strings.Fields(list)); {
		case target == "":
			r.Note = "only these are offered here: " + cmp.Or(strings.Join(strings.Fields(list), ", "), "none")
		case s.Applies:
			r.Changes = append(r.Changes, sysfsChange(s.ID, name, values[i], target))
		default:
			r.Command = "echo " + target + " > /" + name
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
