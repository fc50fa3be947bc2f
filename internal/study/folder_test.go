//go:build !race

package study

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestTheNewestStudyComesFirst(t *testing.T) {
	dir := t.TempDir()
	want := []string{"20261123-150001-a-x", "20261123-150000-b-x", "20261123-150000-c-x", "20261123-150000-a-x"}
	for i, id := range want {
		f := must.Have(Create(dir, &Study{Loads: []Load{{Command: "produce"}}}, id))(t)
		at := time.Date(2026, 11, 23, 15, 0, 0, 0, time.UTC).Add(-time.Duration(i) * time.Millisecond)
		must.Do(t, os.Chtimes(filepath.Join(f.dir, studyFile), at, at))
	}
	if got, err := IDs(dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
