package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

// fixtureHosts are the machines in testdata/hosts. Each is a txtar archive of the files that
// kt may read there, and of four that are no files of the machine:
//
//	values        "PATH = CONTENT", one file a line
//	links         "PATH -> TARGET"; a target that ends in a slash is a folder, and made
//	denied        patterns of what kt may not read there
//	answers.json  what system calls answer
//
// A path in the first two may hold lists, "sd{a,b}", and stands for one file each. In
// command lines \0 is the byte 0.
var fixtureHosts = []string{"bare-metal", "cloud-ebs", "kubernetes-pod", "laptop", "rhel-tuned", "hybrid-cgroups", "empty"}

// fixture is one of the hosts.
func fixture(t testing.TB, name string) (host.FS, host.Calls) {
	t.Helper()
	tree, calls := unpack(t, name)
	return host.NewFS(tree), calls
}

// unpack puts the files of a host into a temporary folder.
func unpack(t testing.TB, name string) (sight, host.Calls) {
	t.Helper()
	archive := must.Have(txtar.ParseFile(filepath.Join("testdata", "hosts", name+".txtar")))(t)
	dir := t.TempDir()
	tree := sight{FS: os.DirFS(dir)}
	calls := fixtureAnswers{}
	special := make(map[string]string)
	for _, f := range archive.Files {
		special[f.Name] = string(f.Data)
	}
	makeLinks(t, dir, special["links"])
	for _, f := range archive.Files {
		switch f.Name {
		case "links":
		case "values":
			for line := range eachLine(special["values"]) {
				name, content, ok := strings.Cut(line+" ", " = ") // a file may be empty
				must.Hold(t, ok, "%s: values: %q is not PATH = CONTENT", name, line)
				for _, n := range expandLists(name) {
					putFile(t, dir, n, strings.TrimSpace(content)+"\n")
				}
			}
		case "denied":
			tree.denied = slices.Collect(eachLine(special["denied"]))
		case "answers.json":
			err := json.Unmarshal(f.Data, &calls)
			must.Hold(t, err == nil, "%s: answers.json: %v", name, err)
		default:
			content := string(f.Data)
			if path.Base(f.Name) == "cmdline" && strings.HasPrefix(f.Name, "proc/") {
				content = strings.ReplaceAll(strings.ReplaceAll(content, "\n", ""), `\0`, "\x00")
			}
			putFile(t, dir, f.Name, content)
		}
	}
	return tree, calls
}

func eachLine(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !yield(line) {
				return
			}
		}
	}
}

func putFile(t testing.TB, dir, name, content string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must.Do(t, os.WriteFile(file, []byte(content), 0o644))
}

func makeLinks(t testing.TB, dir, text string) {
	t.Helper()
	for line := range eachLine(text) {
		from, to, ok := strings.Cut(line, " -> ")
		must.Hold(t, ok, "links: %q is not PATH -> TARGET", line)
		targets := expandLists(to)
		for i, name := range expandLists(from) {
			target, link := targets[i%len(targets)], filepath.Join(dir, name)
			must.Do(t, os.MkdirAll(filepath.Dir(link), 0o755))
			if to, ok := strings.CutSuffix(target, "/"); ok && to != "" {
				target = to
				must.Do(t, os.MkdirAll(filepath.Join(filepath.Dir(link), target), 0o755))
			}
			must.Do(t, os.Symlink(target, link))
		}
	}
}

// expandLists writes out the lists in a path. Several lists of the same length go hand in
// hand, as in "sd{a,b}/device/{0,1}".
func expandLists(name string) []string {
	before, rest, ok := strings.Cut(name, "{")
	list, after, closed := strings.Cut(rest, "}")
	if !ok || !closed {
		return []string{name}
	}
	words := strings.Split(list, ",")
	rests := expandLists(after)
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = before + w + rests[i%len(rests)]
	}
	return all
}

func TestListsInPathsAreWrittenOut(t *testing.T) {
	for _, row := range []struct {
		says, path string
		want       []string
	}{
		{"no list", "sys/block/sda", []string{"sys/block/sda"}},
		{"one list", "sd{a,b}/size", []string{"sda/size", "sdb/size"}},
		{"two lists go hand in hand", "{a,b}->{1,2}", []string{"a->1", "b->2"}},
	} {
		must.Match(t, row.want, expandLists(row.path), "%s: expandLists(%q)", row.says, row.path)
	}
}

// sight is a tree of which some files may not be read, and one may say something
// else than it does.
type sight struct {
	fs.FS
	denied []string

	altered string
	content []byte
}

func (s sight) allowed(op, name string) error {
	for at := name; at != "."; at = path.Dir(at) {
		for _, pattern := range s.denied {
			if ok, _ := path.Match(pattern, at); ok {
				return &fs.PathError{Op: op, Path: name, Err: fs.ErrPermission}
			}
		}
	}
	return nil
}

func (s sight) Open(name string) (fs.File, error) {
	if err := s.allowed("open", name); err != nil {
		return nil, err
	}
	return s.FS.Open(name)
}

func (s sight) ReadFile(name string) ([]byte, error) {
	if name == s.altered && name != "" {
		return slices.Clone(s.content), nil
	}
	if err := s.allowed("open", name); err != nil {
		return nil, err
	}
	return fs.ReadFile(s.FS, name)
}

// Stat is allowed for what may be listed, whether it may be read or not.
func (s sight) Stat(name string) (fs.FileInfo, error) {
	if err := s.allowed("stat", path.Dir(name)); err != nil {
		return nil, err
	}
	return fs.Stat(s.FS, name)
}

func (s sight) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := s.allowed("open", name); err != nil {
		return nil, err
	}
	return fs.ReadDir(s.FS, name)
}

func (s sight) ReadLink(name string) (string, error) {
	if err := s.allowed("readlink", name); err != nil {
		return "", err
	}
	return fs.ReadLink(s.FS, name)
}

func (s sight) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(s.FS, name) }

// fixtureAnswers are the answers of a host's system calls.
type fixtureAnswers struct {
	IsRoot   bool                     `json:"root"`
	ItsClock *host.Clock              `json:"clock"`
	Spaces   map[string]host.Space    `json:"space"`    // by mount point
	Cards    map[string]host.Ethernet `json:"ethernet"` // by name
}

var _ host.Calls = fixtureAnswers{}

func (a fixtureAnswers) Root() bool         { return a.IsRoot }
func (a fixtureAnswers) Clock() *host.Clock { return a.ItsClock }

func (a fixtureAnswers) Space(name string) (host.Space, error) {
	for at := path.Clean(name); ; at = path.Dir(at) {
		if s, ok := a.Spaces[at]; ok {
			return s, nil
		}
		if at == "/" || at == "." {
			return host.Space{}, fmt.Errorf("statfs %s: %w", name, fs.ErrNotExist)
		}
	}
}

func (a fixtureAnswers) Ethernet(nic string) (host.Ethernet, error) {
	if e, ok := a.Cards[nic]; ok {
		return e, nil
	}
	return host.Ethernet{}, fmt.Errorf("%s: %w", nic, errors.ErrUnsupported)
}
