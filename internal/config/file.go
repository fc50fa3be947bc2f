package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

// setting is the value of a key in a file, and where it stands.
type setting struct {
	value  any    // nil: the key has no value, which counts as if it were not there
	source string // FILE:LINE, or the name of a profile
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
			if s.value != nil && (f.kind != ofProject || inProject(command, key) == "") {
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
	for _, e := range entries {
		_, isSection := known[e.key]
		switch {
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
	for _, e := range entries {
		_, twice := s[e.key]
		switch {
		case !slices.Contains(known, e.key) && e.key != "description":
			p.bad(e, "unknown key %q%s", path+e.key, p.nearest.hint(e.key, known, ""))
		case twice: // in letters of another case
			p.bad(e, "%s is given twice", path+e.key)
		default:
			s[e.key] = setting{e.value(), p.where(e.line)}
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

// value returns the value as YAML has it: a string, a number, a list, …
func (e entry) value() (v any) {
	_ = e.node.Decode(&v) // the whole file was decoded before
	return v
}

// readYAML returns the keys of a file of one YAML mapping; where names a line in errors.
func readYAML(where func(line int) string, data []byte) ([]entry, error) {
	failed := func(err error) error {
		text := yamlWords.Replace(err.Error())
		var line int
		if _, err := fmt.Sscanf(text, "line %d: ", &line); err != nil {
			line = 1
		}
		text = strings.TrimPrefix(text, fmt.Sprintf("line %d: ", line))
		return fmt.Errorf("%s: %s; write a flag and its value on each line, as rate: 50k", where(line), text)
	}
	// Decoding finds what the nodes alone do not show: keys that are there twice, endless aliases.
	var all map[string]any
	if err := yaml.Unmarshal(data, &all); err != nil {
		return nil, failed(err)
	}
	documents := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := documents.Decode(&doc); errors.Is(err, io.EOF) { // it is empty
		return nil, nil
	} else if err != nil {
		return nil, failed(err)
	}
	if err := documents.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: only the part above the first --- would count; write one document", where(max(1, more.Line)))
	}
	return entriesOf(doc.Content[0]), nil
}

// entriesOf returns the keys of a mapping in their order, with those that << takes over last.
func entriesOf(n *yaml.Node) (list []entry) {
	n = resolved(n)
	var merged []entry
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		key, value := n.Content[i], resolved(n.Content[i+1])
		if key.ShortTag() != "!!merge" {
			list = append(list, entry{resolved(key).Value, strings.ToLower(resolved(key).Value), key.Line, value})
			continue
		}
		from := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			from = value.Content
		}
		for _, f := range from {
			merged = append(merged, entriesOf(f)...)
		}
	}
	for _, m := range merged {
		if !slices.ContainsFunc(list, func(e entry) bool { return e.key == m.key }) {
			list = append(list, m)
		}
	}
	return list
}

// resolved returns the node that an alias stands for, or the node itself.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// yamlWords says in a person's words what the library says in Go's.
var yamlWords = strings.NewReplacer("yaml: unmarshal errors:\n  ", "", "yaml: ", "",
	"cannot unmarshal !!str", "the text", "cannot unmarshal !!seq", "a list", "cannot unmarshal !!int", "the number",
	" into map[string]interface {}", " is no flag with a value", "mapping key", "the flag")

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
