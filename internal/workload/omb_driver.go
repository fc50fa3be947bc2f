package workload

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/properties"
	"github.com/kt-bench/kt/internal/suggest"
)

// driver translates a driver's file.
func (w *omb) driver(path string) error {
	if err := w.open(path, "driver"); err != nil {
		return err
	}
	n := new(yaml.Node)
	for pair := range slices.Chunk(w.root.Content, 2) {
		if pair[0].Value == "driverClass" {
			n = pair[1]
		}
	}
	class := strings.TrimPrefix(n.Value, "io.openmessaging.benchmark.driver.")
	kind := ombKinds()[class]
	switch {
	case n.IsZero():
		w.Bad(w.root, "driverClass: it is missing, and tells the system")
	case kind == nil, !strings.Contains(class, "."):
		w.Bad(n, "driverClass %s: kt has no such system: it makes loads on Kafka, Pulsar and RabbitMQ", class)
	case w.follow("driver", ombKinds()["driver"], kind) == nil && class == "kafka.KafkaBenchmarkDriver":
		w.kafka()
	}
	if w.Err() == nil {
		w.About = strings.Trim(fmt.Sprint(w.About, ", ", w.values["name"]), ", ")
	}
	return w.Err()
}

// kafka translates the properties of a driver of Kafka.
func (w *omb) kafka() {
	replicas, groups := w.values["replicationFactor"].(int), w.values["subscriptionsPerTopic"].(int)
	for _, p := range w.block("topicConfig") {
		if n := p.number(); p.Key == "min.insync.replicas" && n > replicas {
			w.notice(p.at, "min.insync.replicas=%d is more than the %d of replicationFactor, and no record would be acknowledged: kt sets %d", n, replicas, replicas)
			p.Value = strconv.Itoa(replicas)
		}
		w.add("topic-config", p.Key+"="+p.Value)
	}
	n := w.at("replicationFactor")
	w.OMB.Places["flag "+w.load.Name+" replication-factor"] = fmt.Sprintf("%s:%d:%d: replicationFactor (--set driver.replicationFactor=1 suits every cluster)", w.path, n.Line, n.Column)
	common := w.block("commonConfig")
	producer := w.side("producer", w.Kafka.Producer, w.Kafka.Consumer, common)
	consumer := w.side("consumer", w.Kafka.Consumer, w.Kafka.Producer, common)
	if w.logsIn { // else the addresses of a driver get no credentials
		w.add("command-config", "") // those of the user are for other addresses
	}
	if p, ok := consumer["group.id"]; ok {
		w.notice(p.at, "group.id has no effect: each subscription has a group of its own, as in OpenMessaging Benchmark")
	}
	if groups > 0 {
		w.add("group", "omb")
		w.add("groups", strconv.Itoa(groups))
		w.add("commit", map[bool]string{true: "auto", false: "async"}[consumer["enable.auto.commit"].Value == "true"]) // async: after each poll, as there
	} else {
		clear(consumer)
	}
	delete(consumer, "enable.auto.commit")
	delete(consumer, "group.id")
	w.set("producer", producer, consumer, w.Kafka.Consumer)
	w.set("consumer", consumer, producer, w.Kafka.Producer)
}

// brokers is the property that a load has once: credentials are bound to it.
const brokers = "bootstrap.servers"

// set sets the properties of the producers or of the consumers. A name that the others know too is theirs as well only with the same value.
func (w *omb) set(who string, own, others map[string]property, other config.Client) {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		value := own[name].Value
		switch theirs, both := others[name]; {
		case both && value == theirs.Value:
			delete(others, name)
		case both && (w.Kafka.Security(name) || name == brokers):
			w.Bad(w.root, "%s: kt logs in once, so that the producers and the consumers have the same value", name)
			delete(others, name)
		case name != brokers && other.Has(name) && w.values["subscriptionsPerTopic"] != 0:
			name = who + "." + name
		}
		w.client(name, value)
	}
}

// client sets a property of Kafka's clients.
func (w *omb) client(name, value string) {
	switch {
	case name != brokers:
		w.add("command-property", name+"="+value)
	case w.given("bootstrap-server", "cluster", "url"):
		w.Notices = append(w.Notices, fmt.Sprintf("%s: %s=%s does not count: the command line or the environment says where the load goes", w.path, name, value))
	default:
		w.add("bootstrap-server", value)
	}
}

// property is a line of a block of Java properties.
type property struct {
	properties.Property
	block string
	at    *yaml.Node
}

// number returns the number that the value is; 0: it is none.
func (p property) number() int {
	n, _ := strconv.Atoi(p.Value)
	return n
}

// block reads a block of Java properties.
func (w *omb) block(name string) (all []property) {
	n := w.Places()[name]
	if n == nil {
		return nil
	}
	list, err := properties.Parse([]byte(n.Value))
	if err != nil {
		w.Bad(n, "%s: %w", name, err)
	}
	for _, p := range list {
		at := *n
		if line := n.Line + p.Line; n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 && line <= len(w.lines) {
			text := w.lines[line-1]
			at.Line, at.Column = line, 1+len(text)-len(strings.TrimLeft(text, " "))
		}
		all = append(all, property{p, name, &at})
	}
	return all
}

// mostRequestTime is the longest request.timeout.ms of kt's client.
const mostRequestTime = 900_000

// side returns the properties of the producers or of the consumers: those of both, then their own.
func (w *omb) side(who string, client, other config.Client, common []property) map[string]property {
	all := make(map[string]property)
	for _, p := range slices.Concat(common, w.block(who+"Config")) {
		switch {
		case strings.Contains(p.Value, "{zone.id}"):
			w.Bad(p.at, "%s=%s: kt has no zone.id: --set driver.%s.%s=NAME", p.Key, p.Value, p.block, p.Key)
		case w.Kafka.Security(p.Key) && w.given("command-config", "cluster"): // those of the user go nowhere that a driver says, and in no other way
			w.notice(p.at, "%s does not count: --command-config or --cluster says how kt logs in", p.Key)
		case client.Has(p.Key), w.Kafka.Security(p.Key):
			all[p.Key], w.logsIn = p, w.logsIn || w.Kafka.Security(p.Key)
			w.OMB.Places["flag "+w.load.Name+" command-property "+p.Key+"="+p.Value] = fmt.Sprintf("%s:%d:%d", w.path, p.at.Line, p.at.Column)
		case !other.Has(p.Key):
			w.Bad(p.at, "%s: Kafka's %s has no such property%s", p.Key, who, suggest.Hint(p.Key, client.Names, "; leave it out"))
		case p.block != "commonConfig":
			w.notice(p.at, "%s has no effect here: %ss have no such property", p.Key, who)
		}
	}
	const requestTime, inFlight = "request.timeout.ms", "max.in.flight.requests.per.connection"
	if p := all[requestTime]; p.number() > mostRequestTime {
		if who == "consumer" {
			w.notice(p.at, "%s=%s: kt's client waits for %d at most", requestTime, p.Value, mostRequestTime)
		}
		p.Value = strconv.Itoa(mostRequestTime)
		all[requestTime] = p
	}
	if p, ok := all[inFlight]; ok && p.number() < 5 && all["enable.idempotence"].Value != "false" && !slices.Contains([]string{"0", "1"}, all["acks"].Value) {
		w.notice(p.at, "%s=%s: kt's client has 5 while idempotence is on, which keeps records in order as well", inFlight, p.Value)
		delete(all, inFlight)
	}
	return all
}

// address gives the address of a system that is not Kafka, with that of its administration in the next line of the text.
func (w *omb) address(key, text string) {
	text, admin, _ := strings.Cut(text, "\n")
	u, err := url.Parse(text)
	switch _, hidden := u.User.Password(); {
	case err != nil || u.Host == "":
		w.Bad(w.at(key), "%s: %q is no address: write SCHEME://HOST:PORT", key, text)
	case hidden:
		w.Bad(w.at(key), "%s: it holds a password, which others could read: leave it out, and write url.password=… into the file of --command-config", key)
	case w.given("url"):
	default:
		if admin != "" {
			u.RawQuery = "admin=" + admin
		}
		w.add("url", u.String())
	}
}
