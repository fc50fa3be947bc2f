package javaconf

import (
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// securityApart is the error of a security property that came this far.
const securityApart = "security settings belong to the connections of a host, and are not sent to another one: leave it out"

// deliveryProperties returns the rows that decide when a record counts as
// delivered, when it is tried again and when it is given up.
func deliveryProperties() []property[Producer] {
	return []property[Producer]{
		{
			// Replicas that must have a record before the broker acknowledges it.
			name: "acks", preset: "all", check: checkAcks,
			client: "RequiredAcks", apply: applyAcks,
		}, {
			// Whether the broker drops the duplicates that retries would leave.
			name: "enable.idempotence", preset: "true", check: boolean,
			client: "DisableIdempotentWrite", apply: applyIdempotence,
		}, {
			// Produce requests a broker may have unanswered at a time.
			name: "max.in.flight.requests.per.connection", preset: "5", check: number(1, math.MaxInt32),
			note:   "franz-go fixes it at 5 while idempotence is on, so kt refuses 1 to 4 then.",
			client: "MaxProduceRequestsInflightPerBroker", apply: applyInFlight,
		}, {
			// Times a failed record is sent again.
			name: "retries", preset: "2147483647", check: number(0, math.MaxInt32),
			client: "RecordRetries", apply: applyRetries,
		}, {
			// Time from handing a record over to its success or failure.
			name: "delivery.timeout.ms", preset: "120000", check: millis(1000, math.MaxInt32), // franz-go accepts no less than a second
			note:   "franz-go looks at the clock only before a request and after an answer, and starts it at the record's timestamp.",
			client: "RecordDeliveryTimeout", apply: applyDelivery,
		}, {
			// Time the broker has to answer a request.
			name: "request.timeout.ms", preset: "30000", check: millis(100, math.MaxInt32), // franz-go accepts no less than 100 ms
			note:   "franz-go waits for a produce answer up to 10 s longer, and gives writes and other requests 10 s at most.",
			client: "ProduceRequestTimeout, RequestTimeoutOverhead", apply: applyRequestTimeout,
		}, {
			// Time a send may wait for metadata or buffer memory.
			name: "max.block.ms", preset: "60000", check: millis(0, math.MaxInt64),
			client: actsItself,
		}, {
			// Pause before the first retry; it doubles with each failure in a row.
			name: "retry.backoff.ms", preset: "100", check: millis(0, math.MaxInt32),
			note:   "franz-go pauses the whole broker where Java pauses the batch; kt also lets it refresh metadata this soon.",
			client: "RetryBackoffFn, MetadataMinAge", apply: applyBackoff[Producer],
		}, {
			// Name under which records are produced in transactions.
			name: "transactional.id", preset: "", check: textOf(1, 16382), // franz-go's limit, a length prefix on the wire
			client: "TransactionalID", apply: applyTransactions,
		}, {
			// Time a transaction may stay open before the broker aborts it.
			name: "transaction.timeout.ms", preset: "60000", check: millis(1, math.MaxInt32),
			client: "TransactionTimeout",
		}, {
			// Whether an outside coordinator commits the transactions.
			name: "transaction.two.phase.commit.enable", preset: "false",
			check:  onlyValue("false", "must be false; franz-go has no two-phase commit"),
			client: actsItself,
		},
	}
}

func applyAcks(s Producer) []kgo.Opt {
	acks := kgo.AllISRAcks()
	switch s.Acks() {
	case "0":
		acks = kgo.NoAck()
	case "1":
		acks = kgo.LeaderAck()
	}
	return []kgo.Opt{kgo.RequiredAcks(acks)}
}

func applyIdempotence(s Producer) []kgo.Opt {
	if s.Idempotent() {
		return nil
	}
	return []kgo.Opt{kgo.DisableIdempotentWrite()}
}

// applyInFlight sets the limit only when idempotence is off: franz-go then
// falls to 1 by itself, and with idempotence on it refuses the option.
func applyInFlight(s Producer) []kgo.Opt {
	if s.Idempotent() {
		return nil
	}
	return []kgo.Opt{kgo.MaxProduceRequestsInflightPerBroker(s.MaxInFlight())}
}

// applyRetries also lifts franz-go's separate limit of 4 answers of "unknown
// topic": brokers give that answer while leadership moves, and Java counts it
// like any other failure.
func applyRetries(s Producer) []kgo.Opt {
	return []kgo.Opt{kgo.RecordRetries(s.int("retries")), kgo.UnknownTopicRetries(-1)}
}

// applyDelivery makes the timeout hold for records in flight too, as in Java.
// Left alone, franz-go waits for the fate of an idempotent record however long
// it takes. Under a transactional id franz-go refuses to do otherwise.
func applyDelivery(s Producer) []kgo.Opt {
	opts := []kgo.Opt{kgo.RecordDeliveryTimeout(s.DeliveryTimeout())}
	if s.Idempotent() && s.TransactionalID() == "" {
		opts = append(opts, kgo.AllowIdempotentProduceCancellation())
	}
	return opts
}

// applyRequestTimeout splits Java's one timeout over franz-go's two. The broker
// is told the full time, as Java tells it: a shorter one would fail acks=all
// writes that a slow replica merely delays. What comes on top covers the
// network, and is also franz-go's limit for writes and for other requests.
func applyRequestTimeout(s Producer) []kgo.Opt {
	timeout := s.RequestTimeout()
	return []kgo.Opt{
		kgo.ProduceRequestTimeout(timeout),
		kgo.RequestTimeoutOverhead(min(timeout, 10*time.Second)), // franz-go's default
	}
}

// applyBackoff also sets how soon franz-go may refresh its metadata again,
// which Java ties to the same property. With franz-go's own 5 s every failover
// would look that long.
func applyBackoff[S reader](s S) []kgo.Opt {
	initial := s.duration("retry.backoff.ms")
	minAge := max(initial, 10*time.Millisecond) // franz-go accepts no less
	return []kgo.Opt{
		kgo.RetryBackoffFn(retryBackoff(initial, s.duration("retry.backoff.max.ms"))),
		kgo.MetadataMinAge(min(minAge, s.duration("metadata.max.age.ms"))), // nor more than the greatest age
	}
}

func applyTransactions(s Producer) []kgo.Opt {
	if s.TransactionalID() == "" {
		return nil
	}
	return []kgo.Opt{
		kgo.TransactionalID(s.TransactionalID()),
		kgo.TransactionTimeout(s.duration("transaction.timeout.ms")),
	}
}
