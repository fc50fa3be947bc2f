package config

import (
	"bytes"
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
		of := p.texts(entriesOf(e.node), clustersKey+"."+e.name, []string{"bootstrap-server", "command-config", "description", "protected"})
		c := Cluster{Name: e.name, Source: p.where(e.line), Description: of.text("description"), Properties: of.text("command-config")}
		c.Bootstrap = append([]string{}, addresses(of.text("bootstrap-server"))...)
		if rest, ofHome := strings.CutPrefix(c.Properties, "~/"); ofHome {
			c.Properties = filepath.Join(p.home, rest)
		} else if c.Properties != "" && !filepath.IsAbs(c.Properties) {
			c.Properties = filepath.Join(p.dir, c.Properties) // the folder of the configuration file
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
		if servers, where = serversOf(c.Properties); strings.Contains(servers, "${") {
			servers = "" // a provider knows them
		}
	}
	if servers != "" {
		l.servers = servers
		own.put("bootstrap-server", []string{servers}, where)
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
			names := text != "" && (!listFlags["--"+flag] || strings.Contains(text, bootstrapProperty))
			if slices.Contains(propertyFiles, flag) {
				_, where := serversOf(text)
				names = where != ""
			}
			if names && l.flags.Lookup(flag) != nil {
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

// protected returns the name of the protected cluster that brokers belong to, however they were named; "": none.
func (l *layers) protected(brokers []string) string {
	if l.clusters[l.cluster].Protected {
		return l.cluster
	}
	guarded, hosts := make(map[string][]string), hostsOf(brokers)
	for name, c := range l.clusters {
		if c.Protected {
			guarded[name] = c.brokers()
			hosts = append(hosts, hostsOf(guarded[name])...)
		}
	}
	slices.Sort(hosts)
	var known map[string][]string
	for _, look := range []bool{false, true} { // most loads need no name server
		if look && l.sys.Addresses != nil && len(hosts) > 0 {
			known = l.sys.Addresses(slices.Compact(hosts))
		}
		at := placesOf(brokers, known)
		for _, name := range slices.Sorted(maps.Keys(guarded)) {
			if slices.ContainsFunc(placesOf(guarded[name], known), func(place string) bool { return slices.Contains(at, place) }) {
				return name
			}
		}
	}
	return ""
}

// placesOf returns where brokers are: HOST:PORT, also with each known address of the host. All names of this host are localhost.
func placesOf(brokers []string, addresses map[string][]string) (places []string) {
	for _, broker := range brokers {
		host, port := secret.SplitAddress(broker)
		for _, place := range append([]string{host}, addresses[host]...) {
			ip, err := netip.ParseAddr(place)
			if ip = ip.Unmap().WithZone(""); ip.IsLoopback() || ip.IsUnspecified() {
				place = "localhost"
			} else if err == nil {
				place = ip.String()
			}
			places = append(places, net.JoinHostPort(place, port))
		}
	}
	return places
}

// hostsOf returns the hosts of addresses.
func hostsOf(addresses []string) (hosts []string) {
	for _, addr := range addresses {
		host, _ := secret.SplitAddress(addr)
		hosts = append(hosts, host)
	}
	return hosts
}

// brokers returns the addresses of a cluster, also those of its properties file if that can be read.
func (c *Cluster) brokers() []string {
	servers, _ := serversOf(c.Properties)
	return append(slices.Clone(c.Bootstrap), addresses(servers)...)
}

// serversOf returns the brokers that a file of Java properties names, and where; "": none. A load that uses the file tells its problems.
func serversOf(path string) (text, source string) {
	if path == "" {
		return "", ""
	}
	list, _ := readProperties(path)
	for _, p := range list {
		if p.Key == bootstrapProperty {
			text, source = strings.Join(addresses(p.Value), ","), path+":"+strconv.Itoa(p.Line)
		}
	}
	return text, source
}

// addresses returns the addresses of a list that is written as one text.
func addresses(text string) []string { return named(strings.Split(text, ",")) }

// ErrNoClusters is the error of a configuration without a cluster.
var ErrNoClusters = errors.New("there is no cluster in the configuration file: kt config --help shows how to write one")

// Use makes a cluster the one that commands use, by a line in the file of the user, and returns the name of that file.
func (c *Configure) Use(name string, sys System) (string, error) {
	path, asked := sys.userFile(c.text("config"))
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
// clustersLine matches the key of the clusters, and the comment above it.
var (
	clusterLine  = regexp.MustCompile(`(?im)^("?cluster"?[ \t]*:)[^#\n]*?([ \t]+#.*?)?(\r?)$`)
	clustersLine = regexp.MustCompile(`(?im)^(#.*\n)*"?clusters"?[ \t]*:`)
)

// useCluster returns the text of a file with another cluster chosen. It changes one line, or adds one. It is an error if
// anything else would differ.
func useCluster(data []byte, name string) ([]byte, error) {
	quoted, err := yaml.Marshal(name)
	if err != nil {
		return nil, err
	}
	value := strings.TrimSpace(string(quoted))
	text := clusterLine.ReplaceAll(data, []byte("${1} "+strings.ReplaceAll(value, "$", "$$")+"${2}${3}"))
	if !clusterLine.Match(data) {
		line, at := "cluster: "+value+"\n", 0
		if first, _, _ := bytes.Cut(data, []byte("\n")); bytes.HasSuffix(first, []byte("\r")) {
			line = "cluster: " + value + "\r\n"
		}
		if found := clustersLine.FindIndex(data); found != nil {
			at = found[0]
		}
		text = slices.Insert(slices.Clone(data), at, []byte(line)...)
	}
	var was, is map[string]any
	err = errors.Join(yaml.Unmarshal(data, &was), yaml.Unmarshal(text, &is))
	chosen := ""
	for _, file := range []map[string]any{was, is} {
		maps.DeleteFunc(file, func(key string, value any) bool {
			if !strings.EqualFold(key, "cluster") {
				return false
			}
			chosen, _ = value.(string)
			return true
		})
	}
	if err != nil || chosen != name || !reflect.DeepEqual(was, is) {
		return nil, errors.New("kt cannot change a file of this form: write cluster: NAME into it by hand")
	}
	return text, nil
}
