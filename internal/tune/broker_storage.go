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
			Why:     "the system may delete the data. It empties /tmp at a reboot, or removes files that are some days old",
			Detail:  `The value is "yes" or "no". /tmp is Kafka's default for log.dirs, also in its example file.`,
			Sources: []string{"Kafka: config/server.properties", "systemd: tmpfiles.d(5)"},
			Check:   ofBroker(checkTemporaryDirs),
		},
		{
			ID: "kafka.flush", Title: "forced flushes", Severity: Warning, Confidence: Documented, Want: "no",
			Why:     "the partition stops during each forced flush. Replication keeps records safe without it",
			Detail:  `The value is "yes" or "no": log.flush.interval.messages and log.flush.interval.ms. Kafka's documentation and Strimzi leave both unset.`,
			Sources: []string{"Kafka documentation, Operations: Application vs OS flush management", "Strimzi: broker tuning"},
			Check:   ofBroker(checkFlush),
		},
		{
			ID: "kafka.partitions_per_disk", Title: "partitions of a new topic", Severity: Informational, Confidence: Folklore, Want: ">=1",
			Why: "some disks stay idle. A topic needs at least as many partitions as disks",
			Detail: "num.partitions, for topics that are created without a number: at least the number of log directories here. To use all " +
				"disks of a cluster, a topic needs brokers × disks partitions. Kafka puts a new partition into the directory with the " +
				"fewest partitions, not into the one with the most space.",
			Sources: []string{"Kafka source: LogManager", "kt's proposal"},
			Check: countCheck("num.partitions", 1, Info, func(m *Machine, want Rule) Rule {
				return want.Floor(int64(len(m.Dirs)))
			}),
		},
		{
			ID: "kafka.partition_count", Title: "partitions on this broker", Severity: Informational, Confidence: Documented,
			Why:     "leader changes take longer. Each partition costs files, mappings, memory and time",
			Detail:  "Amazon MSK's limits for brokers: 1000 up to 4 CPUs, 2000 with 8, 4000 from 16 on. KRaft clusters support more.",
			Reads:   []string{"the log directories"},
			Sources: []string{"Amazon MSK: best practices"},
			Check:   ofBroker(checkPartitionCount),
		},
		{
			ID: "kafka.segment_size", Title: "the size of a segment", Severity: Informational, Confidence: Folklore, Want: ">=104857600",
			Why:     "many files and frequent rolling. Each segment takes two memory mappings",
			Detail:  "log.segment.bytes; Kafka's default is 1 GiB. The limit is kt's proposal. Topics may have a value of their own.",
			Sources: []string{"Kafka documentation, Broker configs", "kt's proposal"},
			Check:   countCheck("log.segment.bytes", 1<<30, Info, nil),
		},
	}
}

func batchSettings() []*Setting {
	return []*Setting{
		{
			ID: "kafka.compression", Title: "compression type of stored batches", Severity: Warning, Confidence: Documented, Want: "producer",
			Why: "the broker compresses each batch again. Only “producer” stores batches as producers sent them",
			Detail: "compression.type. A codec here can be intended, where producers cannot be changed. It costs CPU for each batch in " +
				"another codec.",
			Sources: []string{"Kafka documentation, Broker configs"},
			Check:   wordCheck("compression.type", "producer", Warn),
		},
		{
			ID: "kafka.request_size", Title: "maximum request size against maximum batch size", Severity: Fatal, Confidence: Documented,
			Why:     "some allowed batches can never be sent. They are larger than a request may be",
			Detail:  "message.max.bytes must be below socket.request.max.bytes (100 MiB by default), with room for the rest of the request.",
			Sources: []string{"Kafka documentation, Broker configs"},
			Check:   ofBroker(checkRequestSize),
		},
		{
			ID: "kafka.replica_fetch_size", Title: "fetch size of replicas against maximum batch size", Severity: Informational, Confidence: Documented,
			Why: "followers fetch larger batches one at a time",
			Detail: "replica.fetch.max.bytes against message.max.bytes. It is no hard limit: the first batch is sent whole even if it is " +
				"larger. Kafka's defaults differ by 12 bytes, the header of a batch, and count as equal here.",
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
