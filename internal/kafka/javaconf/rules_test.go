package javaconf

import (
	"strings"
	"testing"
)

func TestIdempotenceGivesWayUnlessItWasAskedFor(t *testing.T) {
	for _, tc := range []struct {
		name, words string
		want        bool
		note        string // of a derived value
		err         string
	}{
		{name: "on by default", want: true},
		{name: "on with acks as a number", words: "acks=-1", want: true},
		{name: "off when asked", words: "enable.idempotence=false"},
		{name: "off with acks=1", words: "acks=1", note: "acks=1 (from f)"},
		{name: "off with acks=0", words: "acks=0", note: "acks=0 (from f)"},
		{name: "off without retries", words: "retries=0", note: "retries=0 (from f)"},
		{name: "a conflict with acks=1", words: "acks=1 enable.idempotence=true", err: "enable.idempotence=true (from f) acks=all acks=1"},
		{name: "a conflict without retries", words: "retries=0 enable.idempotence=true", err: "enable.idempotence=true (from f) retries=0"},
		{name: "transactions need it", words: "acks=1 transactional.id=t", err: "transactional.id=t (from f) acks=all acks=1 (from f)"},
		{name: "transactions need it asked for", words: "enable.idempotence=false transactional.id=t", err: "transactional.id=t (from f) enable.idempotence=false (from f)"},
		{name: "transactions have it", words: "transactional.id=t", want: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _, err := ParseProducer(given("f", strings.Fields(tc.words)...), 1000, false)
			wants(t, err, tc.err)
			if err != nil {
				return
			}
			setting := s.settings["enable.idempotence"]
			if err != nil || s.Idempotent() != tc.want || !strings.Contains(setting.Note, tc.note) || (setting.Source == SourceDerived) != (tc.note != "") {
				t.Errorf("error %v, setting %+v, want %v, note %q", err, setting, tc.want, tc.note)
			}
		})
	}
}

func TestALimitOnRequestsInFlightIsKeptOrRefused(t *testing.T) {
	const name = "max.in.flight.requests.per.connection"
	for _, tc := range []struct {
		name, limit, words string
		refused            bool
	}{
		{"5 with idempotence", "5", "", false},
		{"1 with idempotence, which franz-go would not keep", "1", "", true},
		{"6 with idempotence", "6", "", true},
		{"6 with acks=1, where Java refuses too", "6", "acks=1", true},
		{"1 with acks=1", "1", "acks=1", false},
		{"1 without idempotence", "1", "enable.idempotence=false", false},
		{"100 without idempotence", "100", "enable.idempotence=false", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _, err := ParseProducer(given("f", strings.Fields(name+"="+tc.limit+" "+tc.words)...), 1000, false)
			if tc.refused {
				wants(t, err, name+"="+tc.limit+" (from f) 5 enable.idempotence=false")
				return
			}
			if err != nil || s.value(name) != tc.limit {
				t.Errorf("error %v, limit %s", err, s.value(name))
			}
		})
	}
}

func TestDeliveryTimeoutHasRoomForALingerAndARequest(t *testing.T) {
	s := parse(t, 1000, "request.timeout.ms=119995")
	if got := s.settings["delivery.timeout.ms"]; got.Value != "120000" || got.Source != SourceDefault {
		t.Errorf("just enough room: %+v", got)
	}
	s = parse(t, 1000, "request.timeout.ms=150000")
	if got := s.settings["delivery.timeout.ms"]; got.Value != "150005" || got.Source != SourceDerived {
		t.Errorf("the default gives way: %+v", got)
	}
	_, _, err := ParseProducer(given("f", "delivery.timeout.ms=30000"), 1000, false)
	wants(t, err, "delivery.timeout.ms=30000 (from f) 30005 linger.ms=5 request.timeout.ms=30000 (default)")
}

func TestRecordsAndBatchesThatCannotBeSentAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name      string
		recordMax int
		words     string
		want      string
	}{
		{"the largest record that fits", 1<<20 - 82, "", ""},
		{"one byte more", 1<<20 - 81, "", "max.request.size=1048576 (default) 1048495 1048577"},
		{"a record larger than the memory", 40_000, "buffer.memory=40000 batch.size=100", "buffer.memory=40000 (from f) 40082"},
		{"a batch larger than the memory", 100, "buffer.memory=10000", "batch.size=16384 (default) buffer.memory=10000 (from f)"},
		{"a rack to prefer but none to be in", 100, "partitioner.rack.aware=true", "partitioner.rack.aware=true (from f) client.rack"},
	} {
		_, _, err := ParseProducer(given("f", strings.Fields(tc.words)...), tc.recordMax, false)
		wants(t, err, tc.want)
	}
}

func TestARaisedBatchLimitIsNoted(t *testing.T) {
	for _, tc := range []struct {
		name      string
		recordMax int
		words     string
		limit     int
		note      string
	}{
		{"a small record", 100, "", 16384, ""},
		{"the largest that fits", 16384 - recordRoom, "", 16384, ""},
		{"a larger one", 20_000, "", 20_128, "raised to 20128"},
		{"a target below franz-go's least", 100, "batch.size=200", 512, "raised to 512"},
		{"no batches", 100, "batch.size=0", 512, "no smaller limit than 512 bytes"},
	} {
		s := parse(t, tc.recordMax, strings.Fields(tc.words)...)
		note := s.settings["batch.size"].Note
		if s.batchMax() != tc.limit || !strings.Contains(note, tc.note) {
			t.Errorf("%s: limit %d, note %q, want %d, %q", tc.name, s.batchMax(), note, tc.limit, tc.note)
		}
	}
}
