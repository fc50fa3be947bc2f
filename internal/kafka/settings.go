package kafka

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// Sources of the values that nobody gave.
const (
	SourceDefault = "default" // Kafka's, or kt's where Kafka has none
	SourceDerived = "derived" // follows from other properties, as in Java
)

// Settings are the producer properties in effect: every property Kafka's Java
// producer has, given or not. ParseProducer makes them.
type Settings struct {
	settings
	recordMax int // bytes of key, value and headers in the largest record
	fitted    int // bytes before compression of a batch that is full; 0: batch.size
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

// Acks is "0", "1" or "all".
func (s Settings) Acks() string { return s.value("acks") }

// Idempotent tells whether brokers drop duplicates.
func (s Settings) Idempotent() bool { return s.bool("enable.idempotence") }

// Retries tells whether a request that was not answered is sent again.
func (s Settings) Retries() bool { return s.int64("retries") > 0 }

// MaxInFlight is how many produce requests a broker may have unanswered.
func (s Settings) MaxInFlight() int { return s.int("max.in.flight.requests.per.connection") }

// TransactionalID is "" without transactions.
func (s Settings) TransactionalID() string { return s.value("transactional.id") }

// BatchSize is batch.size in bytes, as given; franz-go's limit may be another.
func (s Settings) BatchSize() int { return s.int("batch.size") }

// Linger is how long a batch waits for more records.
func (s Settings) Linger() time.Duration { return s.duration("linger.ms") }

// Compression is "none", "gzip", "snappy", "lz4" or "zstd".
func (s Settings) Compression() string { return s.value("compression.type") }

// BufferMemory is how many bytes of records may wait. kt enforces it.
func (s Settings) BufferMemory() int64 { return s.int64("buffer.memory") }

// MaxBlock is how long a record may wait for memory. kt enforces it.
func (s Settings) MaxBlock() time.Duration { return s.duration("max.block.ms") }

// DeliveryTimeout is how long a record may take to succeed.
func (s Settings) DeliveryTimeout() time.Duration { return s.duration("delivery.timeout.ms") }

// RequestTimeout is how long a broker may take to answer.
func (s Settings) RequestTimeout() time.Duration { return s.duration("request.timeout.ms") }

// ReachTimeout is how long a bootstrap server may take to answer: what was given for a
// connection, else the package's.
func (s settings) ReachTimeout() time.Duration {
	const name = "socket.connection.setup.timeout.ms"
	if source := s[name].Source; source == SourceDefault || source == SourceDerived {
		return ReachTimeout
	}
	return s.duration(name)
}

func (s settings) value(name string) string { return s[name].Value }

func (s settings) bool(name string) bool { return s.value(name) == "true" }

// int64 trusts the value: its row's check wrote it.
func (s settings) int64(name string) int64 {
	n, _ := strconv.ParseInt(s.value(name), 10, 64)
	return n
}

// int suits properties whose rows allow no more than a 32-bit number.
func (s settings) int(name string) int { return int(s.int64(name)) }

// duration reads milliseconds. Java files say 9223372036854775807 for "forever",
// so what a Duration cannot hold becomes the longest it can.
func (s settings) duration(name string) time.Duration {
	ms := s.int64(name)
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}
