package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
)

// The file of a project may be somebody else's, as in a clone. So it may set only what describes loads, series of loads, and how
// they look. A flag that no row names is refused, and a test fails on one that a row allows and nobody has decided on.

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

// inProject returns why the file of a project may not set a flag of a command, allowed if it may; of no command: of any.
func inProject(command, flag string) (does string) {
	for _, s := range settings {
		switch {
		case s.name != flag || s.typed || !slices.ContainsFunc(s.commands, func(c string) bool { return c == command || command == "" }):
		case s.project == allowed:
			return allowed
		default:
			does = cmp.Or(does, s.project)
		}
	}
	if flag == "description" {
		return allowed
	}
	return cmp.Or(does, "describes no load")
}

// onlyLoads returns an error for each setting of the file of a project that it must not have.
func (f *file) onlyLoads() error {
	var errs []error
	for _, command := range slices.Sorted(maps.Keys(f.parts)) {
		for _, key := range slices.Sorted(maps.Keys(f.parts[command])) {
			refuse := func(near, format string, args ...any) {
				text := fmt.Sprintf(format, args...) + ": give it on the command line, or in your own file (kt/config.yaml)" + near
				errs = append(errs, plan.Refuse("", nil, "%s", text).From(f.where(command, key)))
			}
			if does := inProject(command, key); does != allowed {
				refuse("", "--%s %s, which no project file may do", key, does)
			}
			if key != "command-property" && key != "producer-props" {
				continue
			}
			for _, item := range f.parts[command][key].([]string) {
				name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
				if known := strings.Fields(projectProperties); !slices.Contains(known, name) {
					refuse(hint(name, known, ""), "--%s: %.40q is no property that a project file may set", key, name)
				} else if strings.Contains(value, "${") {
					refuse("", "--%s: %s looks a value up elsewhere, which no project file may do", key, name)
				}
			}
		}
	}
	return errors.Join(errs...)
}
