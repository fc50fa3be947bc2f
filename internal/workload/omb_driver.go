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

	"github.com/kt-bench/kt/internal/config"
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
	n := new(yaml.Node)
	for pair := range slices.Chunk(w.root.Content, 2) {
		if pair[0].Value == "driverClass" {
			n = pair[1]
		}
	}
	class := strings.TrimPrefix(n.Value, "io.openmessaging.benchmark.driver.")
	switch translate := driverClasses[class]; {
	case n.IsZero():
		w.Bad(w.root, "driverClass: it is missing, and tells the system")
	case translate == nil:
		w.Bad(n, "driverClass %s: kt has no such system: it makes loads on Kafka, Pulsar and RabbitMQ", class)
	default:
		translate(w)
	}
	w.About = strings.Trim(w.title+", "+w.About, ", ")
	return w.Err()
}

// driverKeys reads the keys of a driver's file, those that all have too.
func (w *omb) driverKeys(keys map[string]any) {
	var class string
	var reset bool
	maps.Copy(keys, map[string]any{"name": &w.About, "driverClass": &class, "reset": &reset})
	if w.mapping(w.root, "driver", keys); reset {
		w.notice(w.at("reset"), "reset: true would delete every topic of the cluster: kt does not do that, and deletes only what it made")
	}
}

// mapping reads the known keys of a mapping: each into a variable, or a mapping below, or a text that says why it has no effect.
func (w *omb) mapping(n *yaml.Node, what string, known map[string]any) {
	for key, value := range known {
		switch value := value.(type) {
		case map[string]any:
			known[key] = func(n *yaml.Node) { w.mapping(n, key, value) }
		case string:
			known[key] = func(n *yaml.Node) { w.notice(n, "%s has no effect: %s", key, value) }
		}
	}
	w.Mapping(n, what, known)
}

// group makes consumers read in groups, and commit after each poll as OpenMessaging Benchmark does, unless the client does it.
func (w *omb) group(commit string) {
	if w.groups > 0 {
		w.add("group", "omb")
		w.add("groups", w.groups)
		w.add("commit", commit)
	}
}

// kafka translates a driver of Kafka.
func (w *omb) kafka() {
	var replicas int
	block := func(*yaml.Node) {} // see there
	w.driverKeys(map[string]any{"replicationFactor": &replicas, "topicConfig": block, "commonConfig": block, "producerConfig": block, "consumerConfig": block})
	w.refuse(replicas < 1, "replicationFactor", "it must be 1 or more")
	w.add("replication-factor", replicas)
	for _, p := range w.block("topicConfig") {
		if n := p.number(); p.Key == "min.insync.replicas" && n > replicas {
			w.notice(p.at, "min.insync.replicas=%d is more than the %d of replicationFactor, and no record would be acknowledged: kt sets %d", n, replicas, replicas)
			p.Value = strconv.Itoa(replicas)
		}
		w.add("topic-config", p.Key+"="+p.Value)
	}
	common := w.block("commonConfig")
	producer := w.side("producer", w.Kafka.Producer, w.Kafka.Consumer, common)
	consumer := w.side("consumer", w.Kafka.Consumer, w.Kafka.Producer, common)
	if w.logsIn = w.logsIn && !w.Given("command-config"); w.logsIn { // else the addresses of a driver get no credentials
		w.add("command-config", "") // those of the user are for other addresses
	}
	if p, ok := consumer["group.id"]; ok {
		w.notice(p.at, "group.id has no effect: each subscription has a group of its own, as in OpenMessaging Benchmark")
	}
	w.group(map[bool]string{true: "auto", false: "async"}[consumer["enable.auto.commit"].Value == "true"])
	delete(consumer, "enable.auto.commit")
	delete(consumer, "group.id")
	if w.groups == 0 {
		clear(consumer)
	}
	w.set("producer", producer, consumer, w.Kafka.Consumer)
	w.set("consumer", consumer, producer, w.Kafka.Producer)
}

// set sets the properties of the producers or of the consumers. A name that the others know too is theirs as well only with the same value.
func (w *omb) set(who string, own, others map[string]property, other config.Client) {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		value := own[name].Value
		switch theirs, both := others[name]; {
		case both && value == theirs.Value:
			delete(others, name)
		case both && w.Kafka.Security(name):
			w.Bad(w.root, "%s: kt logs in once, so that the producers and the consumers have the same value", name)
			delete(others, name)
		case other.Has(name) && w.groups > 0:
			name = who + "." + name
		}
		w.client(name, value)
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
	n := w.Place(name)
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

// pulsar translates a driver of Pulsar.
func (w *omb) pulsar() {
	const connects = "kt's client connects in its own way"
	var service, admin, kind, trust, plugin, data, subscription string
	var ensemble, quorum, acks, size, queue, pending, delay int
	var once, insecure bool
	batches := true
	w.driverKeys(map[string]any{
		"client": map[string]any{
			"serviceUrl": &service, "httpUrl": &admin, "topicType": &kind, "tlsAllowInsecureConnection": &insecure, "tlsTrustCertsFilePath": &trust,
			"persistence":    map[string]any{"ensembleSize": &ensemble, "writeQuorum": &quorum, "ackQuorum": &acks, "deduplicationEnabled": &once},
			"authentication": map[string]any{"plugin": &plugin, "data": &data},
			"ioThreads":      connects, "connectionsPerBroker": connects, "maxConcurrentLookupRequests": connects,
			"clientMemoryLimitMB":           "buffer.memory bounds each producer of kt",
			"clusterName":                   "kt makes no namespaces",
			"namespacePrefix":               "kt makes no namespaces: --set driver.client.serviceUrl=pulsar://HOST:PORT/TENANT/NAMESPACE names one",
			"tlsEnableHostnameVerification": "with TLS kt always checks names",
		},
		"producer": map[string]any{
			"batchingEnabled": &batches, "batchingMaxPublishDelayMs": &delay, "batchingMaxBytes": &size, "pendingQueueSize": &pending,
			"blockIfQueueFull": "a producer of kt waits while buffer.memory is full, and a message above max.pending.messages fails",
		},
		"consumer": map[string]any{"receiverQueueSize": &queue, "subscriptionType": &subscription},
	})
	w.refuse(kind != "" && kind != "persistent", "topicType", "%q: kt makes persistent topics only", kind)
	w.refuse(insecure, "tlsAllowInsecureConnection", "kt checks certificates")
	w.refuse(plugin != "", "authentication", "a file that others may read is no place for it: leave plugin empty, and write url.password=TOKEN into the file of --command-config")
	w.address("serviceUrl", service, admin)
	if quorum > 0 {
		w.add("replication-factor", quorum)
	}
	if ensemble != quorum {
		w.notice(w.at("ensembleSize"), "kt's topics have ensembles as large as their writeQuorum, %d", quorum)
	}
	if acks > 0 {
		w.property("ack.quorum", min(acks, max(1, quorum)))
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
		w.property("linger.ms", delay)
	}
	if w.groups > 0 {
		w.property("subscription.type", strings.ToLower(cmp.Or(subscription, "failover")))
	} else {
		queue = 0
	}
	for name, n := range map[string]int{"batch.size": size, "max.pending.messages": pending, "receiver.queue.size": queue} {
		if n > 0 {
			w.property(name, n)
		}
	}
	w.group("auto")
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
	w.driverKeys(map[string]any{
		"amqpUris": &addresses, "messagePersistence": &keeps, "queueType": &queues, "producerCreationDelay": connects, "producerCreationBatchSize": connects,
		"consumerCreationDelay": connects, "consumerCreationBatchSize": connects,
	})
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
