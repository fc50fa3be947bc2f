package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
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

// clusters returns what stands below the key clusters. Names keep their case, which viper would not: so they come from the node.
func (p *parser) clusters(list entry) map[string]Cluster {
	all := make(map[string]Cluster)
	for _, e := range entriesOf(list.node) {
		c := Cluster{Name: e.name, Source: p.where(e.line), Bootstrap: []string{}}
		texts, lines := p.texts(entriesOf(e.node), clustersKey+"."+e.name+".", []string{"bootstrap-server", "command-config", "description", "protected"})
		of := newLayer(fromUser).merge(texts, func(key string) string { return p.where(lines[key]) })
		c.Description = of.text("description")
		c.Bootstrap = append(c.Bootstrap, named(strings.Split(of.text("bootstrap-server"), ","))...)
		if c.Properties = of.text("command-config"); c.Properties != "" {
			c.Properties = p.path(c.Properties)
		}
		if of.IsSet("protected") { // a word that was meant to protect must not be ignored
			is, err := boolKind.read([]string{of.text("protected")})
			if c.Protected, _ = is.(bool); err != nil {
				p.errs = append(p.errs, plan.Refuse("protected", of.text("protected"), "%w", err).From(of.at["protected"]))
			}
		}
		if len(c.Bootstrap) == 0 && (of.IsSet("bootstrap-server") || c.Properties == "") {
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
func (l *layers) applyCluster(all []layer) ([]layer, error) {
	f := l.flags.Lookup("cluster")
	if f == nil {
		return all, nil
	}
	name, source, at := l.typedText("cluster"), "--cluster", 0
	from := fromFlag
	for i := len(all) - 1; i >= 0 && !f.Changed; i-- {
		if all[i].IsSet("cluster") {
			name, source, from, at = all[i].text("cluster"), all[i].at["cluster"], all[i].from, i+1
		}
	}
	if name == "" {
		return all, nil
	}
	c, ok := l.clusters[name]
	if !ok {
		return nil, noCluster(source, name, l.clusters)
	}
	switch brokers, flag := l.brokersFrom(all); {
	case brokers > from:
		return all, nil
	case brokers == from:
		return nil, fmt.Errorf("--cluster and --%s exclude each other: give one (cluster %s is from %s)", flag, name, source)
	}
	l.cluster = name
	own := newLayer(from).merge(map[string]any{"cluster": []string{name}}, func(string) string { return source })
	own.chosen = true
	if servers, from := c.servers(); servers != "" {
		own.merge(map[string]any{"bootstrap-server": []string{servers}}, func(string) string { return from })
		l.servers = []string{servers}
	}
	if c.Properties != "" {
		own.merge(map[string]any{"command-config": []string{c.Properties}}, func(string) string { return "cluster " + name })
	}
	return slices.Insert(all, at, own), nil
}

// brokersFrom returns the highest layer that names brokers, and the flag by which it does. A file of Java properties names
// them with bootstrap.servers.
func (l *layers) brokersFrom(all []layer) (level, string) {
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
		if names(flag, l.typedText(flag)) {
			return fromFlag, flag
		}
	}
	for _, layer := range all {
		for _, flag := range flags {
			if l.flags.Lookup(flag) != nil && names(flag, layer.text(flag)) {
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

// noCluster returns the problem of a cluster that the configuration file does not have.
func noCluster(source, name string, all map[string]Cluster) error {
	p := plan.Refuse("cluster", name, "there is no such cluster: write it below %s: in the configuration file (see: kt config --help)", clustersKey)
	if names := slices.Sorted(maps.Keys(all)); len(names) > 0 {
		p = plan.Refuse("cluster", name, "there is no such cluster%s", hint(name, names, "; there are "+strings.Join(names, ", ")))
	}
	if source == "--cluster" {
		return p
	}
	return p.From(source)
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
