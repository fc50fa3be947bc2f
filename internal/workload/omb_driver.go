package workload

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/properties"
	"github.com/kt-bench/kt/internal/suggest"
)

// driverClasses are the drivers that kt can stand in for, by the ends of their classes.
var driverClasses = map[string]func(*omb){
	"kafka.KafkaBenchmarkDriver": (*omb).kafka, "pulsar.PulsarBenchmarkDriver": (*omb).pulsar, "rabbitmq.RabbitMqBenchmarkDriver": (*omb).rabbitmq,
}

// driver translates a driver's file.
func (w *omb) driver(path string) error {
	if err := w.open(path, "driver"); err != nil {
		return err
	}
	const packages = "io.openmessaging.benchmark.driver."
	for i := 0; i < len(w.root.Content); i += 2 {
		if key, value := w.root.Content[i], w.root.Content[i+1]; key.Value == "driverClass" {
			of := driverClasses[strings.TrimPrefix(value.Value, packages)]
			if of == nil {
				w.Bad(value, "driverClass %s: kt has no such system: it makes loads on Kafka, Pulsar and RabbitMQ", strings.TrimPrefix(value.Value, packages))
				return w.Err()
			}
			of(w)
			w.About = strings.Trim(w.title+", "+w.About, ", ")
			return w.Err()
		}
	}
	w.Bad(w.root, "driverClass: it is missing, and tells the system")
	return w.Err()
}

// mapping reads the keys of a driver's file, those that all have too.
func (w *omb) mapping(keys map[string]any) {
	var class string
	var reset bool
	maps.Copy(keys, map[string]any{"name": &w.About, "driverClass": &class, "reset": &reset})
	if w.Mapping(w.root, "driver", keys); reset {
		w.notice(w.at("reset"), "reset: true would delete every topic of the cluster: kt does not do that, and deletes only what it made")
	}
}

// group makes consumers read in groups, and commit after each poll as OpenMessaging Benchmark does, unless the client does it.
func (w *omb) group(commit string) {
	if w.groups > 0 {
		w.add("group", "omb")
		w.number("groups", float64(w.groups))
		w.add("commit", commit)
	}
}

// kafka translates a driver of Kafka.
func (w *omb) kafka() {
	var replicas int
	blocks := make(map[string][]properties.Property)
	keys := map[string]any{"replicationFactor": &replicas}
	for _, name := range []string{"topicConfig", "commonConfig", "producerConfig", "consumerConfig"} {
		keys[name] = func(n *yaml.Node) { blocks[name] = w.block(n, name) }
	}
	w.mapping(keys)
	w.refuse(replicas < 1, "replicationFactor", "it must be 1 or more")
	w.number("replication-factor", float64(replicas))
	for _, p := range blocks["topicConfig"] {
		if n, err := strconv.Atoi(p.Value); err == nil && p.Key == "min.insync.replicas" && n > replicas {
			w.notice(w.in("topicConfig", p.Line), "min.insync.replicas=%d is more than the %d of replicationFactor, and no record would be acknowledged: kt sets %d", n, replicas, replicas)
			p.Value = strconv.Itoa(replicas)
		}
		w.add("topic-config", p.Key+"="+p.Value)
	}
	producer := w.side("producer", blocks["commonConfig"], blocks["producerConfig"])
	consumer := w.side("consumer", blocks["commonConfig"], blocks["consumerConfig"])
	if w.logsIn = w.logsIn && !w.Given("command-config"); w.logsIn { // else the addresses of a driver get no credentials
		w.add("command-config", "") // those of the user are for other addresses
	}
	for _, name := range slices.Sorted(maps.Keys(producer)) {
		value := producer[name]
		switch other, both := consumer[name]; {
		case both && other != value && w.Kafka.Security(name):
			w.Bad(w.root, "%s: kt logs in once, so that the producers and the consumers have the same value", name)
		case both && other == value, !w.Kafka.Consumer.Has(name), w.groups == 0:
			w.client(name, value)
			delete(consumer, name)
		default:
			w.client("producer."+name, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(consumer)) {
		if w.Kafka.Producer.Has(name) {
			w.client("consumer."+name, consumer[name])
		} else {
			w.client(name, consumer[name])
		}
	}
}

// client sets a property of Kafka's clients.
func (w *omb) client(name, value string) {
	switch {
	case name != "bootstrap.servers":
		w.property(name, value)
	case w.Given("bootstrap-server"), w.Given("cluster"), w.Given("url"):
		w.Notices = append(w.Notices, fmt.Sprintf("%s: bootstrap.servers=%s does not count: the command line or the environment says where the load goes", w.path, value))
	default:
		w.add("bootstrap-server", value)
	}
}

// block reads a block of Java properties. Their lines are those of the file.
func (w *omb) block(n *yaml.Node, name string) []properties.Property {
	list, err := properties.Parse([]byte(n.Value))
	if err != nil {
		w.Bad(n, "%s: %w", name, err)
	}
	for i := range list {
		if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
			list[i].Line = 0
		}
		list[i].Line += n.Line
	}
	return list
}

// in returns the place of a line of a block.
func (w *omb) in(block string, line int) *yaml.Node {
	n := *w.at(block)
	if line > n.Line && line <= len(w.raw) {
		text := w.raw[line-1]
		n.Line, n.Column = line, 1+len(text)-len(strings.TrimLeft(text, " "))
	}
	return &n
}

// mostRequestTime is the longest request.timeout.ms of kt's client.
const mostRequestTime = 900_000

// side returns the properties of the producers or of the consumers: those of both, then their own.
func (w *omb) side(who string, common, own []properties.Property) map[string]string {
	is, other := w.Kafka.Producer, w.Kafka.Consumer
	if who == "consumer" {
		is, other = other, is
	}
	all, lines := make(map[string]string), make(map[string]*yaml.Node)
	for i, p := range append(slices.Clone(common), own...) {
		block := "commonConfig"
		if i >= len(common) {
			block = who + "Config"
		}
		at := w.in(block, p.Line)
		switch {
		case strings.Contains(p.Value, "{zone.id}"):
			w.Bad(at, "%s=%s: kt has no zone.id: --set driver.%s.%s=NAME", p.Key, p.Value, block, p.Key)
		case is.Has(p.Key), w.Kafka.Security(p.Key):
			all[p.Key], lines[p.Key], w.logsIn = p.Value, at, w.logsIn || w.Kafka.Security(p.Key)
			w.places["flag "+w.load.Name+" command-property "+p.Key+"="+p.Value] = fmt.Sprintf("%s:%d:%d", w.path, at.Line, at.Column)
		case !other.Has(p.Key):
			w.Bad(at, "%s: Kafka's %s has no such property%s", p.Key, who, suggest.Hint(p.Key, is.Names, "; leave it out"))
		case i >= len(common):
			w.notice(at, "%s has no effect here: %ss have no such property", p.Key, who)
		}
	}
	if n, err := strconv.Atoi(all["request.timeout.ms"]); err == nil && n > mostRequestTime {
		all["request.timeout.ms"] = strconv.Itoa(mostRequestTime)
		if who == "consumer" {
			w.notice(lines["request.timeout.ms"], "request.timeout.ms=%d: kt's client waits for %d at most", n, mostRequestTime)
		}
	}
	if who == "producer" {
		n, err := strconv.Atoi(all["max.in.flight.requests.per.connection"])
		plain := all["acks"] == "0" || all["acks"] == "1"
		if err == nil && n < 5 && all["enable.idempotence"] != "false" && !plain {
			w.notice(lines["max.in.flight.requests.per.connection"], "max.in.flight.requests.per.connection=%d: kt's client has 5 while idempotence is on, which keeps records in order as well", n)
			delete(all, "max.in.flight.requests.per.connection")
		}
		return all
	}
	commit := "async"
	if all["enable.auto.commit"] == "true" {
		commit = "auto"
	}
	if at := lines["group.id"]; at != nil {
		w.notice(at, "group.id has no effect: each subscription has a group of its own, as in OpenMessaging Benchmark")
	}
	delete(all, "enable.auto.commit")
	delete(all, "group.id")
	if w.group(commit); w.groups == 0 {
		clear(all)
	}
	return all
}

// told are notices of keys whose values have no equal in kt.
type told struct{ why string }

// nested reads a mapping below a key.
func (w *omb) nested(name string, keys map[string]any) func(*yaml.Node) {
	for key, value := range keys {
		if t, ok := value.(told); ok {
			keys[key] = func(n *yaml.Node) { w.notice(n, "%s has no effect: %s", key, t.why) }
		}
	}
	return func(n *yaml.Node) { w.Mapping(n, name, keys) }
}

// pulsar translates a driver of Pulsar.
func (w *omb) pulsar() {
	const connects = "kt's client connects in its own way"
	var service, admin, kind, trust, plugin, data, subscription string
	var ensemble, quorum, acks, size, queue, pending, delay int
	var once, insecure bool
	batches := true
	w.mapping(map[string]any{
		"client": w.nested("client", map[string]any{
			"serviceUrl": &service, "httpUrl": &admin, "topicType": &kind, "tlsAllowInsecureConnection": &insecure, "tlsTrustCertsFilePath": &trust,
			"persistence":    w.nested("persistence", map[string]any{"ensembleSize": &ensemble, "writeQuorum": &quorum, "ackQuorum": &acks, "deduplicationEnabled": &once}),
			"authentication": w.nested("authentication", map[string]any{"plugin": &plugin, "data": &data}),
			"ioThreads":      told{connects}, "connectionsPerBroker": told{connects}, "maxConcurrentLookupRequests": told{connects},
			"clientMemoryLimitMB":           told{"buffer.memory bounds each producer of kt"},
			"clusterName":                   told{"kt makes no namespaces"},
			"namespacePrefix":               told{"kt makes no namespaces: --set driver.client.serviceUrl=pulsar://HOST:PORT/TENANT/NAMESPACE names one"},
			"tlsEnableHostnameVerification": told{"with TLS kt always checks names"},
		}),
		"producer": w.nested("producer", map[string]any{
			"batchingEnabled": &batches, "batchingMaxPublishDelayMs": &delay, "batchingMaxBytes": &size, "pendingQueueSize": &pending,
			"blockIfQueueFull": told{"a producer of kt waits while buffer.memory is full, and a message above max.pending.messages fails"},
		}),
		"consumer": w.nested("consumer", map[string]any{"receiverQueueSize": &queue, "subscriptionType": &subscription}),
	})
	w.refuse(kind != "" && kind != "persistent", "topicType", "%q: kt makes persistent topics only", kind)
	w.refuse(insecure, "tlsAllowInsecureConnection", "kt checks certificates")
	w.refuse(plugin != "", "authentication", "a file that others may read is no place for it: leave plugin empty, and write url.password=TOKEN into the file of --command-config")
	w.address("serviceUrl", service, admin)
	if quorum > 0 {
		w.number("replication-factor", float64(quorum))
	}
	if ensemble != quorum {
		w.notice(w.at("ensembleSize"), "kt's topics have ensembles as large as their writeQuorum, %d", quorum)
	}
	if acks > 0 {
		w.property("ack.quorum", strconv.Itoa(min(acks, max(1, quorum))))
	}
	if once {
		w.add("topic-config", "deduplicationEnabled=true")
	}
	if trust != "" {
		w.property("ssl.truststore.type", "PEM")
		w.property("ssl.truststore.location", trust)
	}
	if !batches {
		size, delay = 0, 0
	}
	if w.Place("batchingMaxPublishDelayMs") != nil || !batches {
		w.property("linger.ms", strconv.Itoa(delay))
	}
	w.above0("batch.size", size)
	w.above0("max.pending.messages", pending)
	if w.groups > 0 {
		w.above0("receiver.queue.size", queue)
		w.property("subscription.type", strings.ToLower(cmp.Or(subscription, "failover")))
	}
	w.group("auto")
}

// above0 sets a property whose value is above 0.
func (w *omb) above0(name string, n int) {
	if n > 0 {
		w.property(name, strconv.Itoa(n))
	}
}

// address gives the address of a system that is not Kafka.
func (w *omb) address(key, text, admin string) {
	u, err := url.Parse(text)
	switch _, hidden := u.User.Password(); {
	case err != nil || u.Host == "":
		w.refuse(true, key, "%q is no address: write SCHEME://HOST:PORT", text)
	case hidden:
		w.refuse(true, key, "it holds a password, which others could read: leave it out, and write url.password=… into the file of --command-config")
	case w.Given("url"):
	default:
		if admin != "" {
			u.RawQuery = "admin=" + admin
		}
		w.add("url", u.String())
	}
}

// rabbitmq translates a driver of RabbitMQ.
func (w *omb) rabbitmq() {
	const connects = "kt's clients connect one after the other"
	var addresses []string
	var keeps bool
	queues := "CLASSIC"
	keys := map[string]any{"amqpUris": &addresses, "messagePersistence": &keeps, "queueType": &queues}
	for _, name := range []string{"producerCreationDelay", "producerCreationBatchSize", "consumerCreationDelay", "consumerCreationBatchSize"} {
		keys[name] = func(n *yaml.Node) { w.notice(n, "%s has no effect: %s", name, connects) }
	}
	w.mapping(keys)
	w.refuse(len(addresses) == 0, "amqpUris", "name a node")
	if len(addresses) > 0 {
		w.address("amqpUris", addresses[0], "")
	}
	if len(addresses) > 1 {
		w.notice(w.at("amqpUris"), "kt connects to the first node, and learns the others from its management API")
	}
	w.refuse(queues != "CLASSIC" && queues != "QUORUM", "queueType", "%q: kt has the types CLASSIC and QUORUM", queues)
	w.add("topic-config", "x-queue-type="+strings.ToLower(queues))
	w.property("delivery.mode", map[bool]string{true: "persistent", false: "transient"}[keeps])
	if w.groups > 1 {
		w.Bad(w.root, "RabbitMQ's queues give each message to one consumer in kt, so there is one subscription: --set workload.subscriptionsPerTopic=1")
	} else if w.groups == 1 {
		w.property("auto.ack", "true")
	}
	if w.keys != "NO_KEY" {
		w.notice(w.root, "a record's key chooses the queue in kt, and is a routing key without effect in OpenMessaging Benchmark")
	}
}
