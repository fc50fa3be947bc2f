package tune

import (
	"slices"
	"strings"
)

// unkept are the values of kt that were set for now only, as changes that would make them last.
func (t *Tree) unkept() ([]Change, error) {
	j, err := t.readJournal()
	if err != nil {
		return nil, err
	}
	var all []Change
	for _, e := range j.Entries {
		lines := slices.DeleteFunc(slices.Clone(e.Lines), func(l Line) bool { return t.keeps(j, l) })
		now, pair, err := t.readPair(e.subject)
		if err != nil || len(lines) == 0 || !e.isOurs(now, pair) {
			continue // what cannot be read, or is somebody else's, is not kt's to keep
		}
		all = append(all, Change{Setting: e.Setting, Kind: KeepOnly, Path: e.Path, Old: e.Old, New: now, Keep: lines})
	}
	return all, nil
}

// keeps reports whether one of kt's own files has a line, and is there.
func (t *Tree) keeps(j *journal, l Line) bool {
	f := j.file(l.File)
	if f == nil {
		return false
	}
	text, err := t.ownText(l.File, f)
	return err == nil && strings.Contains(text, "\n"+l.Text+"\n")
}
