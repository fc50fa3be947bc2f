package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/input"
)

// setting is the value of a key in a file as its text, and where it stands.
type setting struct {
	values []string // of a list several, each as if the flag were given with it
	source string   // FILE:LINE, or the name of a profile
}

// settings are the values of flags.
type settings map[string]setting

// file is a configuration file, or a profile.
type file struct {
	name     string
	kind     fileKind
	top      settings // for every command that has such a flag
	sections map[string]settings
	clusters map[string]Cluster
}

// of returns the values for a command: its section wins over the top, from which a project sets only what it may. The file may be nil.
func (f *file) of(command string) settings {
	merged := make(settings)
	if f == nil {
		return merged
	}
	for _, part := range []settings{f.top, f.sections[command]} {
		for key, s := range part {
			if f.kind != ofProject || inProject(command, key) == "" {
				merged[key] = s
			}
		}
	}
	return merged
}

// userFile returns the name of the file that holds the clusters, "" without a user folder: --config and
// KT_CONFIG name another one. asked reports whether one of them does.
func (s System) userFile(flag string) (path string, asked bool) {
	if path = flag; path == "" {
		path = s.Getenv(envName("config"))
	}
	if path != "" || s.ConfigDir == "" {
		return path, path != ""
	}
	return filepath.Join(s.ConfigDir, "kt", "config.yaml"), false
}

// readFiles reads the file of the project and that of the user. A file that is named takes the place of both. Without
// a name a missing file is no error, and one that may not be read is a warning.
func (s System) readFiles(flag string, nearest Nearest) (project, user *file, err error) {
	if s.check != nil {
		return s.check.project, s.check.user, nil
	}
	path, asked := s.userFile(flag)
	user, err = s.readFile(path, asked, ofUser, nearest)
	if asked {
		return nil, user, err
	}
	project, err2 := s.readFile(s.ProjectFile, false, ofProject, nearest)
	return project, user, errors.Join(err, err2)
}

func (s System) readFile(path string, asked bool, kind fileKind, nearest Nearest) (*file, error) {
	if path == "" {
		return nil, nil
	}
	data, err := input.Read(path, input.Settings)
	var refused syscall.Errno
	switch {
	case err == nil:
		return s.parseFile(path, data, kind, nearest)
	case !asked && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
		return nil, nil
	case !asked && errors.As(err, &refused): // as in a container with a user of its own
		if s.Warn != nil {
			s.Warn(fmt.Sprintf("the configuration file %s is left out, because it cannot be read: %v; name another with --config", path, err))
		}
		return nil, nil
	case !asked:
		return nil, fmt.Errorf("configuration file %s: %w", path, err)
	}
	return nil, fmt.Errorf("--config %s: %w", path, err)
}

// fileKind is whose file it is. The file of a project may set less than that of the user.
type fileKind int

const (
	ofUser fileKind = iota
	ofProject
)

// parseFile takes a configuration file apart. It reports every key that kt does not know, with its line.
func (s System) parseFile(name string, data []byte, kind fileKind, nearest Nearest) (*file, error) {
	where := func(line int) string { return name + ":" + strconv.Itoa(line) }
	entries, err := readYAML(where, data)
	if err != nil {
		return nil, err
	}
	known := knownKeys()
	f := &file{name: name, kind: kind, sections: make(map[string]settings), clusters: make(map[string]Cluster)}
	p := parser{where: where, dir: filepath.Dir(name), home: s.Getenv("HOME"), nearest: nearest}
	var flags []entry
	for i, e := range entries {
		_, isSection := known[e.key]
		twice := (isSection || e.key == clustersKey) && slices.ContainsFunc(entries[:i], func(o entry) bool { return o.key == e.key })
		switch {
		case twice: // in letters of another case
			p.bad(e, "%s is given twice", e.key)
		case e.node.ShortTag() == "!!null" && (isSection || e.key == clustersKey):
		case e.key == clustersKey && kind == ofProject:
			p.bad(e, "%s: it belongs into the file of the user; a project file may only choose one of them, with cluster: NAME", clustersKey)
		case e.key == clustersKey:
			f.clusters = p.clusters(e)
		case isSection && e.node.Kind != yaml.MappingNode:
			p.bad(e, "%s: it is a section: put keys below it", e.key)
		case isSection:
			f.sections[e.key] = p.settings(entriesOf(e.node), e.key+".", known[e.key])
		default:
			flags = append(flags, e)
		}
	}
	f.top = p.settings(flags, "", known[""])
	if kind == ofProject {
		p.errs = append(p.errs, f.onlyLoads(nearest))
	}
	return f, errors.Join(p.errs...)
}

// parser collects the problems of a file.
type parser struct {
	where   func(line int) string
	dir     string // of the file
	home    string // of the user
	nearest Nearest
	errs    []error
}

func (p *parser) bad(e entry, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s: "+format, append([]any{p.where(e.line)}, args...)...))
}

// settings returns the values of keys, which stand under path. Others than those in known are problems.
func (p *parser) settings(entries []entry, path string, known []string) settings {
	s := make(settings)
nextKey:
	for _, e := range entries {
		_, twice := s[e.key]
		switch {
		case !slices.Contains(known, e.key) && e.key != "description":
			p.bad(e, "unknown key %q%s", path+e.key, p.nearest.hint(e.key, known, ""))
		case twice: // in letters of another case
			p.bad(e, "%s is given twice", path+e.key)
		default:
			var texts []string
			for _, item := range input.Items(e.node) {
				text, err := input.Text(item)
				if err != nil {
					p.bad(e, "%s: %w", path+e.key, err)
					continue nextKey
				}
				texts = append(texts, text)
			}
			s[e.key] = setting{texts, p.where(e.line)}
		}
	}
	return s
}

// entry is a key of a YAML mapping with its value.
type entry struct {
	name string // as it is written
	key  string // the name in lower case
	line int
	node *yaml.Node
}

// readYAML returns the keys of a file of one YAML mapping; where names a line in errors.
func readYAML(where func(line int) string, data []byte) ([]entry, error) {
	const form = "write a flag and its value on each line, as rate: 50k"
	root, err := input.YAML(data, where)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w; %s", err, form)
	case root == nil:
		return nil, nil
	case root.Kind != yaml.MappingNode && root.ShortTag() != "!!null":
		return nil, fmt.Errorf("%s: it has no flag: %s", where(root.Line), form)
	}
	return entriesOf(root), nil
}

// entriesOf returns the keys of a mapping in their order.
func entriesOf(n *yaml.Node) (list []entry) {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		key := n.Content[i]
		list = append(list, entry{key.Value, strings.ToLower(key.Value), key.Line, n.Content[i+1]})
	}
	return list
}

// knownKeys returns the keys that a file may have: under "" those at its top, which are the flags of every command, and
// under the name of a command those of its section. Each list is sorted.
func knownKeys() map[string][]string {
	known := make(map[string][]string)
	for name, define := range definitions() {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		define(set)
		known[name] = flagNames(set)
		known[""] = append(known[""], known[name]...)
	}
	slices.Sort(known[""])
	known[""] = slices.Compact(known[""])
	return known
}
