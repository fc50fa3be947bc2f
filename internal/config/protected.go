package config

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/secret"
)

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

// samePlace returns one name for all spellings of an address. Every address of loopback, and the one that stands for any
// address, is this host.
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

// servers returns the brokers of a cluster as one text, and its source; "": the cluster names none.
func (c *Cluster) servers() (text, source string) {
	if len(c.Bootstrap) > 0 {
		return strings.Join(c.Bootstrap, ","), "cluster " + c.Name
	}
	if text, source = c.ofProperties(); strings.Contains(text, "${") { // a provider knows them
		return "", ""
	}
	return text, source
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
