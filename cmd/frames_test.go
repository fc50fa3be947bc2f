package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAFrameIsSavedUnderANameOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var stderr bytes.Buffer
	env := &Env{Stderr: &stderr, Now: func() time.Time { return time.Date(2026, 11, 23, 3, 15, 0, 0, time.UTC) }}
	f := frames{env: env, name: "produce"}
	for i, want := range []string{"kt-produce-20261123-031500.txt", "kt-produce-20261123-031500-2.txt"} {
		if note := f.save("one   \n  two"); !strings.Contains(note, want) {
			t.Errorf("frame %d: the note is %q, want %s", i, note, want)
		}
		got, err := os.ReadFile(filepath.Join(dir, want))
		if err != nil || string(got) != "one\n  two\n" {
			t.Errorf("%s holds %q (%v)", want, got, err)
		}
	}
	f.tell()
	if n := strings.Count(stderr.String(), "kt-produce-20261123-031500"); n != 2 || !strings.Contains(stderr.String(), string(filepath.Separator)+"kt-produce-") {
		t.Errorf("at the end kt says %q, want both full paths", stderr.String())
	}
}
