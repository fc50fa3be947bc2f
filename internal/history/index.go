package history

import (
	"encoding/json"
	"path/filepath"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/secret"
)

// indexName is the name of the index in its folder.
const indexName = "index.json"

// indexSchema is the version of the index. An index of another version is not read.
const indexSchema = 1

// index is the file that keeps the rows of a folder.
type index struct {
	Schema int   `json:"schema"`
	Runs   []Run `json:"runs"`
}

// maxIndex bounds the index: 100,000 rows stay below it.
const maxIndex = 64 * input.MiB

// readIndex returns the rows that are known, by the names of their files. An index that is missing, damaged or of
// another version knows none.
func (f Folder) readIndex() map[string]Run {
	data, err := input.Read(filepath.Join(f.Dir, indexName), maxIndex)
	var kept index
	if err != nil || json.Unmarshal(data, &kept) != nil || kept.Schema != indexSchema {
		return nil
	}
	known := make(map[string]Run, len(kept.Runs))
	for _, r := range kept.Runs {
		known[r.Name+Ext] = r
	}
	return known
}

// writeIndex writes the rows of the files that could be read and that no process still writes. Of two that write at once
// one wins, and nothing but time is lost. An error is ignored.
func (f Folder) writeIndex(runs []Run) {
	kept := index{Schema: indexSchema}
	for _, r := range runs {
		if !r.AtWork && r.Problem == "" {
			kept.Runs = append(kept.Runs, r)
		}
	}
	data, err := json.Marshal(kept)
	if err != nil {
		return
	}
	_ = input.ReplaceText(filepath.Join(f.Dir, indexName), 0o600, []byte(secret.ScrubJSON(string(data)))) // without an index the files are read again
}
