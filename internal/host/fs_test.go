package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/kt-bench/kt/internal/must"
)

// rootWithLinks is a machine in a folder whose links lead out of it, beside a folder with a secret.
func rootWithLinks(t *testing.T) (root string) {
	t.Helper()
	dir := t.TempDir()
	root = filepath.Join(dir, "root")
	for name, text := range map[string]string{
		"outside/secret": "secret", "root/etc/inside": "inside", "root/opt/kafka-4/a": "a", "root/proc/17/stat": "17",
	} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for name, to := range map[string]string{
		"absolute": filepath.Join(dir, "outside"), "relative": "../outside", "deep": "etc/../../outside",
		"file": filepath.Join(dir, "outside", "secret"), "proc/17/root": filepath.Join(dir, "outside"),
		"kafka": "/opt/kafka-4", "up": "../../../etc",
	} {
		must.Do(t, os.Symlink(to, filepath.Join(root, name)))
	}
	return root
}

func TestNothingOutsideARootIsRead(t *testing.T) {
	tree := Rooted(rootWithLinks(t))
	for _, name := range []string{"absolute/secret", "relative/secret", "deep/secret", "file", "proc/17/root/secret"} {
		b, err := tree.Read(name)
		must.True(t, err != nil, "Read(%q) = %q, which is outside the root", name, b)
		if b, _, err := tree.ReadRegular(name, 100); err == nil {
			t.Errorf("ReadRegular(%q) = %q, which is outside the root", name, b)
		}
		must.True(t, !tree.Exists(name), "Exists(%q) of a file outside the root", name)
		s, err := SystemCalls(tree.Root()).Space("/" + name)
		must.True(t, err != nil, "Space(%q) = %+v, of a place outside the root", name, s)
	}
	for _, dir := range []string{"absolute", "relative", "deep", "proc/17/root"} {
		names, err := tree.Names(dir)
		must.True(t, len(names) == 0, "Names(%q) = %q, %v; want none from outside the root", dir, names, err)
	}
	names := tree.Glob("*/secret")
	must.True(t, len(names) == 0, "Glob found %q outside the root", names)
}

func TestLinksInARootStartAtIt(t *testing.T) {
	tree := Rooted(rootWithLinks(t))
	for name, want := range map[string]string{"kafka/a": "a", "up/inside": "inside", "etc/inside": "inside"} {
		must.Match(t, want, must.Have(tree.Text(name))(t), "Text(%q)", name)
		must.True(t, tree.Exists(name), "Exists(%q) = false", name)
	}
	must.Match(t, "/opt/kafka-4", must.Have(tree.Link("kafka"))(t), "Link(kafka)")
	_, err := tree.Link("etc/inside")
	must.True(t, err != nil, "Link of a file that is no link succeeded")
	_, err = tree.Read("nothing")
	must.True(t, errors.Is(err, fs.ErrNotExist), "Read of a file that is not there = %v, want %v", err, fs.ErrNotExist)
}

func TestAPipeInARootIsRefused(t *testing.T) {
	root := rootWithLinks(t)
	must.Do(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	_, err := Rooted(root).Read("pipe")
	must.True(t, errors.Is(err, errNotRegular), "Read of a pipe = %v, want %v", err, errNotRegular)
}

// Where openat2 is not to be had, absolute links are refused, too.
func TestStrictlyNothingOutsideARootIsOpened(t *testing.T) {
	root := rootWithLinks(t)
	for _, name := range []string{"absolute/secret", "relative/secret", "deep/secret", "file", "kafka/a"} {
		if f, err := openStrictly(root, name, os.O_RDONLY); err == nil {
			t.Errorf("openStrictly(%q) succeeded", name)
			_ = f.Close()
		}
	}
	f := must.Have(openStrictly(root, "etc/inside", os.O_RDONLY))(t)
	must.Do(t, f.Close())
}

// The root of a process is found below another root, where that has a proc file system.
func TestTheRootOfAProcessIsARootOfItsOwn(t *testing.T) {
	self := "proc/" + strconv.Itoa(os.Getpid()) + "/root/proc/self/stat"
	f, err := openBelow("/", self, os.O_RDONLY)
	if err != nil {
		t.Skip("needs a proc file system: ", err)
	}
	must.Do(t, f.Close())
}

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
	_, _, err := tree.ReadRegular("file", 7)
	must.True(t, err != nil && strings.Contains(err.Error(), "larger than 7 bytes"), "ReadRegular(file, 7) = %v, want that it is too large", err)
	flat := NewFS(fstest.MapFS{"a": &fstest.MapFile{Data: []byte("x"), Mode: fs.FileMode(0o600)}})
	b, owner, err := flat.ReadRegular("a", 8)
	must.True(t, string(b) == "x" && owner == -1 && err == nil, "ReadRegular of a tree without owners = %q of %d, %v", b, owner, err)
}
