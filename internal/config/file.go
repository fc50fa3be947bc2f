package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/suggest"
)

// file is a configuration file.
type file struct {
	name     string
	from     level            // that of a project may set less than that of the user
	parts    map[string]layer // "": the top, for every command that has such a flag; else a section
	clusters map[string]Cluster
}

// files are the two configuration files; nil: there is none.
type files struct{ project, user *file }

// of returns what the file says to a command: its section counts more than the top. The file may be nil.
func (f *file) of(command string) layer {
	if f == nil {
		return newLayer(fromUser)
	}
	l := newLayer(f.from)
	for _, part := range []layer{f.parts[""], f.parts[command]} {
		for flag, at := range part.at {
			if f.from != fromProject || inProject(command, flag) == allowed {
				l.put(flag, part.GetStringSlice(flag), at)
			}
		}
	}
	return l
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
func (s System) readFiles(flag string) (*files, error) {
	if s.check != nil {
		return s.check, nil
	}
	path, asked := s.userFile(flag)
	user, err := s.readFile(path, asked, fromUser)
	if asked {
		return &files{user: user}, err
	}
	project, wrong := s.readFile(s.ProjectFile, false, fromProject)
	return &files{project, user}, errors.Join(err, wrong)
}

func (s System) readFile(path string, asked bool, from level) (*file, error) {
	if path == "" {
		return nil, nil
	}
	data, err := input.Read(path, input.Settings)
	var refused syscall.Errno
	switch {
	case err == nil:
		return s.parseFile(path, data, from)
	case asked:
		return nil, fmt.Errorf("--config %s: %w", path, err)
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
	case !errors.As(err, &refused):
		return nil, fmt.Errorf("configuration file %s: %w", path, err)
	case s.Warn != nil: // as in a container with a user of its own
		s.Warn(fmt.Sprintf("the configuration file %s is left out, because it cannot be read: %v; name another with --config", path, err))
	}
	return nil, nil
}

// parseFile takes a configuration file apart. It reports every key that kt does not know, with its line.
func (s System) parseFile(name string, data []byte, from level) (*file, error) {
	p := parser{from: from, where: func(line int) string { return name + ":" + strconv.Itoa(line) }, dir: filepath.Dir(name), home: s.Getenv("HOME")}
	entries, err := readYAML(p.where, data)
	if err != nil {
		return nil, err
	}
	f := &file{name: name, from: from, parts: make(map[string]layer), clusters: make(map[string]Cluster)}
	var top []entry
	for i, e := range entries {
		isSection := slices.Contains(Commands(), e.key)
		twice := slices.ContainsFunc(entries[:i], func(o entry) bool { return o.key == e.key })
		switch {
		case !isSection && e.key != clustersKey:
			top = append(top, e)
		case twice: // in letters of another case
			p.bad(e, "%s is given twice", e.key)
		case e.node.ShortTag() == "!!null":
		case e.key == clustersKey && from == fromProject:
			p.bad(e, "%s: it belongs into the file of the user; a project file may only choose one of them, with cluster: NAME", clustersKey)
		case e.key == clustersKey:
			f.clusters = p.clusters(e)
		case e.node.Kind != yaml.MappingNode:
			p.bad(e, "%s: it is a section: put keys below it", e.key)
		default:
			f.parts[e.key] = p.texts(entriesOf(e.node), e.key, flagNames(e.key))
		}
	}
	f.parts[""] = p.texts(top, "", flagNames(""))
	return f, errors.Join(p.errs...)
}

// parser reads a file, and collects its problems.
type parser struct {
	from  level
	where func(line int) string
	dir   string // of the file
	home  string // of the user
	errs  []error
}

func (p *parser) bad(e entry, format string, args ...any) {
	p.errs = append(p.errs, plan.Refuse("", nil, format, args...).From(p.where(e.line)))
}

// texts returns the values of keys as they stand in the section of a file; "": at its top. Others than those in known are problems.
func (p *parser) texts(entries []entry, section string, known []string) layer {
	l := newLayer(p.from)
	path := section
	if section != "" {
		path += "."
	}
nextKey:
	for _, e := range entries {
		switch _, twice := l.at[e.key]; {
		case !slices.Contains(known, e.key) && e.key != "description":
			p.bad(e, "unknown key %q%s", path+e.key, suggest.Hint(e.key, known, ""))
		case twice: // in letters of another case
			p.bad(e, "%s is given twice", path+e.key)
		default:
			texts := []string{}
			for _, item := range input.Items(e.node) {
				text, err := input.Text(item)
				if err != nil {
					p.bad(e, "%s: %w", path+e.key, err)
					continue nextKey
				}
				texts = append(texts, text)
			}
			l.put(e.key, texts, p.where(e.line))
			if p.from == fromProject {
				p.project(e, section, texts)
			}
		}
	}
	return l
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

// The file of a project may be somebody else's, as in a clone. So it may set only what describes loads, series of loads, and how
// they look. A flag that no row names is refused, and a test fails on one that a row allows and nobody has decided on.

// allowed is the reason of a flag that the file of a project may set.
const allowed = ""

// inProject returns why the file of a project may not set a flag of a command, allowed if it may; of no command: of any.
func inProject(command, flag string) (does string) {
	for _, s := range settings {
		switch {
		case s.Name != flag || s.Typed || !s.isOf(command):
		case *s.Forbidden == allowed:
			return allowed
		default:
			does = cmp.Or(does, *s.Forbidden)
		}
	}
	if flag == "description" {
		return allowed
	}
	return cmp.Or(does, "describes no load")
}

// project refuses what the file of a project must not set.
func (p *parser) project(e entry, command string, texts []string) {
	const instead = ": give it on the command line, or in your own file (kt/config.yaml)"
	if does := inProject(command, e.key); does != allowed {
		p.bad(e, "--%s %s, which no project file may do"+instead, e.key, does)
	}
	if e.key != "command-property" && e.key != "producer-props" {
		return
	}
	for _, item := range texts {
		name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		if !slices.Contains(projectProperties, name) {
			p.bad(e, "--%s: %.40q is no property that a project file may set"+instead+"%s", e.key, name, suggest.Hint(name, projectProperties, ""))
		} else if strings.Contains(value, "${") {
			p.bad(e, "--%s: %s looks a value up elsewhere, which no project file may do"+instead, e.key, name)
		}
	}
}
