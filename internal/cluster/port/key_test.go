package port

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/must"
)

func TestKeyIsNotShownByAnyVerb(t *testing.T) {
	k := Key{secret: [32]byte{0xAB, 0xAB, 0xAB, 0xAB}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b"} {
		must.Match(t, "key (hidden)", fmt.Sprintf(format, k), "Sprintf(%q) of a key", format)
		must.Match(t, "key (hidden)", fmt.Sprintf(format, &k), "Sprintf(%q) of a pointer to a key", format)
	}
}

func TestKeysDerivedForPurposesDiffer(t *testing.T) {
	k := NewKey()
	if k.Derive("a") == k.Derive("b") {
		t.Error("two purposes got one key")
	}
	if k.Derive("a") == k.secret {
		t.Error("a derived key is the key itself")
	}
	if again, err := ParseKey(k.Text()); err != nil || again.Derive("a") != k.Derive("a") {
		t.Error("one purpose got two keys")
	}
	if other := NewKey(); other.Derive("a") == k.Derive("a") {
		t.Error("two keys derive one")
	}
}

func TestParseKeyRefusesWhatKeygenDidNotWrite(t *testing.T) {
	good := NewKey().Text()
	for name, text := range map[string]string{
		"nothing at all":                 "",
		"one character too few":          good[1:],
		"one character too many":         "A" + good,
		"a character that is not base64": "*" + good[1:],
		"a line break within":            good[:20] + "\n" + good[21:],
		"a shorter key, padded":          "QUJD" + strings.Repeat("=", 40),
		"bits that encode nothing":       strings.Repeat("A", 42) + "B=",
		"two keys":                       good + "\n" + good,
	} {
		if _, err := ParseKey(text); err == nil {
			t.Errorf("%s: accepted", name)
		} else if len(text) > 20 && strings.Contains(err.Error(), text[21:40]) {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
	}
}

func TestTheGroupOfAFileOfRootMayReadItsKey(t *testing.T) {
	for _, row := range []struct {
		mode   os.FileMode
		ofRoot bool
		want   bool
	}{
		{0o440, true, true}, // a Secret of Kubernetes with fsGroup
		{0o640, true, true},
		{0o660, true, false},
		{0o444, true, false},
		{0o440, false, false},
		{0o600, false, true},
	} {
		must.Match(t, row.want, isPrivate(row.mode, row.ofRoot), "mode %04o of root (%v) is private", row.mode, row.ofRoot)
	}
}

// readKeyFile reads a key as --key-file does.
func readKeyFile(path string) (Key, error) {
	f, err := input.Open(path)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	k, err := ReadKey(f)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

func TestKeyFileIsReadOnlyWhenItIsSafe(t *testing.T) {
	k := NewKey()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string, mode os.FileMode) string {
		must.Do(t, os.WriteFile(path(name), []byte(text), 0o600))
		must.Do(t, os.Chmod(path(name), mode))
		return path(name)
	}
	link := path("link")
	must.Do(t, os.Symlink(write("linked", k.Text(), 0o600), link))
	group := write("group", k.Text(), 0o640)
	if os.Getuid() == 0 { // a file of root is another case
		must.Do(t, os.Chown(group, 1, 1))
	}
	for _, row := range []struct{ name, path, want string }{
		{"as kt keygen writes it", write("good", k.Text()+"\n", 0o600), ""},
		{"with space around it, for its owner to read only", write("space", "\r\n  "+k.Text()+" \r\n", 0o400), ""},
		{"through a link, as a secret of a container is mounted", link, ""},
		{"its group may read it", group, "chmod 600 " + group},
		{"its group may write to it", write("shared", k.Text(), 0o620), "chmod 600 " + path("shared")},
		{"all may read it", write("all", k.Text(), 0o604), "chmod 600 " + path("all")},
		{"others may write to it", write("writable", k.Text(), 0o602), "chmod 600 " + path("writable")},
		{"not there", path("none"), "no such file"},
		{"a directory", dir, "it is a directory"},
		{"too long", write("long", k.Text()+strings.Repeat(" ", maxKeyFile), 0o600), "over 4096 bytes"},
		{"as long as it may be", write("longest", k.Text()+strings.Repeat(" ", maxKeyFile-44), 0o600), ""},
		{"empty", write("empty", "", 0o600), "one line of 44 characters"},
	} {
		got, err := readKeyFile(row.path)
		switch {
		case row.want == "" && (err != nil || got != k):
			t.Errorf("%s: %v, the same key: %v", row.name, err, got == k)
		case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), row.path)):
			t.Errorf("%s: error %v, want one that names %s and says %q", row.name, err, row.path, row.want)
		}
	}
}

// A secret store writes the key into a pipe, as in --key-file <(pass kt), after kt has opened it.
func TestAKeyMayComeThroughAPipe(t *testing.T) {
	k := NewKey()
	pipe := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(pipe, 0o600))
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(pipe, []byte(k.Text()+"\n"), 0o600) }() // waits for a reader
	if got, err := readKeyFile(pipe); err != nil || got != k {
		t.Errorf("%v, the same key: %v", err, got == k)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

// FuzzParseKey checks that ParseKey never panics, and accepts only the text of a key with space
// around it.
func FuzzParseKey(f *testing.F) {
	f.Add("")
	f.Add(NewKey().Text())
	f.Add(" " + NewKey().Text() + "\r\n")
	f.Add(strings.Repeat("A", 42) + "B=")
	f.Add(strings.Repeat("=", 44))
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKey(text)
		if err != nil {
			if k != (Key{}) {
				t.Error("an error comes with a key")
			}
			return
		}
		must.Match(t, strings.TrimSpace(text), k.Text(), "ParseKey(%q) writes as", text)
	})
}
