//go:build !race

package study

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestTheNewestStudyComesFirst(t *testing.T) {
	dir := t.TempDir()
	want := []string{"20261123-150001-a-x", "20261123-150000-b-x", "20261123-150000-c-x", "20261123-150000-a-x"}
	for i, id := range want {
		f, err := Create(dir, &Study{Loads: []Load{{Command: "produce"}}}, id)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 11, 23, 15, 0, 0, 0, time.UTC).Add(-time.Duration(i) * time.Millisecond)
		if err := os.Chtimes(filepath.Join(f.dir, studyFile), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := IDs(dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
