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

func TestEachFrameIsSavedInANewFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var stderr bytes.Buffer
	now := time.Date(2026, 11, 23, 3, 15, 0, 0, time.UTC)
	f := frames{env: &Env{Stderr: &stderr, Now: func() time.Time { return now }}, name: "produce"}
	names := []string{"kt-produce-20261123-031500.txt", "kt-produce-20261123-031500-2.txt", "kt-produce-20261123-031500-3.txt"}
	for i, want := range names {
		frame := fmt.Sprint("frame ", i)
		if note := f.save(frame); !strings.Contains(note, want) {
			t.Errorf("frame %d: the note is %q, want %q", i, note, want)
		}
		if got, err := os.ReadFile(want); err != nil || string(got) != frame+"\n" {
			t.Errorf("%s holds %q (%v), want %s", want, got, err, frame)
		}
	}
	f.tell()
	for _, name := range names {
		if n := strings.Count(stderr.String(), filepath.Join(dir, name)); n != 1 {
			t.Errorf("at the end kt says %q, want the full path of %s once", stderr.String(), name)
		}
	}
}
