package study

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kt-bench/kt/internal/suggest"
)

// IsFolder reports whether a path is the folder of a study.
func IsFolder(path string) bool {
	_, err := os.Stat(filepath.Join(path, studyFile))
	return err == nil
}

// Files returns the run files of the runs that count, of the first load: all, or those of a cell that
// is written as "partitions=4,acks=all".
func (f *Folder) Files(cell string) ([]string, error) {
	if len(f.Study.Parts) > 0 {
		return nil, fmt.Errorf("study %s: it has parts: name the folder of one of them, in %s", f.ID, filepath.Join(f.dir, partsDir))
	}
	want, err := f.Study.parseCell(cell)
	if err != nil {
		return nil, fmt.Errorf("study %s: %w", f.ID, err)
	}
	turns, err := f.Sequence()
	if err != nil {
		return nil, err
	}
	var files []string
	for _, t := range turns {
		if t.Repeat > 0 && f.leftOut(t.Cell) == "" && f.isDone(t) && fits(t.Cell.values(), want) {
			files = append(files, f.path(t, f.Study.Loads[0]))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("study %s: it has no finished run of %s", f.ID, strings.TrimSpace("the cell "+cell))
	}
	return files, nil
}

// parseCell reads the values of a cell.
func (s *Study) parseCell(text string) (map[string]string, error) {
	values := make(map[string]string)
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		names := s.factorNames()
		switch n := suggest.Nearest(name, names); {
		case !ok:
			return nil, fmt.Errorf("cell %q: write FACTOR=VALUE, as in partitions=4,acks=all", text)
		case n != "" && n != name:
			return nil, fmt.Errorf("cell %q: there is no factor %s; did you mean %s?", text, name, n)
		case n == "":
			return nil, fmt.Errorf("cell %q: there is no factor %s; it has %s", text, name, strings.Join(names, ", "))
		}
		values[name] = value
	}
	return values, nil
}
