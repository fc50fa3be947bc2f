package javaconf

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/kt-bench/kt/internal/result"
)

// applyRules settles properties that depend on others. Each rule comes after those that settle
// the properties it reads.
func (s Producer) applyRules() error {
	s.noteBatchLimit()
	errs := []error{s.settleIdempotence(), s.checkInFlight()}
	switch {
	case s.TransactionalID() == "":
	case !s.Idempotent():
		errs = append(errs, fmt.Errorf("%s needs enable.idempotence=true, not %s", s.cite("transactional.id"), s.cite("enable.idempotence")))
	default:
		s.note("delivery.timeout.ms", "In a transaction franz-go waits for records in flight, also longer than this.")
	}
	errs = append(errs, s.settleDelivery(), s.checkSizes())
	if s.bool("partitioner.rack.aware") && s.value("client.rack") == "" {
		errs = append(errs, fmt.Errorf("%s needs client.rack", s.cite("partitioner.rack.aware")))
	}
	return errors.Join(errs...)
}

// settleIdempotence turns idempotence off when acks or retries rule it out, as Java does. If it
// was given or transactions need it, that is a conflict.
func (s Producer) settleIdempotence() error {
	if !s.Idempotent() {
		return nil
	}
	needed, reason := "enable.idempotence", ""
	if s.TransactionalID() != "" {
		needed = "transactional.id"
	}
	var conflicts []error
	needs := func(want string, have result.Setting) {
		reason = cite(have)
		conflicts = append(conflicts, fmt.Errorf("%s needs %s, not %s", s.cite(needed), want, reason))
	}
	if s.int("retries") == 0 {
		needs("retries above 0", s.settings["retries"])
	}
	if s.Acks() != "all" {
		needs("acks=all", s.settings["acks"])
	}
	if len(conflicts) == 0 {
		return nil
	}
	if s.isGiven(needed) {
		return errors.Join(conflicts...)
	}
	s.derive("enable.idempotence", "false", "Off because of "+reason+", as in Java.")
	return nil
}

// checkInFlight refuses limits that would not hold. Java 4 refuses more than 5 too, even if acks
// turns idempotence off. Java keeps limits from 1 to 4. franz-go always allows 5 with idempotence,
// so kt refuses them instead of running another test.
func (s Producer) checkInFlight() error {
	const name = "max.in.flight.requests.per.connection"
	idempotence := s.settings["enable.idempotence"]
	askedOff := idempotence.Value == "false" && idempotence.Source != SourceDerived
	switch n := s.MaxInFlight(); {
	case n > 5 && !askedOff:
		return fmt.Errorf("%s: more than 5 needs enable.idempotence=false", s.cite(name))
	case n < 5 && s.Idempotent():
		return fmt.Errorf("%s: franz-go keeps up to 5 with idempotence; leave it at 5 or add enable.idempotence=false", s.cite(name))
	}
	return nil
}

// settleDelivery makes room for one linger and one request, as Java does. A default is raised, a
// given value is an error.
func (s Producer) settleDelivery() error {
	least := min(s.int64("linger.ms")+s.int64("request.timeout.ms"), math.MaxInt32)
	if s.int64("delivery.timeout.ms") >= least {
		return nil
	}
	if s.isGiven("delivery.timeout.ms") {
		return fmt.Errorf("%s: must be at least %d, the sum of %s and %s", s.cite("delivery.timeout.ms"),
			least, s.cite("linger.ms"), s.cite("request.timeout.ms"))
	}
	s.derive("delivery.timeout.ms", strconv.FormatInt(least, 10), "Raised to linger.ms + request.timeout.ms, as in Java.")
	return nil
}

// checkSizes refuses records and batches that cannot be sent.
func (s Producer) checkSizes() error {
	var problems []error
	record := int64(s.recordMax) + javaOverhead
	for _, name := range []string{"max.request.size", "buffer.memory"} {
		if s.recordMax > 0 && record > s.int64(name) {
			problems = append(problems, fmt.Errorf("%s: too small for a record of %d bytes, which takes %d",
				s.cite(name), s.recordMax, record))
		}
	}
	if int64(s.BatchSize()) > s.BufferMemory() {
		problems = append(problems, fmt.Errorf("%s: a batch must fit into %s", s.cite("batch.size"), s.cite("buffer.memory")))
	}
	return errors.Join(problems...)
}

func (s Producer) noteBatchLimit() {
	switch limit := s.batchMax(); {
	case s.BatchSize() == 0:
		s.note("batch.size", fmt.Sprintf("franz-go has no smaller limit than %d bytes, so records that fit in together may still share a batch.", limit))
	case limit > s.BatchTarget():
		s.note("batch.size", fmt.Sprintf("franz-go's limit is raised to %d: Java sends a larger record alone, franz-go would fail it.", limit))
	case s.fitted > 0:
		s.note("batch.size", fmt.Sprintf("Counts compressed bytes, as in Java; franz-go's limit, before compression, is %d for this payload.", limit))
	}
}

func (s settings) cite(name string) string { return cite(s[name]) }

func (s settings) isGiven(name string) bool {
	source := s[name].Source
	return source != SourceDefault && source != SourceDerived
}

func (s settings) derive(name, value, note string) {
	setting := s[name]
	setting.Value, setting.Source, setting.Note = value, SourceDerived, note
	s[name] = setting
}

func (s settings) note(name, note string) {
	setting := s[name]
	setting.Note = note
	s[name] = setting
}
