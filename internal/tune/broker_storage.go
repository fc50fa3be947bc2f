package tune

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

func storageSettings() []*Setting {
	return []*Setting{
		{
			ID: "kafka.version", Title: "the version of Kafka", Severity: Informational, Confidence: Documented,
			Why:     "defaults differ between versions",
			Detail:  "Read from the names of the jars in the class path of the process.",
			Reads:   []string{"/proc/PID/cmdline"},
			Sources: []string{"Kafka documentation, Upgrading"},
			Roles:   []Role{Broker, Controller},
			Check: ofJVM(func(m *Machine, _ Rule) Reading {
				v := m.kafkaVersion()
				if v == "" {
					return Reading{Verdict: Unknown, Note: "the class path does not name Kafka's jar"}
				}
				return Reading{Verdict: Info, Current: v}
			}),
		},
		{
			ID: "kafka.data_in_tmp", Title: "log directories in a folder for temporary files", Severity: Fatal, Confidence: Documented,
			Why:     "systems delete what lies in /tmp, at a reboot or when it is some days old",
			Detail:  `The value is "yes" or "no". /tmp is what Kafka takes when log.dirs is not set, and what its example file sets.`,
			Sources: []string{"Kafka: config/server.properties", "systemd: tmpfiles.d(5)"},
			Check:   ofBroker(checkTemporaryDirs),
		},
		{
			ID: "kafka.flush", Title: "flushes that the broker forces", Severity: Warning, Confidence: Documented, Want: "no",
			Why:     "each forced flush stops the partition until the disk has written; replication is what keeps records safe",
			Detail:  `The value is "yes" or "no": log.flush.interval.messages and log.flush.interval.ms. Kafka's documentation and Strimzi leave both unset.`,
			Sources: []string{"Kafka documentation, Operations: Application vs OS flush management", "Strimzi: broker tuning"},
			Check:   ofBroker(checkFlush),
		},
		{
			ID: "kafka.partitions_per_disk", Title: "partitions of a new topic", Severity: Informational, Confidence: Folklore, Want: ">=1",
			Why:     "a topic with fewer partitions than disks leaves some of them idle",
			Detail:  "num.partitions, for topics that nobody gives a number: at least as many as log directories here. To use all disks of a cluster a topic needs brokers × disks. A new partition goes to the directory that has the fewest, not to the one with the most room.",
			Sources: []string{"Kafka source: LogManager", "kt's proposal"},
			Check: countCheck("num.partitions", 1, Info, func(m *Machine, want Rule) Rule {
				return want.Floor(int64(len(m.Dirs)))
			}),
		},
		{
			ID: "kafka.partition_count", Title: "partitions on this broker", Severity: Informational, Confidence: Documented,
			Why:     "each partition costs files, mappings, memory and time when leaders change",
			Detail:  "Amazon MSK's table for brokers: 1000 up to 4 CPUs, 2000 with 8, 4000 from 16 on. KRaft clusters carry more.",
			Reads:   []string{"the log directories"},
			Sources: []string{"Amazon MSK: best practices"},
			Check:   ofBroker(checkPartitionCount),
		},
		{
			ID: "kafka.segment_size", Title: "the size of a segment", Severity: Informational, Confidence: Folklore, Want: ">=104857600",
			Why:     "small segments mean many files, two mappings for each, and much rolling",
			Detail:  "log.segment.bytes; Kafka takes 1 GiB. The bound is kt's proposal; topics may have their own.",
			Sources: []string{"Kafka documentation, Broker configs", "kt's proposal"},
			Check:   countCheck("log.segment.bytes", 1<<30, Info, nil),
		},
	}
}

func batchSettings() []*Setting {
	return []*Setting{
		{
			ID: "kafka.compression", Title: "batches are stored as producers compressed them", Severity: Warning, Confidence: Documented, Want: "producer",
			Why:     "with any other value the broker compresses each batch again, and cannot hand on what it was given",
			Detail:  "compression.type. Setting a codec can be meant, where producers cannot be changed; it costs CPU for each batch that came in another one.",
			Sources: []string{"Kafka documentation, Broker configs"},
			Check:   wordCheck("compression.type", "producer", Warn),
		},
		{
			ID: "kafka.request_size", Title: "the largest request against the largest batch", Severity: Fatal, Confidence: Documented,
			Why:     "a batch that is allowed but larger than a request may be can never be sent",
			Detail:  "message.max.bytes must be below socket.request.max.bytes, 100 MiB unless set, with room for the rest of the request.",
			Sources: []string{"Kafka documentation, Broker configs"},
			Check:   ofBroker(checkRequestSize),
		},
		{
			ID: "kafka.replica_fetch_size", Title: "what replicas fetch against the largest batch", Severity: Informational, Confidence: Documented,
			Why:     "followers fetch larger batches one at a time",
			Detail:  "replica.fetch.max.bytes against message.max.bytes. It is no hard limit: the first batch is sent whole even if it is larger. Kafka's own defaults differ by 12 bytes, which is the head of a batch and counts as equal here.",
			Sources: []string{"Kafka documentation, Broker configs"},
			Check:   ofBroker(checkReplicaFetchSize),
		},
	}
}

func checkTemporaryDirs(m *Machine, want Rule) Reading {
	var found []string
	for _, d := range m.Config.LogDirs() {
		for _, folder := range []string{"/tmp/", "/var/tmp/", "/dev/shm/", "/run/"} {
			if strings.HasPrefix(d+"/", folder) {
				found = append(found, d)
			}
		}
	}
	if len(found) == 0 {
		r, _ := question(false, want, Fail, "no", "no")
		return r
	}
	r, wrong := question(true, want, Fail, strings.Join(found, ","), "no")
	if wrong {
		r.Command = "log.dirs=/var/lib/kafka/data"
	}
	return r
}

func checkFlush(m *Machine, want Rule) Reading {
	var set []string
	for _, name := range []string{"log.flush.interval.messages", "log.flush.interval.ms"} {
		value := strings.TrimSpace(m.Config.Get(name, ""))
		if value == "" || value == strconv.FormatInt(math.MaxInt64, 10) {
			continue
		}
		set = append(set, value+" "+strings.TrimPrefix(name, "log.flush.interval."))
	}
	current := "not set"
	if len(set) > 0 {
		current = "every " + strings.Join(set, ", ")
	}
	r, wrong := question(len(set) > 0, want, Warn, current, "not set")
	if wrong && len(set) > 0 {
		r.Command = "remove log.flush.interval.messages and log.flush.interval.ms from " + m.Config.File
	}
	return r
}

func checkPartitionCount(m *Machine, want Rule) Reading {
	if len(m.Dirs) == 0 {
		return Reading{Verdict: Unknown, Note: "no log directory is known"}
	}
	for _, d := range m.Dirs {
		if d.ListErr != nil {
			return Denied(d.ListErr)
		}
		if d.Err != nil && d.Partitions == 0 {
			return Reading{Verdict: Unknown, Note: d.Err.Error()}
		}
	}
	if m.CPUs <= 0 {
		return Reading{Verdict: Unknown, Current: strconv.Itoa(partitionsHere(m)), Note: "the number of CPUs is not known"}
	}
	if want.Leave() {
		want = Rule{AtMost, strconv.Itoa(partitionLimit(m.CPUs))}
	}
	return Compare(strconv.Itoa(partitionsHere(m)), want, Info)
}

func checkRequestSize(m *Machine, _ Rule) Reading {
	batch, bad, ok := m.Config.number("message.max.bytes", 1048588)
	if !ok {
		return bad
	}
	request, bad, ok := m.Config.number("socket.request.max.bytes", 104857600)
	if !ok {
		return bad
	}
	r := Reading{Verdict: OK, Current: strconv.FormatInt(batch, 10), Wanted: fmt.Sprintf("< %d", request)}
	if batch >= request {
		r.Verdict = Fail
		r.Command = fmt.Sprintf("socket.request.max.bytes=%d", batch+1<<20)
	}
	return r
}

func checkReplicaFetchSize(m *Machine, _ Rule) Reading {
	batch, bad, ok := m.Config.number("message.max.bytes", 1048588)
	if !ok {
		return bad
	}
	fetch, bad, ok := m.Config.number("replica.fetch.max.bytes", 1048576)
	if !ok {
		return bad
	}
	const head = 12 // offset and length of a batch, by which Kafka's own defaults differ
	r := Compare(strconv.FormatInt(fetch, 10), Rule{AtLeast, strconv.FormatInt(batch-head, 10)}, Info)
	if r.Verdict == Info {
		r.Command = fmt.Sprintf("replica.fetch.max.bytes=%d", batch)
	}
	return r
}
