package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

// file is a configuration file. That of a project may set less than that of the user.
type file struct {
	name     string
	parts    map[string]layer // "": the top, for every command that has such a flag; else a section
	clusters map[string]Cluster
}

// of returns what the file says to a command: its section counts more than the top. The file may be nil.
func (f *file) of(command string, from level) layer {
	l := newLayer(from)
	if f == nil {
		return l
	}
	for _, part := range []layer{f.parts[""], f.parts[command]} {
		for flag, at := range part.at {
			if from != fromProject || inProject(command, flag) == allowed {
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
func (s System) readFiles(flag string) (project, user *file, err error) {
	if s.check != nil {
		return s.check.project, s.check.user, nil
	}
	path, asked := s.userFile(flag)
	user, err = s.readFile(path, asked, fromUser)
	if asked {
		return nil, user, err
	}
	project, err2 := s.readFile(s.ProjectFile, false, fromProject)
	return project, user, errors.Join(err, err2)
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

// parseFile takes a configuration file apart. It reports every key that kt does not know, with its line.
func (s System) parseFile(name string, data []byte, from level) (*file, error) {
	p := parser{from: from, where: func(line int) string { return name + ":" + strconv.Itoa(line) }, dir: filepath.Dir(name), home: s.Getenv("HOME")}
	entries, err := readYAML(p.where, data)
	if err != nil {
		return nil, err
	}
	f := &file{name: name, parts: make(map[string]layer), clusters: make(map[string]Cluster)}
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
			f.parts[e.key] = p.texts(entriesOf(e.node), e.key+".", flagNames(e.key))
		}
	}
	f.parts[""] = p.texts(top, "", flagNames(""))
	if from == fromProject {
		p.errs = append(p.errs, f.onlyLoads())
	}
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

// texts returns the values of keys as they stand in the file. The keys stand under path. Others than those in known are problems.
func (p *parser) texts(entries []entry, path string, known []string) layer {
	l := newLayer(p.from)
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

// projectProperties are the properties of clients that the file of a project may set. They name no class, no file and no address,
// and nothing of a login.
const projectProperties = `acks allow.auto.create.topics auto.commit.interval.ms auto.offset.reset batch.size buffer.memory check.crcs client.id client.rack
	compression.gzip.level compression.lz4.level compression.type compression.zstd.level connections.max.idle.ms default.api.timeout.ms
	delivery.timeout.ms enable.auto.commit enable.idempotence exclude.internal.topics fetch.max.bytes fetch.max.wait.ms fetch.min.bytes group.id
	group.instance.id group.protocol group.remote.assignor heartbeat.interval.ms isolation.level linger.ms max.block.ms
	max.in.flight.requests.per.connection max.message.bytes max.partition.fetch.bytes max.poll.interval.ms max.poll.records max.request.size metadata.max.age.ms
	metadata.max.idle.ms metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy partitioner.adaptive.partitioning.enable
	metrics.num.samples metrics.recording.level metrics.sample.window.ms partitioner.availability.timeout.ms partitioner.ignore.keys partitioner.rack.aware receive.buffer.bytes reconnect.backoff.max.ms
	reconnect.backoff.ms request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms send.buffer.bytes session.timeout.ms share.acknowledgement.mode share.acquire.mode
	socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms transaction.timeout.ms
	transaction.two.phase.commit.enable transactional.id
	ack.quorum auto.ack batching.max.messages delivery.mode mandatory max.pending.messages prefetch.count receiver.queue.size subscription.type`

// allowed is the reason of a flag that the file of a project may set.
const allowed = ""

// inProject returns why the file of a project may not set a flag of a command, allowed if it may; of no command: of any.
func inProject(command, flag string) (does string) {
	for _, s := range settings {
		switch {
		case s.Name != flag || s.Typed || !slices.ContainsFunc(s.Commands, func(c string) bool { return c == command || command == "" }):
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

// onlyLoads returns an error for each setting of the file of a project that it must not have.
func (f *file) onlyLoads() error {
	var errs []error
	for _, command := range slices.Sorted(maps.Keys(f.parts)) {
		part := f.parts[command]
		for _, key := range slices.Sorted(maps.Keys(part.at)) {
			refuse := func(near, format string, args ...any) {
				text := fmt.Sprintf(format, args...) + ": give it on the command line, or in your own file (kt/config.yaml)" + near
				errs = append(errs, plan.Refuse("", nil, "%s", text).From(part.at[key]))
			}
			if does := inProject(command, key); does != allowed {
				refuse("", "--%s %s, which no project file may do", key, does)
			}
			if key != "command-property" && key != "producer-props" {
				continue
			}
			for _, item := range part.GetStringSlice(key) {
				name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
				if known := strings.Fields(projectProperties); !slices.Contains(known, name) {
					refuse(suggest.Hint(name, known, ""), "--%s: %.40q is no property that a project file may set", key, name)
				} else if strings.Contains(value, "${") {
					refuse("", "--%s: %s looks a value up elsewhere, which no project file may do", key, name)
				}
			}
		}
	}
	return errors.Join(errs...)
}
