package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAFrameIsSavedInAFileThatWasNotThere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var stderr bytes.Buffer
	now := time.Date(2026, 11, 23, 3, 15, 0, 0, time.UTC)
	f := frames{env: &Env{Stderr: &stderr, Now: func() time.Time { return now }}, name: "produce"}
	path := filepath.Join(dir, "kt-produce-20261123-031500.txt")
	for i, want := range []string{"saved as " + filepath.Base(path), "is not saved: file exists"} {
		if note := f.save(fmt.Sprint("frame ", i)); !strings.Contains(note, want) {
			t.Errorf("frame %d: the note is %q, want %q", i, note, want)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "frame 0\n" {
		t.Errorf("it holds %q (%v), want the first frame", got, err)
	}
	f.tell()
	if n := strings.Count(stderr.String(), path); n != 1 {
		t.Errorf("at the end kt says %q, want the full path once", stderr.String())
	}
}
