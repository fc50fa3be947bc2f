package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/properties"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/suggest"
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
		of := p.texts(entriesOf(e.node), clustersKey+"."+e.name+".", []string{"bootstrap-server", "command-config", "description", "protected"})
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
	at := slices.IndexFunc(all, func(o layer) bool { return o.IsSet("cluster") })
	if at < 0 || l.flags.Lookup("cluster") == nil || all[at].text("cluster") == "" {
		return all, nil
	}
	name, source, from := all[at].text("cluster"), all[at].at["cluster"], all[at].from
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
	own := newLayer(from)
	own.chosen = true
	own.put("cluster", []string{name}, source)
	servers, where := strings.Join(c.Bootstrap, ","), "cluster "+name
	if servers == "" {
		servers, where = c.ofProperties()
	}
	if servers != "" && !strings.Contains(servers, "${") { // else a provider knows them
		l.servers = []string{servers}
		own.put("bootstrap-server", l.servers, where)
	}
	if c.Properties != "" {
		own.put("command-config", []string{c.Properties}, "cluster "+name)
	}
	return slices.Insert(all, at+1, own), nil
}

// brokersFrom returns the highest layer that names brokers, also in a file of Java properties, and the flag by which it does.
func (l *layers) brokersFrom(all []layer) (level, string) {
	for _, layer := range all {
		for _, flag := range append([]string{"bootstrap-server", "broker-list", "url", "command-property", "producer-props"}, propertyFiles...) {
			text := layer.text(flag)
			names := !listFlags["--"+flag] || strings.Contains(text, bootstrapProperty)
			if slices.Contains(propertyFiles, flag) {
				list, _ := readProperties(text) // a load that uses the file tells its problems
				names = slices.ContainsFunc(list, func(p properties.Property) bool { return p.Key == bootstrapProperty })
			}
			if text != "" && names && l.flags.Lookup(flag) != nil {
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
		p = plan.Refuse("cluster", name, "there is no such cluster%s", suggest.Hint(name, names, "; there are "+strings.Join(names, ", ")))
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

// protected returns the name of the protected cluster that brokers belong to, however they were named; "": none.
func (l *layers) protected(brokers []string) string {
	if l.clusters[l.cluster].Protected {
		return l.cluster
	}
	guarded := make(map[string][]string) // the brokers of each protected cluster
	for name, c := range l.clusters {
		if c.Protected {
			guarded[name] = c.brokers()
		}
	}
	names := slices.Sorted(maps.Keys(guarded))
	for _, look := range []func([]string) map[string][]string{nil, l.sys.Addresses} { // most loads need no name server
		places := placesOf(slices.Concat(append(slices.Collect(maps.Values(guarded)), brokers)...), look)
		among := func(list []string) (all []string) {
			for _, broker := range list {
				all = append(all, places[broker]...)
			}
			return all
		}
		at := among(brokers)
		for _, name := range names {
			if slices.ContainsFunc(among(guarded[name]), func(place string) bool { return slices.Contains(at, place) }) {
				return name
			}
		}
	}
	return ""
}

// placesOf returns where each of some brokers is: its HOST:PORT, and the same with each address of its host. addresses
// returns the addresses of hosts; it may be nil.
func placesOf(brokers []string, addresses func(hosts []string) map[string][]string) map[string][]string {
	var hosts []string
	for _, broker := range brokers {
		host, _ := secret.SplitAddress(broker)
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	var found map[string][]string
	if addresses != nil && len(hosts) > 0 {
		found = addresses(slices.Compact(hosts))
	}
	places := make(map[string][]string)
	for _, broker := range brokers {
		host, port := secret.SplitAddress(broker)
		for _, place := range append(found[host], host) {
			places[broker] = append(places[broker], net.JoinHostPort(samePlace(place), port))
		}
	}
	return places
}

// samePlace returns one name for all spellings of an address: localhost for those that are this host.
func samePlace(host string) string {
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return host
	case ip.Unmap().IsLoopback() || ip.Unmap().IsUnspecified():
		return "localhost"
	}
	return ip.Unmap().WithZone("").String()
}

// brokers returns the addresses of a cluster, also those of its properties file if that can be read.
func (c *Cluster) brokers() []string {
	servers, _ := c.ofProperties()
	return append(slices.Clone(c.Bootstrap), named(strings.Split(servers, ","))...)
}

// ofProperties returns the brokers that the properties file of a cluster names, and where.
func (c *Cluster) ofProperties() (text, source string) {
	list, _ := c.readProperties() // a load that uses the file tells its problems
	for _, p := range list {
		if p.Key == bootstrapProperty {
			text, source = strings.Join(named(strings.Split(p.Value, ",")), ","), c.Properties+":"+strconv.Itoa(p.Line)
		}
	}
	return text, source
}

// ErrNoClusters is the error of a configuration without a cluster.
var ErrNoClusters = errors.New("there is no cluster in the configuration file: kt config --help shows how to write one")

// Use makes a cluster the one that commands use, by a line in the file of the user, and returns the name of that file.
func (c *Configure) Use(name string, sys System) (string, error) {
	path, asked := sys.userFile(c.typedText("config"))
	if path == "" {
		return "", errors.New("there is no configuration folder: name a file with --config FILE")
	}
	data, err := input.Read(path, input.Settings)
	switch {
	case !asked && errors.Is(err, fs.ErrNotExist):
		return path, ErrNoClusters
	case err != nil:
		return path, fmt.Errorf("%s: %w", path, err)
	}
	f, err := sys.parseFile(path, data, fromUser)
	if err != nil {
		return path, err
	}
	if _, ok := f.clusters[name]; !ok {
		return path, noCluster("", name, f.clusters)
	}
	for _, key := range []string{"bootstrap-server", "broker-list"} {
		if at := f.parts[""].at[key]; at != "" {
			return path, plan.Refuse("", nil, "%s names brokers too, so a cluster and it exclude each other: remove it first", key).From(at)
		}
	}
	text, err := useCluster(data, name)
	if err != nil {
		return path, fmt.Errorf("%s: %w", path, err)
	}
	to, err := filepath.EvalSymlinks(path) // a symbolic link stays a link
	if err != nil {
		return path, err
	}
	info, err := os.Stat(to)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: it is no regular file, so kt does not write to it", to)
	}
	if err != nil {
		return path, err
	}
	return path, input.ReplaceText(to, info.Mode().Perm(), text)
}

// clusterLine matches the line that chooses a cluster: the key, a comment behind the value, a carriage return.
var clusterLine = regexp.MustCompile(`(?i)^("?cluster"?[ \t]*:)[^#]*?([ \t]+#.*?)?(\r?)$`)

// useCluster returns the text of a file with another cluster chosen. It changes one line, or adds one.
func useCluster(data []byte, name string) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	quoted, err := yaml.Marshal(name)
	if err != nil {
		return nil, err
	}
	value := strings.TrimSpace(string(quoted))
	lines := strings.Split(string(data), "\n")
	at := -1 // of clusters:, and the comment above it
	for _, e := range entriesOf(doc.Content[0]) {
		i := e.line - 1
		if e.key == "cluster" {
			lines[i] = clusterLine.ReplaceAllString(lines[i], "${1} "+strings.ReplaceAll(value, "$", "$$")+"${2}${3}")
			return sameBut(data, []byte(strings.Join(lines, "\n")), name)
		}
		if e.key == clustersKey {
			for at = i; at > 0 && strings.HasPrefix(lines[at-1], "#"); {
				at--
			}
		}
	}
	end := ""
	if strings.HasSuffix(lines[0], "\r") {
		end = "\r"
	}
	lines = slices.Insert(lines, max(at, 0), "cluster: "+value+end)
	return sameBut(data, []byte(strings.Join(lines, "\n")), name)
}

// sameBut returns the new text of a file. It is an error if anything but the chosen cluster differs from the text before.
func sameBut(before, after []byte, name string) ([]byte, error) {
	var was, is map[string]any
	if err := errors.Join(yaml.Unmarshal(before, &was), yaml.Unmarshal(after, &is)); err == nil {
		for key := range was {
			if strings.EqualFold(key, "cluster") {
				was[key] = name
				name = ""
			}
		}
		if name != "" {
			was["cluster"] = name
		}
		if reflect.DeepEqual(was, is) {
			return after, nil
		}
	}
	return nil, errors.New("kt cannot change a file of this form: write cluster: NAME into it by hand")
}
