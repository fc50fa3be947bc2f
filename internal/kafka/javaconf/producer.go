package javaconf

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// Sources of values that were not given.
const (
	SourceDefault = "default" // Kafka's, or kt's where Kafka has none
	SourceDerived = "derived" // follows from other properties, as in Java
)

// Producer is the producer properties in effect: every property Kafka's Java producer has, given or not. ParseProducer makes
// it.
type Producer struct {
	settings
	recordMax int // bytes of key, value and headers in the largest record
	fitted    int // size before compression of a full batch; 0: batch.size
	limit     int // of a batch as the topic takes it; 0: not known
}

type settings map[string]result.Setting

// All returns every setting, sorted by name.
func (s settings) All() []result.Setting {
	var all []result.Setting
	for _, setting := range s {
		all = append(all, setting)
	}
	slices.SortFunc(all, func(a, b result.Setting) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Acks returns "0", "1" or "all".
func (s Producer) Acks() string { return s.Value("acks") }

// Idempotent reports whether brokers drop duplicates.
func (s Producer) Idempotent() bool { return s.Bool("enable.idempotence") }

// RetryBackoff returns the pause after a number of failures in a row.
func (s Producer) RetryBackoff() func(fails int) time.Duration {
	return retryBackoff(s.Duration("retry.backoff.ms"), s.Duration("retry.backoff.max.ms"))
}

// MaxInFlight returns the largest number of unanswered produce requests to a broker.
func (s Producer) MaxInFlight() int { return s.Int("max.in.flight.requests.per.connection") }

// TransactionalID returns transactional.id, empty without transactions.
func (s Producer) TransactionalID() string { return s.Value("transactional.id") }

// BatchSize returns batch.size in bytes. franz-go's limit may differ.
func (s Producer) BatchSize() int { return s.Int("batch.size") }

// RoundRobin reports whether each record goes to the next partition.
func (s Producer) RoundRobin() bool { return s.Value("partitioner.class") == roundRobin }

// WithBatches returns the settings with batches that are full at this size before compression.
func (s Producer) WithBatches(size int) Producer {
	s.fitted = size
	s.noteBatchLimit()
	return s
}

// Limited returns the settings for a topic that takes batches of so many bytes as they are sent, and whether batch.size was
// above that. Kafka's client splits batches that are refused; this lowers batch.size before.
func (s Producer) Limited(limit int) (Producer, bool) {
	if s.limit = limit; limit <= 0 || s.BatchSize() <= limit {
		return s, false
	}
	s.derive("batch.size", strconv.Itoa(limit), fmt.Sprintf("Lowered from %s to max.message.bytes of the topic: Kafka's client splits batches that are larger.", s.Value("batch.size")))
	return s, true
}

// BatchLimit returns the largest size of a batch before compression.
func (s Producer) BatchLimit() int {
	if s.limit > 0 && s.Compression() == "none" {
		return min(s.limit, s.Int("max.request.size"))
	}
	return s.Int("max.request.size")
}

// Compression returns "none", "gzip", "snappy", "lz4" or "zstd".
func (s Producer) Compression() string { return s.Value("compression.type") }

// DeliveryTimeout returns the time for a record to succeed.
func (s Producer) DeliveryTimeout() time.Duration { return s.Duration("delivery.timeout.ms") }

// ReachTimeout returns the time for a bootstrap server to answer: the given time to make a connection, 0 if none was given.
func (s settings) ReachTimeout() time.Duration {
	const name = "socket.connection.setup.timeout.ms"
	if !s.isGiven(name) {
		return 0
	}
	return s.Duration(name)
}

// Value returns the value of a property that the client has. Bool, Int, Int64 and Duration read it: the row's check wrote it.
func (s settings) Value(name string) string {
	setting, known := s[name]
	if !known && s != nil { // of a plan that does not write, or read
		panic("no property " + name)
	}
	return setting.Value
}

// Bool reports whether the value is true.
func (s settings) Bool(name string) bool { return s.Value(name) == "true" }

// Int64 reads a whole number.
func (s settings) Int64(name string) int64 {
	n, _ := strconv.ParseInt(s.Value(name), 10, 64)
	return n
}

// Int reads a number that its row limits to 32 bits.
func (s settings) Int(name string) int { return int(s.Int64(name)) }

// Duration reads milliseconds. Java files say 9223372036854775807 for "forever", so a longer time becomes the longest one.
func (s settings) Duration(name string) time.Duration {
	ms := s.Int64(name)
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}

// SystemSendBuffer leaves the send buffer to the operating system, unless it is given.
func (s Producer) SystemSendBuffer() {
	if !s.isGiven("send.buffer.bytes") {
		s.derive("send.buffer.bytes", "-1", "Of the operating system: with --engine wire a request is larger than Kafka's default.")
	}
}

// applyRules settles properties that depend on others, in the order of these dependencies.
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
	if s.Bool("partitioner.rack.aware") && s.Value("client.rack") == "" {
		errs = append(errs, fmt.Errorf("%s needs client.rack", s.cite("partitioner.rack.aware")))
	}
	return errors.Join(errs...)
}

// settleIdempotence turns idempotence off when acks or retries rule it out, as Java does, unless it was asked for.
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
	if s.Int("retries") == 0 {
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

// checkInFlight refuses limits that would not hold: above 5, as Java 4, and below with idempotence, where franz-go always
// allows 5.
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

// settleDelivery makes room for one linger and one request, as Java does. A default is raised.
func (s Producer) settleDelivery() error {
	least := min(s.Int64("linger.ms")+s.Int64("request.timeout.ms"), math.MaxInt32)
	if s.Int64("delivery.timeout.ms") >= least {
		return nil
	}
	if s.isGiven("delivery.timeout.ms") {
		return fmt.Errorf("%s: must be at least %d, the sum of %s and %s", s.cite("delivery.timeout.ms"),
			least, s.cite("linger.ms"), s.cite("request.timeout.ms"))
	}
	s.derive("delivery.timeout.ms", strconv.FormatInt(least, 10), "Raised to linger.ms + request.timeout.ms, as in Java.")
	return nil
}

func (s Producer) checkSizes() error {
	var problems []error
	record := int64(s.recordMax) + javaOverhead
	for _, name := range []string{"max.request.size", "buffer.memory"} {
		if s.recordMax > 0 && record > s.Int64(name) {
			problems = append(problems, fmt.Errorf("%s: too small for a record of %d bytes, which takes %d",
				s.cite(name), s.recordMax, record))
		}
	}
	if int64(s.BatchSize()) > s.Int64("buffer.memory") {
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
