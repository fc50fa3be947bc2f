package tune

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

func checkVersion(m *Machine, _ Rule) Reading {
	v := m.kafkaVersion()
	if v == "" {
		return Reading{Verdict: Unknown, Note: "the class path does not name Kafka's jar"}
	}
	return Reading{Verdict: Info, Current: v}
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
