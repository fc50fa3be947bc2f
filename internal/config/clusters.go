package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/properties"
)

// clustersKey is the key of the user's file that holds the clusters, by their names.
const clustersKey = "clusters"

// Cluster is a cluster that has a name.
type Cluster struct {
	Name        string   `json:"name"`
	Current     bool     `json:"current"` // it is in use
	Description string   `json:"description,omitempty"`
	Bootstrap   []string `json:"bootstrap_server"`         // HOST:PORT; empty: the properties file has them, and is not read yet
	Properties  string   `json:"command_config,omitempty"` // the path of a Java properties file; "": none
	Protected   bool     `json:"protected"`                // kt asks before a load
	Source      string   `json:"source"`                   // FILE:LINE
}

// clusterKeys are the keys of a cluster.
var clusterKeys = []string{"bootstrap-server", "command-config", "description", "protected"}

// clusters returns what stands below the key clusters. Names keep their case.
func (p *parser) clusters(list entry) map[string]Cluster {
	all := make(map[string]Cluster)
	for _, e := range entriesOf(list.node) {
		c := Cluster{Name: e.name, Source: p.where(e.line), Bootstrap: []string{}}
		s := p.settings(entriesOf(e.node), clustersKey+"."+e.name+".", clusterKeys)
		c.Description = s.text("description")
		c.Bootstrap = append(c.Bootstrap, named(strings.Split(s.text("bootstrap-server"), ","))...)
		if c.Properties = s.text("command-config"); c.Properties != "" {
			c.Properties = p.path(c.Properties)
		}
		if text, ok := s["protected"]; ok { // a word that was meant to protect must not be ignored
			var err error
			if c.Protected, err = strconv.ParseBool(s.text("protected")); err != nil {
				p.errs = append(p.errs, fmt.Errorf("%s: protected %q: it must be true or false", text.source, s.text("protected")))
			}
		}
		if _, given := s["bootstrap-server"]; len(c.Bootstrap) == 0 && (given || c.Properties == "") {
			p.bad(e, "cluster %s: it has no brokers: write bootstrap-server: HOST:PORT, or command-config: FILE with bootstrap.servers", e.name)
		}
		all[e.name] = c
	}
	return all
}

// path returns a path of a configuration file: one that is relative begins at the folder of that file, and ~ is the
// user's home.
func (p *parser) path(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(p.home, rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.dir, path)
}

// applyCluster adds the settings of the cluster in use to the layers. They count in the layer that chose the cluster,
// below what that layer says of the same flags. Brokers that a higher layer names are another cluster: then nothing of
// this one counts, so that its password goes to nobody else.
func (l *layers) applyCluster(fills []fill) ([]fill, error) {
	f := l.flags.Lookup("cluster")
	if f == nil {
		return fills, nil
	}
	name, source, at := f.Value.String(), "--cluster", 0
	from := fromFlag
	for i := len(fills) - 1; i >= 0 && !f.Changed; i-- {
		if s, ok := fills[i].of["cluster"]; ok {
			name, source, from, at = fills[i].of.text("cluster"), s.source, fills[i].from, i+1
		}
	}
	for i := range fills {
		delete(fills[i].of, "cluster") // it is set below, if it counts
	}
	if name == "" {
		return fills, nil
	}
	c, ok := l.clusters[name]
	if !ok {
		return nil, noCluster(source, name, l.clusters, l.nearest)
	}
	switch brokers, flag := l.brokersFrom(fills); {
	case brokers > from:
		return fills, nil
	case brokers == from:
		return nil, fmt.Errorf("--cluster and --%s exclude each other: give one (cluster %s is from %s)", flag, name, source)
	}
	l.cluster = name
	own := settings{"cluster": {[]string{name}, source}}
	if servers, from := c.servers(); servers != "" {
		own["bootstrap-server"], l.servers = setting{[]string{servers}, from}, []string{servers}
	}
	if c.Properties != "" {
		own["command-config"] = setting{[]string{c.Properties}, "cluster " + name}
	}
	return slices.Insert(fills, at, fill{from, own}), nil
}

// brokersFrom returns the highest layer that names brokers, and the flag by which it does. A file of Java properties names
// them with bootstrap.servers.
func (l *layers) brokersFrom(fills []fill) (layer, string) {
	flags := slices.Concat([]string{"bootstrap-server", "broker-list", "url", "command-property", "producer-props"}, propertyFiles)
	names := func(flag, text string) bool {
		switch {
		case text == "":
			return false
		case slices.Contains(propertyFiles, flag):
			list, _ := readProperties(text) // a load that uses the file tells its problems
			return slices.ContainsFunc(list, func(p properties.Property) bool { return p.Key == bootstrapProperty })
		}
		return !listFlags["--"+flag] || strings.Contains(text, bootstrapProperty)
	}
	for _, flag := range flags {
		if f := l.flags.Lookup(flag); f != nil && f.Changed && names(flag, f.Value.String()) {
			return fromFlag, flag
		}
	}
	for _, layer := range fills {
		for _, flag := range flags {
			if l.flags.Lookup(flag) != nil && names(flag, layer.of.text(flag)) {
				return layer.from, flag
			}
		}
	}
	return fromDefault, ""
}

// propertyFiles are the flags that name a file of Java properties for a client.
var propertyFiles = []string{"command-config", "producer.config", "consumer.config"}

// bootstrapProperty is the Java property that names brokers.
const bootstrapProperty = "bootstrap.servers"

// noCluster returns the error of a cluster that the configuration file does not have.
func noCluster(source, name string, all map[string]Cluster, nearest Nearest) error {
	if hasLine.MatchString(source) {
		source += ": cluster"
	}
	if len(all) == 0 {
		return fmt.Errorf("%s %s: there is no such cluster: write it below %s: in the configuration file (see: kt config --help)", source, name, clustersKey)
	}
	names := slices.Sorted(maps.Keys(all))
	return fmt.Errorf("%s %s: there is no such cluster%s", source, name, nearest.hint(name, names, "; there are "+strings.Join(names, ", ")))
}

// readProperties reads the properties file of a cluster, if it has one.
func (c *Cluster) readProperties() ([]properties.Property, error) {
	if c.Properties == "" {
		return nil, nil
	}
	list, err := readProperties(c.Properties)
	if err != nil {
		return nil, fmt.Errorf("command-config %s: %w", c.Properties, err)
	}
	return list, nil
}

// defineCluster defines the flag of a command that connects to brokers.
func defineCluster(set *pflag.FlagSet, name *string) {
	set.StringVar(name, "cluster", "", "the cluster of this `NAME` in the configuration file: its brokers and properties (see kt config)")
}
