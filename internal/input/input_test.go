package input

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/must"
)

// fifo makes a named pipe.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(path, 0o600))
	return path
}

// feed writes to a named pipe until its reader has gone.
func feed(t *testing.T, path, text string, times int) {
	t.Helper()
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		w, err := os.OpenFile(path, os.O_WRONLY, 0) // waits for the reader
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = w.Close() }()
		for range times {
			if _, err := w.WriteString(text); err != nil {
				return
			}
		}
	}()
}

func TestAFileIsReadUpToItsLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, size := range []int{0, 1, MiB} {
		must.Do(t, os.WriteFile(path, make([]byte, size), 0o600))
		data, err := Read(path, MiB)
		must.True(t, err == nil && len(data) == size, "of %d bytes %d are read: %v", size, len(data), err)
	}
	if err := os.Truncate(path, 1<<40); err != nil { // a hole, so it takes no room
		t.Skip(err)
	}
	_, err := Read(path, MiB)
	must.True(t, errors.Is(err, ErrTooLong) && strings.HasPrefix(err.Error(), "it is over 1 MiB long"), "of 1 TiB: %v", err)
}

// A file of /proc has size 0 and text all the same.
func TestALimitIsKeptWhateverAFileSaysOfItsSize(t *testing.T) {
	if _, err := os.Stat("/proc/cpuinfo"); err != nil {
		t.Skip(err)
	}
	data, err := Read("/proc/cpuinfo", MiB)
	must.True(t, err == nil && len(data) != 0, "%d bytes, %v", len(data), err)
	_, err = Read("/proc/cpuinfo", 10)
	must.True(t, errors.Is(err, ErrTooLong), "of more than 10 bytes: %v", err)
}

func TestAPipeIsWelcomeUpToTheSameLimit(t *testing.T) {
	path := fifo(t)
	feed(t, path, "text", 2)
	data, err := Read(path, 8)
	must.True(t, err == nil && string(data) == "texttext", "%q, %v", data, err)
	feed(t, path, strings.Repeat("x", 1000), 1<<30)
	_, err = Read(path, MiB)
	must.True(t, errors.Is(err, ErrTooLong), "of an endless pipe: %v", err)
}

// A process substitution is a path to a pipe without a name.
func TestAPipeMayHaveNoName(t *testing.T) {
	r, w := must.Both(os.Pipe())(t)
	defer func() { _ = r.Close() }()
	path := filepath.Join("/proc/self/fd", fdOf(t, r))
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	go func() {
		_, _ = w.WriteString("late")
		_ = w.Close()
	}()
	data, err := Read(path, 8)
	must.True(t, err == nil && string(data) == "late", "%q, %v", data, err)
}

// fdOf returns the number of a descriptor, which stays as it is: f.Fd would make it blocking.
func fdOf(t *testing.T, f *os.File) string {
	t.Helper()
	raw := must.Have(f.SyscallConn())(t)
	var number string
	must.Do(t, raw.Control(func(fd uintptr) { number = strconv.Itoa(int(fd)) }))
	return number
}

func TestAPipeToWhichNobodyWritesIsRefused(t *testing.T) {
	const soon = 50 * time.Millisecond
	nobody := fifo(t)
	held := fifo(t)
	holder, err := os.OpenFile(held, os.O_RDWR, 0) // a writer that writes nothing
	must.Hold(t, err == nil, "%v", err)
	defer func() { _ = holder.Close() }()
	for what, path := range map[string]string{"no writer": nobody, "a silent writer": held} {
		_, err := open(path, soon)
		must.True(t, err != nil && strings.HasPrefix(err.Error(), "nobody has written to this pipe for 50ms"), "%s: %v", what, err)
	}
}

func TestWhatIsNoFileIsRefusedByName(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	l := must.Have(net.Listen("unix", socket))(t)
	defer func() { _ = l.Close() }()
	link := filepath.Join(dir, "link")
	must.Do(t, os.Symlink("/dev/zero", link))
	for path, want := range map[string]string{
		dir: "it is a directory", socket: "it is a socket", "/dev/zero": "it is a device", link: "it is a device",
	} {
		_, err := Read(path, MiB)
		must.True(t, err != nil && strings.HasPrefix(err.Error(), want), "%s: %v, want %q", path, err, want)
	}
	_, err := Read(filepath.Join(dir, "none"), MiB)
	must.True(t, errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), dir), "one that is not there: %v", err)
	data, err := Read(os.DevNull, MiB)
	must.True(t, err == nil && len(data) == 0, "%s: %q, %v", os.DevNull, data, err)
}

func TestAFileIsReplacedAsAWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	torn := func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return errors.New("no space left on device")
	}
	for _, old := range []string{"", "one", "two"} {
		if err := Replace(path, 0o600, torn); err == nil {
			t.Error("a write that failed is no error")
		}
		got, _ := os.ReadFile(path)
		must.True(t, string(got) == old, "the file has %q after an error, want %q", got, old)
		if err := ReplaceText(path, 0o640, []byte("two")); old != "" && err != nil {
			t.Error(err)
		}
		if old == "" {
			err := ReplaceText(path, 0o640, []byte("one"))
			must.True(t, err == nil, "%v", err)
		}
	}
	must.Match(t, 0o640, must.Have(os.Stat(path))(t).Mode(), "the value")
	files, _ := os.ReadDir(dir)
	must.True(t, len(files) == 1, "it left %v", files)
}

func line(n int) string { return "f:" + strconv.Itoa(n) }

func TestAScalarKeepsItsText(t *testing.T) {
	for text, want := range map[string]string{
		"1.10": "1.10", "0123": "0123", "1e3": "1e3", "True": "True", "2026-01-01": "2026-01-01", ".inf": ".inf", `"~"`: "~", "'null'": "null",
		`"a\tb"`: "a\tb", "|\n  a\n  b\n": "a\nb\n", ">-\n  a\n  b\n": "a b", "a\n  b": "a b", "!!str 1.10": "1.10", "": "", "''": "", "&x 007": "007", "<<": "<<",
	} {
		root, err := YAML([]byte("k: "+text), line)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		must.Match(t, want, must.Have(Text(root.Content[1]))(t), "%q", text)
	}
	for _, text := range []string{"null", "~", "Null", "[a]", "{a: b}", "!!binary aGVsbG8=", "!!int 7", "!mine a"} {
		root, err := YAML([]byte("k: "+text), line)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got, err := Text(root.Content[1]); err == nil {
			t.Errorf("%q is taken for %q", text, got)
		}
	}
}

// flat writes the scalars of a tree.
func flat(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return n.Value
	}
	var all []string
	for _, child := range n.Content {
		all = append(all, flat(child))
	}
	return "(" + strings.Join(all, " ") + ")"
}

func TestAliasesAndMergesAreReplacedByWhatTheyStandFor(t *testing.T) {
	for text, want := range map[string]string{
		"a: &x 1.10\nb: *x":                                     "(a 1.10 b 1.10)",
		"a: &x {k: 1, l: 2}\nb: {l: 3, <<: *x}":                 "(a (k 1 l 2) b (l 3 k 1))",
		"a: &x {k: l}\nb: &y {l: 2}\nc: {<<: [*x, *y, {l: 4}]}": "(a (k l) b (l 2) c (k l l 2))",
		"a: &x {k: 1}\nb: &y {<<: *x, l: 2}\nc: {<<: *y}":       "(a (k 1) b (l 2 k 1) c (l 2 k 1))",
		"a: &x [1, 2]\nb: [*x, 3]":                              "(a (1 2) b ((1 2) 3))",
		"&k a: 1\nb: *k":                                        "(a 1 b a)",
	} {
		root, err := YAML([]byte(text), line)
		must.True(t, err == nil && flat(root) == want, "%q: %v, %v, want %s", text, root, err, want)
	}
	for text, want := range map[string]string{
		"a: 1\na: 2": "f:2: the key \"a\" already defined at line 1", "a: {b: 1, b: 2}": "f:1: the key \"b\"", "a: &a [*a]": "f:1: anchor 'a' value contains itself",
		"a: 1\n---\nb: 2": "f:2: only the part above the first ---", "a: [": "f:1: ", "a: *x": "f:1: unknown anchor 'x'", "<<: 5": "f:1: map merge requires",
		"a: !!int b": "f:1: cannot decode",
	} {
		_, err := YAML([]byte(text), line)
		must.True(t, err != nil && strings.HasPrefix(err.Error(), want), "%q: %v, want %q", text, err, want)
	}
	for _, text := range []string{"", "# nothing\n", "\n"} {
		root, err := YAML([]byte(text), line)
		must.True(t, root == nil && err == nil, "%q: %v, %v", text, root, err)
	}
}
