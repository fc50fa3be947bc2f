package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestEachFrameIsSavedInANewFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	now := time.Date(2026, 11, 23, 3, 15, 0, 0, time.UTC)
	f := Frames{Now: func() time.Time { return now }, Name: "produce"}
	names := []string{"kt-produce-20261123-031500.txt", "kt-produce-20261123-031500-2.txt", "kt-produce-20261123-031500-3.txt"}
	for i, want := range names {
		frame := fmt.Sprint("frame ", i)
		must.Has(t, "frame", f.Save(frame), want)
		got, err := os.ReadFile(want)
		must.True(t, err == nil && string(got) == frame+"\n", "%s holds %q (%v), want %s", want, got, err, frame)
	}
	saved := strings.Join(f.Saved(), "\n") + "\n"
	for _, name := range names {
		n := strings.Count(saved, filepath.Join(dir, name)+"\n")
		must.True(t, n == 1, "at the end kt says %q, want the full path of %s once", saved, name)
	}
}
