package tune

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

func checkRack(m *Machine, want Rule) Reading {
	if m.Cloud == "" {
		return Absent("not in a cloud that kt knows")
	}
	rack := strings.TrimSpace(m.Config.Get("broker.rack", ""))
	if rack != "" {
		r, _ := question(true, want, Info, rack, "set")
		return r
	}
	r, wrong := question(false, want, Info, "not set", "set")
	if wrong {
		r.Command = "broker.rack=ZONE"
	}
	return r
}

func checkMinInSync(m *Machine, want Rule) Reading {
	confirm, bad, ok := m.Config.number("min.insync.replicas", 1)
	if !ok {
		return bad
	}
	copies, bad, ok := m.Config.number("default.replication.factor", 1)
	if !ok {
		return bad
	}
	r := Compare(strconv.FormatInt(confirm, 10), want, Info)
	switch {
	case confirm > 1 && confirm >= copies:
		r.Verdict = Info
		r.Note = fmt.Sprintf("new topics have %d copies: with any broker down, writes with acks=all fail", copies)
		r.Command = fmt.Sprintf("default.replication.factor=%d", confirm+1)
	case !want.Holds(r.Current):
		r.Command = "min.insync.replicas=" + want.Target(r.Current)
	}
	if _, set := m.Config.Values["min.insync.replicas"]; !set && r.Note == "" {
		r.Note = notSet
	}
	return r
}

func checkInternalReplication(m *Machine, want Rule) Reading {
	least := int64(math.MaxInt64)
	for _, name := range []string{"offsets.topic.replication.factor", "transaction.state.log.replication.factor"} {
		n, bad, ok := m.Config.number(name, 3)
		if !ok {
			return bad
		}
		least = min(least, n)
	}
	r := Compare(strconv.FormatInt(least, 10), want, Info)
	if !want.Holds(r.Current) {
		r.Note = "raise both, and transaction.state.log.min.isr to one less"
		r.Command = "offsets.topic.replication.factor=" + want.Target(r.Current)
	}
	return r
}
