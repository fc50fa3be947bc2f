package config

import (
	"errors"
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// defaultTopic is where kt writes to when no topic is named.
const defaultTopic = "kt-bench"

const bootstrapUsage = "`BROKERS` to connect to first: HOST:PORT,HOST:PORT"

// settings are all flags, in the order of the help. A flag that means something else in some commands has a row for these.
var settings = slices.Concat(
	in(groupAction, "tune", "decides what is read and changed on this host",
		row(ActionCheck, boolKind, "", "check the machine and change nothing (the default)", typed, common),
		row(ActionApply, boolKind, "", "show the safe changes, ask, and make them (needs root)", typed, common),
		row(ActionDryRun, boolKind, "", "show the changes of --apply and the manual steps; change nothing", typed, common),
		row(ActionScript, boolKind, "", "print the changes as a POSIX shell script", typed, common),
		row(ActionAnsible, boolKind, "", "print the changes as an Ansible playbook", typed),
		row(ActionRollback, boolKind, "", "undo all changes of kt on this machine (needs root)", typed, common),
		row(ActionStatus, boolKind, "", "show the changes of kt on this machine", typed, common),
		row(ActionHints, boolKind, "", "print heap, GC and broker settings that fit this machine", typed),
		row(ActionList, boolKind, "", "list all checks", typed),
		row(ActionExplain, textKind, "", "show the reason and the sources of the check `ID`", typed, common),
	),
	in(groupAction, "prune", "removes runs",
		row("keep", whole(0, none), "200", "keep the `N` newest runs, whatever their age"),
		row("older", optional(ages), "90d", "keep runs that began in this `TIME` until now (12h, 90d)"),
		row("tagged", boolKind, "", "remove runs with a tag too", typed),
		row("dry-run", boolKind, "", "list what would be removed, and remove nothing", typed),
		row("yes", boolKind, "", "do not ask", typed, short("y"), only("prune remove")),
	),
	in(groupMachine, "tune", "decides what is read and changed on this host",
		row("role", optional(choice("broker", "controller", "client")), "", "`ROLE` of the machine: broker, controller or client (default: taken from the running processes)", common),
		row("profile", textKind, "throughput", "`NAME` of the wanted values: throughput, latency or minimal, or a file of your own (my.yaml)", common),
		row("dirs", listKind, "", "log `DIRS`, as DIR,DIR (default: those of the running broker's server.properties)", common),
		row("pid", whole(0, math.MaxInt32), "", "`PID` of the broker (default: the first broker that kt finds)"),
		row("unit", textKind, "", "systemd `UNIT` of the broker (default: that of its process)"),
		row("root", textKind, "/", "check the machine whose root file system is mounted at `DIR`, such as /host in a container"),
		row("interval", span(0, 0, time.Hour, "a time from 0 to 1h (5s)"), "1s", "watch the kernel's counters for this `TIME`; 0: take their values since boot"),
		row("brokers", whole(0, math.MaxInt32), "", "`N` brokers in the cluster, for --hints"),
	),
	in(groupProbe, "probe", "reads and writes the disks of this host",
		row("mode", choice(ProbeModes...), "quick", "`MODE`: quick (20 seconds a directory), standard (all tests, 2 to 3 minutes), soak (10 minutes of appends) or live (beside a running broker, hardly any load)"),
		row("tests", listKind, "", "only these `TESTS`: write, append, sync, commit, read, mixed, parallel (default: those of the mode)"),
		row("size", optional(scalar("string", ddSize)), "", "write at most this many `BYTES` in each directory, repeatedly (default 1GiB, with standard and soak 4GiB, and at most a tenth of the free space)"),
		row("duration", optional(span(0, time.Second, 24*time.Hour, "a time from 1s to 24h")), "", "measure for this `TIME` in each test (default: that of the mode)"),
		row("dd", boolKind, "", "a table as from dd: a row for each of --blocks and --direct, with its dd command"),
		row("blocks", each(listKind, ddSize), "", "`SIZES` of the blocks of --dd, as 8k,80m (default 8k,80000k)"),
		row("direct", each(listKind, yesNo), "", "`WAYS` of --dd: yes (oflag=direct), no (through the page cache), or yes,no (default)"),
		row("compare", textKind, "", "compare with an earlier result: a `FILE` of --output json"),
		row("force", boolKind, "", "also probe tmpfs, overlay and network file systems, and a file system with another directory of a broker"),
	),
	in(groupTarget, loads, allowed,
		row("bootstrap-server", listKind, "", bootstrapUsage+" (default: a broker inside kt)", only("produce roundtrip study"), common),
		row("bootstrap-server", listKind, "", bootstrapUsage, only("consume doctor"), common),
		row("topic", topicKind, defaultTopic, "`NAME` of the topic", only(writers), single, common),
		row("partitions", whole(1, plan.MaxPartitions), "", "create the topic with `N` partitions; refuse a topic with another number", only(writers), common),
		row("replication-factor", whole(1, math.MaxInt16), "", "create the topic with `N` replicas; refuse a topic with another number", only(writers), common),
		row("topic-config", repeatedKind, "", "settings `K=V` for the topic, if this run creates it", only(writers)),
		row("delete-topic", boolKind, "", "delete the topic at the end, if this run created it", only(writers)), // only one that the same load has made
		row("topic", topicKind, "", "`NAME` of the topic", only("consume"), single, common),
		row("include", textKind, "", "read all topics whose whole name matches this `REGEX`", only("consume")),
		row("url", silent(scalar("string", readURL)), "", "`URL` of RabbitMQ (amqp://USER@HOST/) or Pulsar (pulsar://HOST) instead of Kafka; see kt help systems"),
		row("cluster", textKind, "", "the cluster of this `NAME` in the configuration file: its brokers and properties (see kt config)", only(loads+" study doctor"), common),
		row("broker-list", listKind, "", "old name of --bootstrap-server `BROKERS`", only(readers)),
		row("command-config", textKind, "", "properties `FILE` of the clients", only("study"), project("names credentials"), common),
		row("topic", topicKind, defaultTopic, "`NAME` of the topic of the load; it need not exist", only("doctor")),
		row("url", silent(scalar("string", readURL)), "", "`URL` of RabbitMQ or Pulsar, which kt doctor does not examine", only("doctor"), hidden, project("names a system that kt doctor does not examine")),
	),
	in(groupLoad, loads, allowed,
		row("throughput", silent(scalar("string", plan.ParseTarget)), "", "Kafka's name for --rate `RATE`", only(writers)),
		row("rate", silent(scalar("string", plan.ParseTarget)), "", "target `RATE`: records/s (50000, 50k) or bytes/s (100MiB/s), or stages of it (10k@1m,10k..50k@5m); -1: unlimited (default -1)", only("produce"), common),
		row("rate", silent(scalar("string", plan.ParseTarget)), "", "target `RATE`: records/s (50000, 50k) or bytes/s (100MiB/s), or stages of it (10k@1m,10k..50k@5m); -1: unlimited (default -1; 50000 with the broker inside kt)", only("roundtrip"), common),
		row("rate", silent(scalar("string", plan.ParseTarget)), "", "target `RATE` in records/s (50000, 50k), or stages of it (10k@1m,10k..50k@5m); -1: unlimited (default -1)", only("consume"), common),
		row("num-records", whole(1, none), "", "stop after `N` records (1000000, 1M)", common),
		row("messages", whole(1, none), "", "deprecated name of --num-records `N`", only(readers)),
		row("engine", choice(string(plan.Client), string(plan.Wire)), string(plan.Client), "`ENGINE` that sends and reads: client (as applications do it) or wire (whole batches; see kt help engines)", common),
		row("duration", loadTime, "", "stop after this `TIME`; 0: never (default 1m without --num-records)", only(writers), common),
		row("duration", loadTime, "", "stop after this `TIME`; 0: never (default without --num-records: when all records there at the start are read; 1m with --from latest)", only("consume"), common),
		row("warmup", optional(scalar("string", readWarmup)), "", "do not measure the first `TIME|RECORDS` (10s, 100k)", common),
		row("warmup-records", whole(0, none), "", "Kafka's name for --warmup `N`, in records", only(writers)),
		row("arrivals", choice("uniform", "poisson"), "uniform", "`HOW` records arrive at a --rate: uniform (equal intervals) or poisson (independent)", only(writers)),
		row("producers", whole(1, plan.MaxClients), "1", "`N` producers in this process, each with its own connections", only(writers), common),
		row("consumers", whole(1, plan.MaxClients), "1", "`N` consumers in this process and in each group, each with its own connections", only(readers), common),
		row("transaction-duration-ms", whole(1, math.MaxInt32), "", "commit a transaction every `MS` (default 3000 with a transactional id)", only(writers)),
		row("stop-at-disk", scalar("string", readDiskShare), "90%", "end the load when a log directory of a broker is as full as this `SHARE`; never: go on", only(writers), project("fills the disks of brokers")),
		row("until-full", boolKind, "", "go on when log directories are full, and record what becomes of the brokers (without --duration or --num-records: for 1m)", only(writers), project("fills the disks of brokers")),
		row("one-at-a-time", boolKind, "", "write a record after the one before was read, as Kafka's end-to-end latency tool does (then: 5000 records, linger 0)", only("roundtrip")),
	),
	in(groupLoad, "find", allowed,
		row("slo", repeatedKind, "", "a rate also has to keep this `LIMIT`: 'p99<50ms', 'errors==0'; may be repeated"),
		row("ladder", kind{name: listKind.name, read: func(texts []string) (any, error) { return plan.ParseLadder(texts) }}.beginning(), "", "walk up these `RATES` (10k,50k,100k), instead of searching"),
		row("trial-time", runTime, "30s", "measure each rate for this `TIME`; longer than the brokers' periodic stalls"),
		row("precision", share(0.001, 0.5, "from 0.1% to 50%"), "1%", "end the search when the peak is known to this `SHARE`"),
		row("rest", restTime, "5s", "wait this `TIME` between two trials"),
		row("dry-run", boolKind, "", "check the load, show the longest way, and make no run", project("hides what a command does")),
	),
	in(groupLoad, "trial", allowed,
		row("repeats", whole(0, math.MaxInt32), "", "make `N` runs a side; 0: 6, 12 or 20, until the answer is clear"),
		row("delta", deltaShare, "3%", "differences of at most this `SHARE` do not matter"),
		row("run-time", optional(runTime), "", "end every run after this `TIME`, instead of its own end"),
		row("rest", restTime, "5s", "wait this `TIME` between two runs"),
		row("discard", whole(0, math.MaxInt32), "1", "make `N` runs first that do not count: they warm the brokers up"),
		row("dry-run", boolKind, "", "check the load and the change, show the runs, and make none", project("hides what a command does")),
	),
	in(groupLoad, "study", allowed,
		row("set", each(repeatedKind, readAssignment), "", "values of a factor, or a flag of the loads: `NAME=VALUE,VALUE`; may be repeated", project("sets any flag of a load"), common),
		row("run-time", optional(span(time.Second, 1, longest, "a time above 0 (30s, 2m)")), "", "end every load after this `TIME`, instead of its own end", common),
		row("bytes", silent(optional(scalar("string", plan.ParseVolume))), "", "write this `AMOUNT` of data in every load (5GiB), instead of its number of records", common),
		row("discard", whole(0, math.MaxInt32), "", "make `N` runs first that do not count, to warm the brokers up (default: as the study says)"),
		row("repeats", whole(1, math.MaxInt32), "", "`N` runs of each cell (default: as the study says)", common),
		row("rest", optional(restTime), "", "wait this `TIME` between two runs (default: as the study says)"),
		row("dry-run", boolKind, "", "show the runs, and make none", project("hides what a command does"), common),
	),
	in(groupLoad, "calibrate", "changes what kt knows of this host",
		row("run-time", span(time.Second, shortestCalibration, longest, "a time of 2s or more (4s, 1m)"), "4s", "measure each run for this `TIME`, 2s or more, after a quarter of it as warm-up"),
		row("save", boolKind, "", "keep the ceiling, unless others use the CPUs: later loads of this shape are held against it"),
	),
	in(groupPayload, writers, allowed,
		row("record-size", silent(scalar("string", plan.ParseSize)), "", "`BYTES`, a range (100-2000), normal:MEAN,STDDEV, or weighted (100@80,10KiB@20) (default 512); with --verify at least 40, unless the engine is wire", only("produce"), common),
		row("record-size", silent(scalar("string", plan.ParseSize)), "", "`BYTES`, a range (100-2000), normal:MEAN,STDDEV, or weighted (100@80,10KiB@20) (default 512); at least 40", only("roundtrip"), common),
		row("payload-file", textKind, "", "take record values from this `FILE`, which may be packed by gzip or zstd, in random order", project("sends a file")),
		row("payload-delimiter", scalar("string", readDelimiter), "", "`TEXT` between two values in --payload-file (default: line ends, \\n or \\r\\n)"),
		row("payload-monotonic", boolKind, "", "record values are 0, 1, 2, …"),
		row("compressibility", scalar("float64", plan.ParseNumber), "", "random bytes; this `SHARE` of them, 0 to 1, compresses away (default: letters A to Z)"),
		row("key-distribution", choice("none", "range", "random"), "none", "`KIND` of record keys: none, range (in turn) or random"),
		row("record-key-range", whole(0, none), "", "keys are numbers below `N`"),
		row("header", repeatedKind, "", "headers `K=V` of every record"),
		row("seed", whole(math.MinInt64, none), "1", "`SEED` of sizes, payloads, keys and Poisson arrivals"),
	),
	in(groupReading, readers, allowed,
		row("group", textKind, "", "consumer group `ID` (default perf-consumer-N, with a random number; with --engine wire none)", only("consume"), java("consumer", "group.id"), common),
		row("group", textKind, "", "consumer group `ID` (default no group)", only("roundtrip"), java("consumer", "group.id"), common),
		row("no-group", boolKind, "", "read without a group: the consumers share the partitions"),
		row("groups", whole(1, math.MaxInt32), "1", "`N` groups that each read everything, named ID-0, ID-1, …"),
		row("from", fromKind, "", "`WHERE` to begin if the group has no committed offsets: earliest, latest, offset:N or timestamp:T (default earliest)", only("consume"), common, values("earliest", "latest", "offset:", "timestamp:")),
		row("from", fromKind, "", "`WHERE` to begin if the group has no committed offsets: earliest, latest, offset:N or timestamp:T (default latest)", only("roundtrip"), common, values("earliest", "latest", "offset:", "timestamp:")),
		row("from-latest", boolKind, "", "Kafka's name for --from latest"),
		row("commit", choice("none", "auto", "sync", "async"), "", "`HOW` to commit offsets: none, auto (by the client, at intervals), sync or async (after each poll) (default auto with --group or --on, else none)"),
		row("processing-time", optional(millis), "", "spend this `TIME` on each record, as an application would"),
		row("timeout", optional(millis), "10000", "stop after this time without a record (while none is being sent), as `MS` or time; 0: never"),
		row("allow-gaps", boolKind, "", "records that are deleted before they are read are no fault"),
		row("threads", whole(math.MinInt64, none), "", "no effect, as in Kafka's own tool before 4.0 (`N`)", hidden),
		row("num-fetch-threads", whole(math.MinInt64, none), "", "no effect, as in Kafka's own tool before 4.0 (`N`)", hidden),
	),
	in(groupProducer, writers, allowed,
		row("acks", textKind, "", "`ACKS` to wait for: 0, 1 or all (default all)", java("producer", "acks"), common, values("0", "1", "all")),
		row("producer-acks", textKind, "", "Kafka's name for --acks `ACKS`", only("roundtrip"), java("producer", "acks"), values("0", "1", "all")),
		row("batch-size", silent(bytesKind), "", "batch.size in `BYTES` (default 16384)", java("producer", "batch.size")),
		row("linger", scalar("string", readLinger), "", "linger.ms, as `TIME` or milliseconds (default 5ms)", java("producer", "linger.ms")),
		row("compression", textKind, "", "`TYPE[:LEVEL]`: none, gzip, snappy, lz4 or zstd (default none)", common, values("none", "gzip", "snappy", "lz4", "zstd")),
		row("max-in-flight", whole(math.MinInt32, math.MaxInt32), "", "`N` requests in flight on a connection (default 5)", java("producer", "max.in.flight.requests.per.connection")),
		row("idempotence", textKind, "", "`BOOL`: true or false (default true with acks=all)", java("producer", "enable.idempotence"), values("true", "false")),
		row("transactional-id", textKind, "", "produce in transactions under this `ID`", java("producer", "transactional.id")),
		row("producer-props", repeatedKind, "", "deprecated name of --command-property `K=V`, for the producer"),
		row("producer.config", textKind, "", "deprecated name of --command-config `FILE`, for the producer", project("names credentials")),
	),
	in(groupConsumer, readers, allowed,
		row("fetch-size", silent(bytesKind), "", "max.partition.fetch.bytes in `BYTES` (default 1048576)", java("consumer", "max.partition.fetch.bytes")),
		row("socket-buffer-size", silent(bytesKind), "", "receive.buffer.bytes of the consumer in `BYTES` (default 2097152)", java("consumer", "receive.buffer.bytes")),
		row("max-message-bytes", silent(bytesKind), "", "of RabbitMQ: the most `BYTES` of a message; a larger one ends the reading (default 128MiB)", java("consumer", "max.message.bytes")),
		row("isolation", textKind, "", "`LEVEL`: read_uncommitted or read_committed (default read_uncommitted)", java("consumer", "isolation.level"), values("read_uncommitted", "read_committed")),
		row("no-check-crcs", boolKind, "", "do not verify the checksums of record batches (default with --engine client)"),
		row("group-protocol", textKind, "", "`PROTOCOL` of the group: classic (its members assign partitions) or consumer (the broker does) (default classic)", java("consumer", "group.protocol"), values("classic", "consumer")),
		row("group-instance-id", textKind, "", "make the group's members static, with this `ID`", java("consumer", "group.instance.id")),
		row("consumer.config", textKind, "", "deprecated name of --command-config `FILE`, for the consumer", project("names credentials")),
	),
	in(groupChecks, "tune", "decides what is read and changed on this host",
		row("only", listKind, "", "only these checks: `IDS` as ID,ID; also groups (memory) and first parts of IDs (vm)", common),
		row("skip", listKind, "", "all checks but these `IDS`"),
		row("strict", boolKind, "", "exit code 3 also on warnings", common),
		row("all", boolKind, "", "show every check by group, also those that pass or do not apply", common, project(allowed)),
		row("verbose", boolKind, "", "show the whole reason of each check, and each line of kt's files", short("v"), common, project(allowed)),
		row("probe", boolKind, "", "measure the log directories first, so that vm.dirty_* fit the disks; beside a running broker this measures with hardly any load and finds no rate", typed),
	),
	in(groupChange, "tune", "",
		row("runtime", boolKind, "", "change only the running machine: a reboot undoes it", typed),
		row("persist", boolKind, "", "write only the files that the next start reads", typed),
		row("yes", boolKind, "", "with --apply: do not ask", typed, short("y"), common),
		row("force", boolKind, "", "with --rollback: also restore values that others changed since", typed),
	),
	in(groupChecks, "compare", allowed,
		row("delta", deltaShare, "3%", "differences of at most this `SHARE` do not matter"),
		row("fail-on", repeatedKind, "", "exit with code 3 when B shows this `SHIFT`: 'rate<-3%', 'p99>10%', 'errors>0'; may be repeated"),
	),
	in(groupChecks, "doctor", allowed,
		row("duration", span(time.Second, 0, longest, "a time (90s, 5m, 24h)"), "1h", "`TIME` that the load is to take: retention must be longer"),
		row("read-only", boolKind, "", "make no topic: leave out what this client may do, and the clocks", project("decides whether a topic is made")),
		row("yes", boolKind, "", "make a topic on a cluster that is marked as protected too", typed, short("y")),
	),
	in(groupChecks, "report", "",
		row("limit", repeatedKind, "", "judge the run anew, and exit with code 3 unless it kept this `LIMIT`: 'p99<20ms', 'errors==0'; may be repeated", typed), // a file has those of loads
	),
	in(groupChecks, "runs", "", // a variable for loads, as KT_TAG, hides no run
		row("tag", tagsKind, "", "only runs with all of these `TAGS`: TAG,TAG; may be repeated", typed),
		row("command", optional(choice(LoadCommands()...)), "", "only runs of this `COMMAND`: produce, consume or roundtrip", typed),
		row("topic", textKind, "", "only runs on the topic of this `NAME`", typed),
		row("since", optional(ages), "", "only runs that began in this `TIME` until now (12h, 7d)", typed),
		row("valid", boolKind, "", "only valid runs", typed),
	),
	in(groupClient, loads, allowed,
		row("command-property", repeatedKind, "", "client properties `K=V` by their Java names; may be repeated"),
		row("command-config", textKind, "", "properties `FILE` of the client", project("names credentials"), common),
		row("lenient", boolKind, "", "warn about unknown properties, do not refuse them"),
		row("command-config", textKind, "", "properties `FILE` of a client of Kafka, with its security", only("doctor"), project("names credentials")),
		row("command-property", repeatedKind, "", "client properties `K=V` by their Java names; may be repeated", only("doctor")),
	),
	in(groupVerify, loads, allowed,
		row("verify", textKind, "", "look for every record of this `LEDGER`, written by kt produce --verify", only("consume"), project("reads a file"), common),
		row("verify", boolKind, "", "number every record, and write a ledger for kt consume --verify", only("produce"), common),
		row("verify", boolKind, "", "check that every acknowledged record is read once, in order and unchanged; also write a ledger", only("roundtrip"), common),
		row("stamp", boolKind, "", "with --engine wire and --verify: number each record in its value, so that --engine client can check it too", only(writers)),
		row("ledger", textKind, "", "write the ledger to this `FILE` (default: next to the run file)", only(writers), project("writes a file")),
	),
	in(groupEvents, loads, "runs a command",
		row("at", repeatedKind, "", "run the command of the matching --exec at this `TIME` of the run; may be repeated"),
		row("exec", repeatedKind, "", "`COMMAND` to run at the time of the matching --at"),
	),
	in(groupChecks, loads, allowed,
		row("limit", repeatedKind, "", "exit with code 3 unless the run keeps this `LIMIT`: 'p99<20ms', 'errors==0', 'rate>=50k over 10s for 95%'; may be repeated", common),
		row("abort-on", repeatedKind, "", "end the load, with exit code 3, when this `CONDITION` comes true: 'errors>100', 'p99>1s over 10s'; may be repeated"),
	),
	in(groupHosts, loads, "reaches agents on other hosts",
		row("run", textKind, "", "`NAME` of the run; kt collect --run NAME merges its parts"),
		row("on", listKind, "", "make the load on these `HOSTS`, where kt agent runs: names, tags, clients, brokers, or all (except brokers' hosts); they share the load", common),
		row("hosts", whole(1, math.MaxInt32), "", "refuse to begin unless --on means exactly `N` hosts (default any number)"),
		row("on", listKind, "", "make the loads on these `HOSTS`, where kt agent runs: names, tags, clients, brokers, or all", only("study"), common),
		row("processes", whole(1, maxProcesses), "1", "`N` processes on each host of --on", only(loads+" study")),
		row("watch", listKind, "", "only watch these `HOSTS`: names, tags, all or none (default with --on: those with the role broker)", values("all", "brokers", "none")),
		row("run", textKind, "", "`NAME` of the run to merge; if several had one name, its epoch or NAME@START", only("collect")),
		row("join", each(listKind, withPort), "", "ask these `AGENTS` for all others: HOST:PORT,HOST (default "+defaultJoin+")", only(loads+" study collect peers")),
		row("peers", each(listKind, withPort), "", "use exactly these `AGENTS` (HOST:PORT,HOST), over TCP alone", only(loads+" study collect peers")),
		row("key-file", textKind, "", "`FILE` with the key from kt keygen; needed for other hosts", only(loads+" study collect peers"), project("names a key")),
	),
	in(groupHosts, "agent", "opens this host to others",
		row("name", textKind, "", "`NAME` of this host among the agents (default: the hostname)", common),
		row("role", optional(choice(AgentRoles...)), "", "`ROLE` of this host: client (makes loads) or broker (is only watched) (default: broker where one runs, else client)", common),
		row("tags", listKind, "", "`TAGS` by which --on finds this host: TAG,TAG"),
		row("bind", optional(scalar("string", withPort)), "", "listen on this `ADDRESS`, TCP and UDP (default 0.0.0.0:7946 with a key, 127.0.0.1:7946 without)"),
		row("advertise", optional(scalar("string", withPort)), "", "`ADDRESS` at which others reach this host (default: the one of --bind, or a private one of this host)"),
		row("join", each(listKind, withPort), "", "other `AGENTS`: HOST:PORT,HOST; one is enough, and it may start later", common),
		row("key-file", textKind, "", "`FILE` with the key from kt keygen, mode 0600; needed beyond loopback", common),
	),
	in(groupLimits, "agent", "opens this host to others",
		row("max-rate", silent(optional(scalar("string", plan.ParseRate))), "", "refuse loads above this `RATE`, all loads on this host together: records/s (50000) or bytes/s (100MiB/s)"),
		row("max-producers", whole(0, math.MaxInt32), "", "refuse more than `N` producers and consumers, all loads on this host together"),
		row("max-duration", optional(span(0, 0, longest, "a time (30m, 2h), or 0 for no limit")), "24h", "refuse loads longer than this `TIME`; 0: no limit"),
		row("allow-topic", optional(scalar("string", regexp.Compile)), "", "refuse topics whose whole name does not match this `REGEX`"),
		row("allow-tune", boolKind, "", "let studies change settings of this host that kt tune knows (sysctl., tune.), by its journal; needs root"),
		row("parallel", whole(1, maxProcesses), "1", "make `N` loads at a time; watching does not count"),
	),
	in(groupClient, "agent", "opens this host to others",
		row("command-config", textKind, "", "`FILE` of Java properties (client.properties) with the security settings of this host's connections; loads of other hosts bring none"),
		row("allow-broker", each(listKind, readBrokerPattern), "", "log in at these `ADDRESSES` too (kafka-1:9093, *.prod.example:9093, 10.0.0.*), beside bootstrap.servers of --command-config; refuse loads to others", common),
	),
	in(groupOutput, "agent", "opens this host to others",
		row("results", textKind, "", "keep run files in this `DIR` (default: a folder in the state folder)"),
		row("keep", whole(1, none), "100", "keep the files of the last `N` runs that other hosts asked for"),
		row("quiet", boolKind, "", "report only problems", short("q")),
	),
	in(groupOutput, "", allowed,
		row("output", outputKind(Outputs), "", "`FORMAT`: "+listed(Outputs)+" (default tui on a terminal, else text)", short("o"), only(loads), common),
		row("output", outputKind(DocumentOutputs), "text", "`FORMAT`: "+listed(DocumentOutputs), short("o"), only("find trial study study-made calibrate tune compare doctor probe runs peers config profiles"), common),
		row("output", outputKind(ReportOutputs), "text", "`FORMAT`: "+listed(ReportOutputs), short("o"), only("report")),
		row("output", outputKind(CollectOutputs), "text", "`FORMAT`: "+listed(CollectOutputs), short("o"), only("collect")),
		row("output", outputKind(WatchOutputs), "text", "`FORMAT`: "+listed(WatchOutputs), short("o"), only("watch")),
		row("result", textKind, "", "write the run to this `FILE`; none: no file (default: a new file in the state folder)", only(loads), project("writes a file")),
		row("play", boolKind, "", "show the run on the screen again", only("report")),
		row("speed", scalar("float64", readSpeed), "1", "`TIMES` as fast as the run was, with --play", only("report")),
		row("result", textKind, "", "write the collection to this `FILE`; none: no file (default: a new file in the state folder)", only("collect"), project("writes a file")),
		row("html", htmlKind, "", "also write the result as a page to this `FILE`, for a browser", only(loads+" report collect calibrate tune probe"), project("writes a file"), common),
		row("tag", tagsKind, "", "mark the run with these `TAGS`, to find it again with kt runs --tag: TAG,TAG; may be repeated", only(loads)),
		row("tag", tagsKind, "", "mark every run with these `TAGS`: TAG,TAG; may be repeated", only("find trial study")),
		row("reporting-interval", span(time.Millisecond, 1, longest, "milliseconds above 0 (5000) or a time (5s)"), "5000", "time between progress lines, as `MS` or time", only(loads)),
		row("print-metrics", boolKind, "", "print the client's metrics at the end", only(loads)),
		row("metrics-listen", scalar("string", readListen), "", "serve metrics for Prometheus at this `HOST:PORT` while the run goes on", only(loads), project("opens a port")),
		row("show-detailed-stats", boolKind, "", "with --output perf-test: a line for each interval, none for the whole run", only(readers)),
		row("hide-header", boolKind, "", "with --output perf-test: no header", only(readers)),
		row("date-format", textKind, "yyyy-MM-dd HH:mm:ss:SSS", "with --output perf-test: `FORMAT` of times, as for Java's SimpleDateFormat", only(readers)), // as Kafka's consumer test
		row("quiet", boolKind, "", "no progress, only the result", short("q"), only(loads+" find trial study study-made calibrate probe")),
		row("quiet", boolKind, "", "only failures and warnings, no progress", short("q"), only("tune")),
		row("quiet", boolKind, "", "only the result", short("q"), only("collect")),
		row("verbose", boolKind, "", "write every line of the summary: client, fetches, partitions, run files", short("v"), only(loads+" report collect"), common),
		row("rows", whole(0, math.MaxInt32), "30", "write the `N` newest runs as text; 0: all", only("runs")),
		row("no-color", boolKind, "", "no colours; NO_COLOR does the same", only(screens)),
		row("ascii", boolKind, "", "only ASCII", only(screens)),
		row("theme", choice("auto", "light", "dark"), "auto", "colours for a `BACKGROUND`: light, dark, or auto to ask the terminal", only(screens)),
		row("fps", whole(1, 30), "4", "`N` frames a second of the screen, 1 to 30", only(loads)),
	),
	in(groupConfig, loads, allowed,
		row("profile", textKind, "", "start from the profile `NAME`; flags override it", common),
		row("config", textKind, "", "configuration `FILE` (default: ./kt.yaml, and kt/config.yaml in the user's configuration folder)", only(screens+" agent prune config-file"), project("names another file")),
		row("cluster", textKind, "", "the cluster of this `NAME` in the configuration file: its brokers and properties (see kt config)", only("config")),
		row("yes", boolKind, "", "do not ask before a load of a cluster that is marked as protected", typed, short("y"), only(loads+" study study-resume"), common),
		row("print-config", boolKind, "", "print every effective setting and its source, and stop", project("hides what a command does")),
	),
)

// screens are the commands that write for people; study-made writes a study that was made.
const screens = loads + " find trial study study-made calibrate tune compare doctor probe runs peers config profiles report collect watch"

// The kinds that are of one flag, or of flags that mean the same.
var (
	loadTime   = span(time.Second, 0, longest, "a time above 0 (90s, 5m), or 0 for no end")
	runTime    = span(time.Second, time.Second, longest, "a time of 1s or more (30s, 2m)") // a run of less says nothing
	restTime   = span(time.Second, 0, longest, "a time (5s, 1m), or 0")
	millis     = span(time.Millisecond, 0, longest, "milliseconds (10000) or a time (10s), 0 or more")
	deltaShare = share(math.SmallestNonzeroFloat64, math.Nextafter(1, 0), "above 0 and below 100% (3%)")
	topicKind  = scalar("string", func(s string) (string, error) { return s, plan.CheckTopic(s) })
	tagsKind   = kind{name: listKind.name, read: func(texts []string) (any, error) { return distinct(texts), nil }}
	fromKind   = scalar("string", func(s string) (plan.From, error) {
		from, err := plan.ParseFrom(s)
		if err == nil {
			err = from.Check(time.Now())
		}
		return from, err
	}).beginning()
	htmlKind = scalar("string", func(s string) (string, error) {
		if s == "-" || s == "" {
			return "", errors.New("name a file; kt report --output html writes the page of a run to stdout")
		}
		return s, nil
	})
)

// silent is a kind whose errors name the value themselves, or must not show it.
func silent(k kind) kind {
	k.silent = true
	return k
}

// beginning is a kind whose errors begin with the value.
func (k kind) beginning() kind {
	k.begins = true
	return k
}

func readURL(s string) (string, error) {
	if s == "" || strings.HasPrefix(s, "kafka://") { // by which a study varies the system
		return s, nil
	}
	_, err := plan.ParseURL(s)
	return s, err
}

func readWarmup(s string) (plan.Warmup, error) {
	if n, err := plan.ParseCount(s); err == nil {
		return plan.Warmup{Records: n}, nil
	}
	d, err := plan.ParseDuration(s)
	if err != nil {
		err = errors.New("write a time (10s) or a number of records (100000, 100k)")
	}
	return plan.Warmup{Duration: plan.Duration(d)}, err
}

// readDiskShare returns 0 for a disk that may get full.
func readDiskShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := plan.ParseNumber(number)
	switch {
	case s == "never":
		return 0, nil
	case !percent || err != nil || !(v >= 1 && v <= 100):
		return 0, errors.New("write a share from 1% to 100%, or never")
	case v == 100:
		return 0, nil
	}
	return v / 100, nil
}

// readLinger returns whole milliseconds.
func readLinger(s string) (int64, error) {
	d, err := plan.ParseTime(s, time.Millisecond)
	if err != nil || d < 0 || d%time.Millisecond != 0 {
		return 0, errors.New("write whole milliseconds, as 5 or 5ms")
	}
	return d.Milliseconds(), nil
}

// readDelimiter undoes the escapes that a shell leaves alone: \n, \t, \0, \x1e.
func readDelimiter(s string) (string, error) {
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
	if err != nil || text == "" {
		return "", errors.New("write the text between two payloads, \\n for a line end, \\t for a tab")
	}
	return text, nil
}

// MaxSpeed is the highest speed of a replay.
const MaxSpeed = 1000

func readSpeed(s string) (float64, error) {
	v, err := plan.ParseNumber(s)
	if err == nil && !(v > 0 && v <= MaxSpeed) {
		err = errors.New("give a number above 0, 1000 at most")
	}
	return v, err
}

func yesNo(s string) (bool, error) {
	if s != "yes" && s != "no" {
		return false, errors.New("it must be yes, no or yes,no")
	}
	return s == "yes", nil
}

// ddSize reads a size as dd does: 8k is 8192 bytes, 1M and 1MiB are 1048576, 1MB is 1000000.
func ddSize(text string) (int64, error) {
	size := text
	if n := len(text) - 1; n > 0 && strings.ContainsRune("kmgtKMGT", rune(text[n])) {
		size += "iB"
	}
	n, err := plan.ParseVolume(size)
	switch {
	case errors.Is(err, plan.ErrBits):
		return 0, err
	case err != nil || n > 1<<50:
		return 0, errors.New("not a size as in dd, up to 1 PiB; for example 8192, 8k or 80M")
	}
	return n, nil
}

// outputKind is a form of output. Those of other commands are no mistake in a file and a variable, which speak to every command.
func outputKind(outputs []string) kind {
	k := choice(outputs...)
	k.read = func(texts []string) (any, error) {
		if every := slices.Concat(Outputs, ReportOutputs); texts[0] == "" || slices.Contains(every, texts[0]) {
			return texts[0], nil
		}
		return nil, oneOf(texts[0], outputs)
	}
	return k
}

// distinct returns words without repeated and empty ones. A shell leaves an empty one where a variable is not set.
func distinct(words []string) []string {
	var all []string
	for _, word := range named(words) {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}

// named returns the words of a list without the empty ones.
func named(words []string) (out []string) {
	for _, word := range words {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// listed writes words as a sentence does.
func listed(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// readListen refuses an address that names no host or no port. To serve on all networks takes a word: 0.0.0.0.
func readListen(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" {
		return "", errors.New("write HOST:PORT, as 127.0.0.1:9111, or 0.0.0.0:9111 for all networks")
	}
	return addr, nil
}
