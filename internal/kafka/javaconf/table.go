package javaconf

import "math"

// Values of result.Setting.Client for properties without a franz-go option.
const (
	actsItself = ""        // kt does the work, or refuses every value but the default
	hasNoTwin  = "ignored" // franz-go has no counterpart; a given value is a warning
)

// property is one row of the tables of the properties that a Java client has. What each is for stands in Kafka's documentation.
// Ranges are Java's, narrowed to what franz-go accepts.
type property struct {
	name   string
	preset string // the default of Kafka's Java client 4.x, as Java writes it, or kt's with a note
	check  check
	client string // the franz-go options it becomes, or actsItself, or hasNoTwin
	note   string // where franz-go's meaning differs, "" when it does not
}

const (
	byteArray    = "org.apache.kafka.common.serialization.ByteArraySerializer"
	byteArrayOut = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
	roundRobin   = "org.apache.kafka.clients.producer.RoundRobinPartitioner"

	assignorPackage = "org.apache.kafka.clients.consumer." // of the assignors that Kafka ships

	// Group protocols.
	classic = "classic"
	nextGen = "consumer"

	// byDuration begins the value of auto.offset.reset that counts back from now.
	byDuration = "by_duration:"

	ownFigures  = "kt reports its own figures."
	keepsAsking = "franz-go keeps asking the bootstrap servers too."
	// securityApart is the error of a security property that came this far.
	securityApart = "security settings belong to the connections of a host, and are not sent to another one: leave it out"

	notInShareGroups = "belongs to share groups, which kt does not read in"
)

// sharedProperties returns the rows that producer and consumer have alike. Those without a twin are accepted so that an
// application's file can be used as it is.
func sharedProperties() []property {
	return []property{
		{"bootstrap.servers", "", textOf(1, math.MaxInt32), actsItself, ""}, // kt resolves it together with its own flag
		{"client.rack", "", textOf(0, 512), "Rack", ""},                     // franz-go's limit
		{"connections.max.idle.ms", "540000", millis(100, 900_000), "ConnIdleTimeout", "franz-go may keep an unused connection up to twice as long."}, // franz-go's limits
		{"metadata.max.age.ms", "300000", millis(10, 3_600_000), "MetadataMaxAge", ""},                                                                // franz-go's limits
		{"retry.backoff.max.ms", "1000", millis(0, math.MaxInt32), "RetryBackoffFn", ""},
		{"socket.connection.setup.timeout.ms", "10000", millis(1, math.MaxInt32), "Dialer, DialTimeout", "franz-go always waits this long; Java waits longer after each failure."},
		{"send.buffer.bytes", "131072", orMinusOne(byteCount(math.MaxInt32)), "Dialer", ""},
		{"enable.metrics.push", "true", boolean, "DisableClientMetrics", ""},
		{"interceptor.classes", "", anything, hasNoTwin, "kt runs no Java classes."},
		{"client.dns.lookup", "use_all_dns_ips", oneOf("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"), hasNoTwin, "franz-go always tries every address of a name."},
		{"config.providers", "", onlyValue("", "must be empty; kt does not look up values elsewhere"), actsItself, ""},
		{"metadata.recovery.strategy", "rebootstrap", inLowerCase(oneOf("rebootstrap", "none")), hasNoTwin, keepsAsking},
		{"metadata.recovery.rebootstrap.trigger.ms", "300000", millis(0, math.MaxInt64), hasNoTwin, keepsAsking},
		{"metric.reporters", "org.apache.kafka.common.metrics.JmxReporter", anything, hasNoTwin, ownFigures},
		{"metrics.num.samples", "2", number(1, math.MaxInt32), hasNoTwin, ownFigures},
		{"metrics.recording.level", "INFO", oneOf("INFO", "DEBUG", "TRACE"), hasNoTwin, ownFigures},
		{"metrics.sample.window.ms", "30000", millis(0, math.MaxInt64), hasNoTwin, ownFigures},
		{"reconnect.backoff.ms", "50", millis(0, math.MaxInt64), hasNoTwin, "franz-go pauses as retry.backoff.ms says."},
		{"reconnect.backoff.max.ms", "1000", millis(0, math.MaxInt64), hasNoTwin, "franz-go pauses as retry.backoff.max.ms says."},
		{"socket.connection.setup.timeout.max.ms", "30000", millis(0, math.MaxInt64), hasNoTwin, "franz-go keeps to socket.connection.setup.timeout.ms."},
	}
}

// producerProperties returns the producer's whole table, in no particular order.
func producerProperties() []property {
	return append(sharedProperties(), []property{
		{"client.id", "kt-producer", textOf(0, 256), "ClientID", "Kafka's own producer test calls itself perf-producer-client."}, // franz-go's limit
		{"receive.buffer.bytes", "32768", orMinusOne(byteCount(math.MaxInt32)), "Dialer", ""},
		{"acks", "all", spelled(map[string]string{"0": "0", "1": "1", "all": "all", "-1": "all"}, "0, 1 or all"), "RequiredAcks", ""},
		{"enable.idempotence", "true", boolean, "DisableIdempotentWrite", ""},
		{"max.in.flight.requests.per.connection", "5", number(1, math.MaxInt32), "MaxProduceRequestsInflightPerBroker", "franz-go fixes it at 5 while idempotence is on, so kt refuses 1 to 4 then."},
		{"retries", "2147483647", number(0, math.MaxInt32), "RecordRetries", ""},
		{"delivery.timeout.ms", "120000", millis(1000, math.MaxInt32), "RecordDeliveryTimeout", "franz-go looks at the clock only before a request and after an answer, and starts it at the record's timestamp."},               // franz-go accepts no less than a second
		{"request.timeout.ms", "30000", millis(100, math.MaxInt32), "ProduceRequestTimeout, RequestTimeoutOverhead", "franz-go waits for a produce answer up to 10 s longer, and gives writes and other requests 10 s at most."}, // franz-go accepts no less than 100 ms
		{"max.block.ms", "60000", millis(0, math.MaxInt64), actsItself, ""},
		{"retry.backoff.ms", "100", millis(0, math.MaxInt32), "RetryBackoffFn, MetadataMinAge", "franz-go pauses the whole broker where Java pauses the batch; kt also lets it refresh metadata this soon."},
		{"transactional.id", "", textOf(1, 16382), "TransactionalID", ""}, // franz-go's limit, a length prefix on the wire
		{"transaction.timeout.ms", "60000", millis(1, math.MaxInt32), "TransactionTimeout", ""},
		{"transaction.two.phase.commit.enable", "false", onlyValue("false", "must be false; franz-go has no two-phase commit"), actsItself, ""},
		{"batch.size", "16384", byteCount(gib), "ProducerBatchMaxBytes", ""},
		{"linger.ms", "5", millis(0, 60_000), "ProducerLinger", ""}, // franz-go accepts no more than a minute
		{"max.request.size", "1048576", byteCount(gib), "BrokerMaxWriteBytes", ""},
		{"buffer.memory", "33554432", byteCount(math.MaxInt64), "MaxBufferedRecords", "kt counts the bytes of keys and values itself and keeps franz-go from blocking."},
		{"compression.type", "none", oneOf("none", "gzip", "snappy", "lz4", "zstd"), "ProducerBatchCompression, WithCompressor", ""},
		{"compression.gzip.level", "-1", orMinusOne(number(1, 9)), "WithCompressor", "Go's library compresses: sizes are within 6 % of Java's at 4 to 9; at 1 to 3 they are up to 9 % smaller."},
		{"compression.lz4.level", "9", number(1, 17), "WithCompressor", "pierrec/lz4 compresses: sizes are within 7 % of Java's at 1, 2 and 9; at others JSON comes out up to 11 % larger."},
		{"compression.zstd.level", "3", number(-131072, 22), "WithCompressor", "Sizes are within 5 % of Java's from -1 to 7. JSON comes out up to 10 % larger at 8 to 15 and 16 % at 16 to 22; below -1 kt compresses as at -1, Java less and less."},
		{"partitioner.class", "", spelled(map[string]string{"": "", "default": "", roundRobin: roundRobin, "RoundRobinPartitioner": roundRobin}, "RoundRobinPartitioner, or empty for Kafka's built-in partitioner"), "RecordPartitioner", ""},
		{"partitioner.ignore.keys", "false", boolean, "RecordPartitioner", ""},
		{"partitioner.adaptive.partitioning.enable", "true", boolean, "RecordPartitioner", "franz-go judges a partition by its waiting records, Java by its waiting batches."},
		{"partitioner.availability.timeout.ms", "0", millis(0, math.MaxInt64), hasNoTwin, "franz-go has no such timeout."},
		{"partitioner.rack.aware", "false", boolean, "RackAwarePartitioning", "Java applies it to its own partitioner only, franz-go to any."},
		{"key.serializer", byteArray, anything, hasNoTwin, "kt's keys are bytes already."},
		{"value.serializer", byteArray, anything, hasNoTwin, "kt's values are bytes already."},
		{"metadata.max.idle.ms", "300000", millis(5000, math.MaxInt64), hasNoTwin, "franz-go never forgets a topic it produced to."},
	}...)
}

// consumerProperties returns the consumer's whole table, in no particular order.
func consumerProperties() []property {
	return append(sharedProperties(), []property{
		{"client.id", "perf-consumer-client", textOf(0, 256), "ClientID", "Kafka's own consumer test calls itself the same."}, // franz-go's limit
		{"receive.buffer.bytes", "2097152", orMinusOne(byteCount(math.MaxInt32)), "Dialer", "Kafka's default is 65536; kt takes as much as Kafka's own consumer test."},
		{"fetch.max.bytes", "2097152", byteCount(gib), "FetchMaxBytes, BrokerMaxReadBytes", "Kafka's default is 52428800; kt reads as fast with less, which fits the processor's cache and bounds kt's memory."}, // franz-go's limit
		{"max.partition.fetch.bytes", "1048576", byteCount(gib), "FetchMaxPartitionBytes", "franz-go asks for no more than fetch.max.bytes."},
		{"fetch.min.bytes", "1", byteCount(math.MaxInt32), "FetchMinBytes", ""},
		{"fetch.max.wait.ms", "500", millis(10, math.MaxInt32), "FetchMaxWait", ""}, // franz-go accepts no less than 10 ms
		{"max.poll.records", "0", number(0, math.MaxInt32), actsItself, "Kafka's default is 500; kt takes all records of a fetch, because it does no work between two polls."},
		{"isolation.level", "read_uncommitted", oneOf("read_uncommitted", "read_committed"), "FetchIsolationLevel", ""},
		{"check.crcs", "false", boolean, "DisableFetchCRCValidation", "Kafka's default is true; kt leaves it off as Kafka's own consumer test does."},
		{"auto.offset.reset", "earliest", checkOffsetReset, actsItself, "Kafka's default is latest; kt begins with the first record, as Kafka's own consumer test does."},
		{"request.timeout.ms", "30000", millis(100, 900_000), "RequestTimeoutOverhead", "franz-go waits fetch.max.wait.ms longer for a fetch."}, // franz-go's limits
		{"default.api.timeout.ms", "60000", millis(0, math.MaxInt32), hasNoTwin, "franz-go repeats a fetch for ever, and any other request for 30 s and 20 times at most."},
		{"retry.backoff.ms", "100", millis(0, math.MaxInt32), "RetryBackoffFn, MetadataMinAge", "kt also lets franz-go refresh its metadata this soon."},
		{"allow.auto.create.topics", "false", boolean, hasNoTwin, "Kafka's default is true; kt creates no topic by reading it."},
		{"exclude.internal.topics", "true", boolean, hasNoTwin, "kt reads topics by their names."},
		{"key.deserializer", byteArrayOut, anything, hasNoTwin, "kt leaves keys as bytes."},
		{"value.deserializer", byteArrayOut, anything, hasNoTwin, "kt leaves values as bytes."},
		{"share.acknowledgement.mode", "implicit", onlyValue("implicit", notInShareGroups), actsItself, ""},
		{"share.acquire.mode", "BATCH_OPTIMIZED", onlyValue("BATCH_OPTIMIZED", notInShareGroups), actsItself, ""},
		{"group.id", "", checkGroupID, "ConsumerGroup", ""},
		{"group.instance.id", "", checkInstanceID, "InstanceID", ""},                      // kt sets it for each member
		{"session.timeout.ms", "45000", millis(100, math.MaxInt32), "SessionTimeout", ""}, // franz-go accepts no less than 100 ms
		{"heartbeat.interval.ms", "3000", millis(1, math.MaxInt32), "HeartbeatInterval", ""},
		{"max.poll.interval.ms", "300000", millis(100, math.MaxInt32), "RebalanceTimeout", "franz-go applies it to rebalances only, and does not watch the time between two polls."}, // franz-go accepts no less than 100 ms
		{"group.protocol", classic, inLowerCase(oneOf(classic, nextGen)), "ServerSideBalancer", "franz-go silently goes back to classic where a broker does not offer consumer, which Kafka does from 4.0 on."},
		{"partition.assignment.strategy", assignorPackage + "RangeAssignor," + assignorPackage + "CooperativeStickyAssignor", checkAssignors, "Balancers", "franz-go does not look at client.rack here; Java does where racks differ in the partitions they have."},
		{"group.remote.assignor", "", spelled(map[string]string{"": "", "uniform": "uniform", "range": "range"}, "uniform or range; franz-go knows no other assignor of brokers"), "Balancers", "franz-go always names one: uniform, which is Kafka's own choice too."},
		{"enable.auto.commit", "true", boolean, "DisableAutoCommit", ""},
		{"auto.commit.interval.ms", "5000", millis(100, math.MaxInt32), "AutoCommitInterval", "franz-go commits on this clock, Java at the first poll after it."}, // franz-go accepts no less than 100 ms
	}...)
}
