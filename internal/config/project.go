package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The file of a project may be somebody else's, as in a clone. So it may set only what describes loads, series of loads, and how
// they look. A flag that no rule names is refused.

// projectRule is a rule for flags: the file of a project may set them or not. Each flag of each command has exactly one rule.
type projectRule struct {
	commands string // "": all but kt agent
	flags    string
	does     string // why no project may set them; "": it may
}

const loadsAlone = "produce consume roundtrip"

var projectRules = []projectRule{
	{loadsAlone, `abort-on acks allow-gaps arrivals batch-size broker-list commit compressibility compression consumers engine fetch-size from from-latest group
		group-instance-id group-protocol groups header idempotence include isolation key-distribution lenient limit linger max-in-flight max-message-bytes messages
		no-check-crcs no-group num-fetch-threads num-records one-at-a-time partitions payload-delimiter payload-monotonic processing-time
		producer-acks producer-props producers profile rate record-key-range record-size replication-factor seed socket-buffer-size stamp threads
		throughput timeout topic-config transaction-duration-ms transactional-id warmup warmup-records`, ""},
	{loadsAlone, "delete-topic", ""}, // only the topic that the same load has made
	{"produce roundtrip", "verify", ""},
	{loadsAlone + " doctor", "command-property duration topic url", ""},
	{loadsAlone + " doctor study", "bootstrap-server cluster", ""},
	{loadsAlone + " find study trial", "tag", ""},
	{"find study trial compare", "bytes delta discard fail-on ladder precision repeats rest run-time slo trial-time", ""},
	{loadsAlone, "date-format fps hide-header print-metrics reporting-interval show-detailed-stats", ""},
	{"tune", "all", ""},
	{"report", "play speed", ""},
	{"runs", "rows", ""},
	{"", "ascii no-color output quiet theme verbose", ""},

	{loadsAlone, "at exec", "runs a command"},
	{"", "command-config producer.config consumer.config", "names credentials"},
	{"", "key-file", "names a key"},
	{"", "config", "names another file"},
	{loadsAlone, "payload-file", "sends a file"},
	{"consume", "verify", "reads a file"},
	{"", "html ledger result", "writes a file"},
	{"calibrate", "run-time save", "changes what kt knows of this host"},
	{loadsAlone, "metrics-listen", "opens a port"},
	{"", "hosts join on peers processes run watch", "reaches agents on other hosts"},
	{loadsAlone, "stop-at-disk until-full", "fills the disks of brokers"},
	{"study", "set", "sets any flag of a load"},
	{"find study trial", "dry-run", "hides what a command does"},
	{loadsAlone, "print-config", "hides what a command does"},
	{"doctor", "read-only", "decides whether a topic is made"},
	{"prune", "keep older", "removes runs"},
	{"probe", "blocks compare dd direct duration force mode size tests", "reads and writes the disks of this host"},
	{"tune", "brokers dirs interval only pid profile role root skip strict unit", "decides what is read and changed on this host"},
	{"agent", `advertise allow-broker allow-topic allow-tune bind command-config config join keep key-file max-duration max-producers max-rate name parallel
		quiet results role tags`, "opens this host to others"},
}

// projectProperties are the properties of clients that the file of a project may set. They name no class, no file and no address,
// and nothing of a login.
const projectProperties = `acks allow.auto.create.topics auto.commit.interval.ms auto.offset.reset batch.size buffer.memory check.crcs client.id client.rack
	compression.gzip.level compression.lz4.level compression.type compression.zstd.level connections.max.idle.ms default.api.timeout.ms
	delivery.timeout.ms enable.auto.commit enable.idempotence exclude.internal.topics fetch.max.bytes fetch.max.wait.ms fetch.min.bytes group.id
	group.instance.id group.protocol group.remote.assignor heartbeat.interval.ms isolation.level linger.ms max.block.ms
	max.in.flight.requests.per.connection max.message.bytes max.partition.fetch.bytes max.poll.interval.ms max.poll.records max.request.size metadata.max.age.ms
	metadata.max.idle.ms metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy partitioner.adaptive.partitioning.enable
	metrics.num.samples metrics.recording.level metrics.sample.window.ms partitioner.availability.timeout.ms partitioner.ignore.keys partitioner.rack.aware receive.buffer.bytes reconnect.backoff.max.ms
	reconnect.backoff.ms request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms send.buffer.bytes session.timeout.ms share.acknowledgement.mode share.acquire.mode
	socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms transaction.timeout.ms
	transaction.two.phase.commit.enable transactional.id
	ack.quorum auto.ack batching.max.messages delivery.mode mandatory max.pending.messages prefetch.count receiver.queue.size subscription.type`

// inProject returns why the file of a project may not set a flag of a command, "" if it may; of no command: of any.
func inProject(command, flag string) (does string) {
	for _, r := range projectRules {
		fits := command == "" || slices.Contains(strings.Fields(r.commands), command) || r.commands == "" && command != "agent"
		switch {
		case !fits || !slices.Contains(strings.Fields(r.flags), flag):
		case r.does == "":
			return ""
		default:
			does = cmp.Or(does, r.does)
		}
	}
	return cmp.Or(does, "describes no load")
}

// onlyLoads returns an error for each setting of the file of a project that it must not have.
func (f *file) onlyLoads(nearest Nearest) error {
	var errs []error
	refuse := func(s setting, hint, format string, args ...any) {
		text := s.source + ": " + fmt.Sprintf(format, args...)
		errs = append(errs, errors.New(text+": give it on the command line, or in your own file (kt/config.yaml)"+hint))
	}
	parts := map[string]settings{"": f.top}
	maps.Copy(parts, f.sections)
	for _, command := range slices.Sorted(maps.Keys(parts)) {
		for _, key := range slices.Sorted(maps.Keys(parts[command])) {
			s := parts[command][key]
			if does := inProject(command, key); does != "" && key != "description" {
				refuse(s, "", "--%s %s, which no project file may do", key, does)
			}
			if key != "command-property" && key != "producer-props" {
				continue
			}
			for _, item := range s.values {
				name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
				if known := strings.Fields(projectProperties); !slices.Contains(known, name) {
					refuse(s, nearest.hint(name, known, ""), "--%s: %.40q is no property that a project file may set", key, name)
				} else if strings.Contains(value, "${") {
					refuse(s, "", "--%s: %s looks a value up elsewhere, which no project file may do", key, name)
				}
			}
		}
	}
	return errors.Join(errs...)
}
