package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/kt-bench/kt/internal/must"
)

func TestOnlyARegularFileOfABoundedSizeIsRead(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(dir, "file"), []byte("12345678"), 0o600))
	tree := Rooted(dir)
	for _, tc := range []struct{ name, file, want string }{
		{"a pipe that nobody writes to", "pipe", "no regular file"},
		{"a folder", ".", "no regular file"},
		{"a file that is not there", "nothing", "no such file"},
	} {
		if _, _, err := tree.ReadRegular(tc.file, 8); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: ReadRegular(%q) = %v, want an error with %q", tc.name, tc.file, err, tc.want)
		}
	}
	if _, _, err := System().ReadRegular("dev/zero", 8); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a device: ReadRegular(dev/zero) = %v, want an error with %q", err, "no regular file")
	}
	if b, owner, err := tree.ReadRegular("file", 8); string(b) != "12345678" || owner != os.Getuid() || err != nil {
		t.Errorf("ReadRegular(file, 8) = %q of %d, %v; want all of it, of %d", b, owner, err, os.Getuid())
	}
	if _, _, err := tree.ReadRegular("file", 7); err == nil || !strings.Contains(err.Error(), "larger than 7 bytes") {
		t.Errorf("ReadRegular(file, 7) = %v, want that it is too large", err)
	}
	flat := NewFS(fstest.MapFS{"a": &fstest.MapFile{Data: []byte("x"), Mode: fs.FileMode(0o600)}})
	if b, owner, err := flat.ReadRegular("a", 8); string(b) != "x" || owner != -1 || err != nil {
		t.Errorf("ReadRegular of a tree without owners = %q of %d, %v", b, owner, err)
	}
}
