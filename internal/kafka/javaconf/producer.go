package javaconf

import (
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

// Producer is the producer properties in effect: every property Kafka's Java
// producer has, given or not. ParseProducer makes it.
type Producer struct {
	settings
	recordMax int // bytes of key, value and headers in the largest record
	fitted    int // size before compression of a full batch; 0: batch.size
	limit     int // of a batch as the topic takes it; 0: not known
}

// settings are properties in effect by name, of a producer or of a consumer.
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
func (s Producer) Acks() string { return s.value("acks") }

// Idempotent reports whether brokers drop duplicates.
func (s Producer) Idempotent() bool { return s.bool("enable.idempotence") }

// Retries reports whether a request that was not answered is sent again.
func (s Producer) Retries() bool { return s.int64("retries") > 0 }

// RetryLimit returns the number of times that a request may be sent again.
func (s Producer) RetryLimit() int64 { return s.int64("retries") }

// RetryBackoff returns the pause after a number of failures in a row.
func (s Producer) RetryBackoff() func(fails int) time.Duration {
	return retryBackoff(s.duration("retry.backoff.ms"), s.duration("retry.backoff.max.ms"))
}

// MaxInFlight returns the largest number of unanswered produce requests to a broker.
func (s Producer) MaxInFlight() int { return s.int("max.in.flight.requests.per.connection") }

// TransactionalID returns transactional.id, empty without transactions.
func (s Producer) TransactionalID() string { return s.value("transactional.id") }

// BatchSize returns batch.size in bytes. franz-go's limit may differ.
func (s Producer) BatchSize() int { return s.int("batch.size") }

// MaxRequestSize returns the largest size of the batches in a request, and of a record.
func (s Producer) MaxRequestSize() int { return s.int("max.request.size") }

// IgnoresKeys reports whether records with a key are spread like those without.
func (s Producer) IgnoresKeys() bool { return s.bool("partitioner.ignore.keys") }

// Adaptive reports whether partitions on faster brokers get more records.
func (s Producer) Adaptive() bool { return s.bool("partitioner.adaptive.partitioning.enable") }

// RoundRobin reports whether each record goes to the next partition.
func (s Producer) RoundRobin() bool { return s.value("partitioner.class") == roundRobin }

// WithBatches returns the settings with batches that are full at this size before
// compression.
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
	s.derive("batch.size", strconv.Itoa(limit), fmt.Sprintf("Lowered from %s to max.message.bytes of the topic: Kafka's client splits batches that are larger.", s.value("batch.size")))
	return s, true
}

// BatchLimit returns the largest size of a batch before compression.
func (s Producer) BatchLimit() int {
	if s.limit > 0 && s.Compression() == "none" {
		return min(s.limit, s.MaxRequestSize())
	}
	return s.MaxRequestSize()
}

// Linger returns the time that a batch waits for more records.
func (s Producer) Linger() time.Duration { return s.duration("linger.ms") }

// Compression returns "none", "gzip", "snappy", "lz4" or "zstd".
func (s Producer) Compression() string { return s.value("compression.type") }

// BufferMemory returns the largest size of waiting records. kt enforces it.
func (s Producer) BufferMemory() int64 { return s.int64("buffer.memory") }

// MaxBlock returns the longest time that a record waits for memory. kt enforces it.
func (s Producer) MaxBlock() time.Duration { return s.duration("max.block.ms") }

// DeliveryTimeout returns the time for a record to succeed.
func (s Producer) DeliveryTimeout() time.Duration { return s.duration("delivery.timeout.ms") }

// RequestTimeout returns the time for a broker to answer.
func (s Producer) RequestTimeout() time.Duration { return s.duration("request.timeout.ms") }

// ReachTimeout returns the time for a bootstrap server to answer: the given time to make a
// connection, 0 if none was given.
func (s settings) ReachTimeout() time.Duration {
	const name = "socket.connection.setup.timeout.ms"
	if source := s[name].Source; source == SourceDefault || source == SourceDerived {
		return 0
	}
	return s.duration(name)
}

func (s settings) value(name string) string { return s[name].Value }

func (s settings) bool(name string) bool { return s.value(name) == "true" }

// int64 ignores errors, because the row's check wrote the value.
func (s settings) int64(name string) int64 {
	n, _ := strconv.ParseInt(s.value(name), 10, 64)
	return n
}

// int reads a number that its row limits to 32 bits.
func (s settings) int(name string) int { return int(s.int64(name)) }

// duration reads milliseconds. Java files say 9223372036854775807 for "forever", so a time that
// is too long for a Duration becomes the longest one.
func (s settings) duration(name string) time.Duration {
	ms := s.int64(name)
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
