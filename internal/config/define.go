package config

import (
	"strings"

	"github.com/kt-bench/kt/internal/plan"
)

// The flags of the commands that make a load are defined here, each once: its text is the
// same in all of them that have it, up to its default. Those about hosts are in hosts.go.

// defaultTopic is where kt writes to when no topic is named.
const defaultTopic = "kt-bench"

func (f *Flags) defineTarget() {
	set := f.set
	if f.writes() {
		set.StringSliceVar(&f.bootstrap, "bootstrap-server", nil, bootstrapUsage+" (default: a broker inside kt)")
		f.run.Plan.Topic.Name = defaultTopic
		set.Var(&once{to: &f.run.Plan.Topic.Name}, "topic", topicUsage)
		set.Int32Var(&f.run.Plan.Topic.Partitions, "partitions", 0, "create the topic with `N` partitions; refuse a topic with another number")
		set.Int16Var(&f.run.Plan.Topic.ReplicationFactor, "replication-factor", 0, "create the topic with `N` replicas; refuse a topic with another number")
		set.StringArrayVar(&f.topicConfig, "topic-config", nil, "settings `K=V` for the topic, if this run creates it")
		set.BoolVar(&f.run.Plan.Topic.Delete, "delete-topic", false, "delete the topic at the end, if this run created it")
	} else {
		set.StringSliceVar(&f.bootstrap, "bootstrap-server", nil, bootstrapUsage)
		set.Var(&once{to: &f.run.Plan.Topic.Name}, "topic", topicUsage)
		set.StringVar(&f.include, "include", "", "read all topics whose whole name matches this `REGEX`")
	}
	set.StringVar(&f.url, "url", "", "`URL` of RabbitMQ (amqp://USER@HOST/) or Pulsar (pulsar://HOST) instead of Kafka; see kt help systems")
	defineCluster(set, &f.cluster)
	if f.reads() {
		set.StringSliceVar(&f.brokerList, "broker-list", nil, "old name of --bootstrap-server `BROKERS`")
	}
}

const (
	bootstrapUsage = "`BROKERS` to connect to first: HOST:PORT,HOST:PORT"
	topicUsage     = "`NAME` of the topic"
)

func (f *Flags) defineLoad() {
	set := f.set
	rate := "target `RATE` in records/s (50000, 50k), or stages of it (10k@1m,10k..50k@5m); -1: unlimited (default -1)"
	if f.writes() {
		rate = "target `RATE`: records/s (50000, 50k) or bytes/s (100MiB/s), or stages of it (10k@1m,10k..50k@5m); -1: unlimited (default -1)"
		if f.reads() {
			rate = strings.Replace(rate, "-1)", "-1; 50000 with the broker inside kt)", 1)
		}
		set.StringVar(&f.throughput, "throughput", "", "Kafka's name for --rate `RATE`")
	}
	set.StringVar(&f.rate, "rate", "", rate)
	set.Int64Var(&f.records, "num-records", 0, "stop after `N` records (1000000, 1M)")
	if f.reads() {
		set.Int64Var(&f.messages, "messages", 0, "deprecated name of --num-records `N`")
	}
	lasts := "(default 1m without --num-records)"
	if !f.writes() {
		lasts = "(default without --num-records: when all records there at the start are read; 1m with --from latest)"
	}
	set.StringVar(&f.engine, "engine", string(plan.Client), "`ENGINE` that sends and reads: client (as applications do it) or wire (whole batches; see kt help engines)")
	set.StringVar(&f.duration, "duration", "", "stop after this `TIME`; 0: never "+lasts)
	set.StringVar(&f.warmup, "warmup", "", "do not measure the first `TIME|RECORDS` (10s, 100k)")
	if f.writes() {
		set.Int64Var(&f.warmupRecords, "warmup-records", 0, "Kafka's name for --warmup `N`, in records")
		set.StringVar(&f.arrivals, "arrivals", string(plan.Uniform), "`HOW` records arrive at a --rate: uniform (equal intervals) or poisson (independent)")
		set.IntVar(&f.producers, "producers", 1, "`N` producers in this process, each with its own connections")
	}
	if f.reads() {
		set.IntVar(&f.consumers, "consumers", 1, "`N` consumers in this process and in each group, each with its own connections")
	}
	if f.writes() {
		set.Int64Var(&f.transactionMS, "transaction-duration-ms", 0, "commit a transaction every `MS` (default 3000 with a transactional id)")
	}
	if f.writes() {
		set.StringVar(&f.stopAtDisk, "stop-at-disk", "90%", "end the load when a log directory of a broker is as full as this `SHARE`; never: go on")
		set.BoolVar(&f.untilFull, "until-full", false, "go on when log directories are full, and record what becomes of the brokers (without --duration or --num-records: for 1m)")
	}
	if f.writes() && f.reads() {
		set.BoolVar(&f.oneAtATime, "one-at-a-time", false, "write a record after the one before was read, as Kafka's end-to-end latency tool does (then: 5000 records, linger 0)")
	}
}

func (f *Flags) definePayload() {
	set := f.set
	least := "with --verify at least 40, unless the engine is wire"
	if f.reads() {
		least = "at least 40"
	}
	set.StringVar(&f.size, "record-size", "", "`BYTES`, a range (100-2000), normal:MEAN,STDDEV, or weighted (100@80,10KiB@20) (default 512); "+least)
	set.StringVar(&f.payloadFile, "payload-file", "", "take record values from this `FILE`, which may be packed by gzip or zstd, in random order")
	set.StringVar(&f.delimiter, "payload-delimiter", "", "`TEXT` between two values in --payload-file (default: line ends, \\n or \\r\\n)")
	set.BoolVar(&f.monotonic, "payload-monotonic", false, "record values are 0, 1, 2, …")
	set.Float64Var(&f.compressibility, "compressibility", 0, "random bytes; this `SHARE` of them, 0 to 1, compresses away (default: letters A to Z)")
	set.StringVar(&f.keys, "key-distribution", string(plan.NoKeys), "`KIND` of record keys: none, range (in turn) or random")
	set.Int64Var(&f.keyRange, "record-key-range", 0, "keys are numbers below `N`")
	set.StringArrayVar(&f.headers, "header", nil, "headers `K=V` of every record")
	set.Int64Var(&f.run.Plan.Seed, "seed", 1, "`SEED` of sizes, payloads, keys and Poisson arrivals")
}

func (f *Flags) defineReading() {
	set := f.set
	group, start := "perf-consumer-N, with a random number; with --engine wire none", "earliest"
	if f.writes() {
		group, start = "no group", "latest"
	}
	set.StringVar(&f.group, "group", "", "consumer group `ID` (default "+group+")")
	set.BoolVar(&f.noGroup, "no-group", false, "read without a group: the consumers share the partitions")
	set.IntVar(&f.groups, "groups", 1, "`N` groups that each read everything, named ID-0, ID-1, …")
	set.StringVar(&f.start, "from", "", "`WHERE` to begin if the group has no committed offsets: earliest, latest, offset:N or timestamp:T (default "+start+")")
	set.BoolVar(&f.fromLatest, "from-latest", false, "Kafka's name for --from latest")
	set.StringVar(&f.commit, "commit", "", "`HOW` to commit offsets: none, auto (by the client, at intervals), sync or async (after each poll) (default auto with --group or --on, else none)")
	set.StringVar(&f.processing, "processing-time", "", "spend this `TIME` on each record, as an application would")
	set.StringVar(&f.timeout, "timeout", "10000", "stop after this time without a record (while none is being sent), as `MS` or time; 0: never")
	set.BoolVar(&f.allowGaps, "allow-gaps", false, "records that are deleted before they are read are no fault")
	for _, name := range noEffect {
		set.Int(name, 0, "no effect, as in Kafka's own tool before 4.0 (`N`)")
		_ = set.MarkHidden(name) // the flag exists
	}
}

// noEffect are flags of Kafka's old consumer test, which ignored them too.
var noEffect = []string{"threads", "num-fetch-threads"}

func (f *Flags) defineProducer() {
	set := f.set
	set.StringVar(&f.acks, "acks", "", "`ACKS` to wait for: 0, 1 or all (default all)")
	if f.reads() {
		set.StringVar(&f.producerAcks, "producer-acks", "", "Kafka's name for --acks `ACKS`")
	}
	set.StringVar(&f.batch, "batch-size", "", "batch.size in `BYTES` (default 16384)")
	set.StringVar(&f.linger, "linger", "", "linger.ms, as `TIME` or milliseconds (default 5ms)")
	set.StringVar(&f.compression, "compression", "", "`TYPE[:LEVEL]`: none, gzip, snappy, lz4 or zstd (default none)")
	set.IntVar(&f.inFlight, "max-in-flight", 0, "`N` requests in flight on a connection (default 5)")
	set.StringVar(&f.idempotence, "idempotence", "", "`BOOL`: true or false (default true with acks=all)")
	set.StringVar(&f.transactionalID, "transactional-id", "", "produce in transactions under this `ID`")
	set.StringArrayVar(&f.producerProps, "producer-props", nil, "deprecated name of --command-property `K=V`, for the producer")
	set.StringVar(&f.producerFile, "producer.config", "", "deprecated name of --command-config `FILE`, for the producer")
}

func (f *Flags) defineConsumer() {
	set := f.set
	set.StringVar(&f.fetchSize, "fetch-size", "", "max.partition.fetch.bytes in `BYTES` (default 1048576)")
	set.StringVar(&f.socketBuffer, "socket-buffer-size", "", "receive.buffer.bytes of the consumer in `BYTES` (default 2097152)")
	set.StringVar(&f.maxMessage, "max-message-bytes", "", "of RabbitMQ: the most `BYTES` of a message; a larger one ends the reading (default 128MiB)")
	set.StringVar(&f.isolation, "isolation", "", "`LEVEL`: read_uncommitted or read_committed (default read_uncommitted)")
	set.BoolVar(&f.noCheckCRCs, "no-check-crcs", false, "do not verify the checksums of record batches (default with --engine client)")
	set.StringVar(&f.groupProtocol, "group-protocol", "", "`PROTOCOL` of the group: classic (its members assign partitions) or consumer (the broker does) (default classic)")
	set.StringVar(&f.instance, "group-instance-id", "", "make the group's members static, with this `ID`")
	set.StringVar(&f.consumerFile, "consumer.config", "", "deprecated name of --command-config `FILE`, for the consumer")
}

func (f *Flags) defineClient() {
	set := f.set
	set.StringArrayVar(&f.properties, "command-property", nil, "client properties `K=V` by their Java names; may be repeated")
	set.StringVar(&f.propertyFile, "command-config", "", "properties `FILE` of the client")
	set.BoolVar(&f.run.Lenient, "lenient", false, "warn about unknown properties, do not refuse them")
}

func (f *Flags) defineVerify() {
	set := f.set
	if !f.writes() {
		set.StringVar(&f.run.LedgerFile, "verify", "", "look for every record of this `LEDGER`, written by kt produce --verify")
		return
	}
	verify := "number every record, and write a ledger for kt consume --verify"
	if f.reads() {
		verify = "check that every acknowledged record is read once, in order and unchanged; also write a ledger"
	}
	set.BoolVar(&f.verify, "verify", false, verify)
	set.BoolVar(&f.stamp, "stamp", false, "with --engine wire and --verify: number each record in its value, so that --engine client can check it too")
	set.StringVar(&f.run.Ledger, "ledger", "", "write the ledger to this `FILE` (default: next to the run file)")
}

func (f *Flags) defineEvents() {
	set := f.set
	set.StringArrayVar(&f.at, "at", nil, "run the command of the matching --exec at this `TIME` of the run; may be repeated")
	set.StringArrayVar(&f.exec, "exec", nil, "`COMMAND` to run at the time of the matching --at")
}

func (f *Flags) defineLimits() {
	set := f.set
	set.StringArrayVar(&f.run.Limits, "limit", nil, "exit with code 3 unless the run keeps this `LIMIT`: 'p99<20ms', 'errors==0', 'rate>=50k over 10s for 95%'; may be repeated")
	set.StringArrayVar(&f.run.AbortOn, "abort-on", nil, "end the load, with exit code 3, when this `CONDITION` comes true: 'errors>100', 'p99>1s over 10s'; may be repeated")
}

// defaultDateFormat is that of Kafka's own consumer test.
const defaultDateFormat = "yyyy-MM-dd HH:mm:ss:SSS"

func (f *Flags) defineOutput() {
	set := f.set
	set.StringVarP(&f.output, "output", "o", "", "`FORMAT`: "+strings.Join(Outputs[:len(Outputs)-1], ", ")+" or "+Outputs[len(Outputs)-1]+" (default tui on a terminal, else text)")
	set.StringVar(&f.run.ResultFile, "result", "", "write the run to this `FILE`; none: no file (default: a new file in the state folder)")
	defineHTML(set, &f.run.HTML)
	defineTags(set, &f.run.Tags, tagUsage)
	set.StringVar(&f.interval, "reporting-interval", "5000", "time between progress lines, as `MS` or time")
	set.BoolVar(&f.run.PrintMetrics, "print-metrics", false, "print the client's metrics at the end")
	set.StringVar(&f.run.Metrics, "metrics-listen", "", "serve metrics for Prometheus at this `HOST:PORT` while the run goes on")
	if f.reads() {
		set.BoolVar(&f.run.ShowDetailed, "show-detailed-stats", false, "with --output perf-test: a line for each interval, none for the whole run")
		set.BoolVar(&f.run.HideHeader, "hide-header", false, "with --output perf-test: no header")
		set.StringVar(&f.run.DateFormat, "date-format", defaultDateFormat, "with --output perf-test: `FORMAT` of times, as for Java's SimpleDateFormat")
	}
	defineQuiet(set, &f.run.Quiet)
	defineVerbose(set, &f.run.Verbose)
	f.run.define(set)
	set.IntVar(&f.run.FPS, "fps", 4, "`N` frames a second of the screen, 1 to 30")
}

func (f *Flags) defineConfig() {
	set := f.set
	set.StringVar(&f.profile, "profile", "", "start from the profile `NAME`; flags override it")
	defineConfigFile(set, &f.config)
	defineYes(set, &f.run.Yes)
	set.BoolVar(&f.run.PrintConfig, "print-config", false, "print every effective setting and its source, and stop")
}
