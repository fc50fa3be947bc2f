package javaconf

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// byteArrayOut is the one deserializer kt has: it leaves keys and values as
	// they are.
	byteArrayOut = "org.apache.kafka.common.serialization.ByteArrayDeserializer"

	// readLimit is franz-go's limit for an answer of a broker. One that is larger
	// than fetch.max.bytes does not surprise: a batch is never cut.
	readLimit = 100 << 20

	// responseRoom is room for what surrounds the batches in an answer: a few
	// dozen bytes for each partition.
	responseRoom = 1 << 20

	notInShareGroups = "belongs to share groups, which kt does not read in"
)

// consumerProperties returns the consumer's whole table, in no particular order.
func consumerProperties() []property[Consumer] {
	return append(clientProperties(), groupProperties()...)
}

// clientProperties returns the consumer's rows that hold whether it reads in a group or
// not.
func clientProperties() []property[Consumer] {
	return slices.Concat(fetchProperties(), consumerRequestProperties(), consumerConnectionProperties(),
		connectionProperties[Consumer](), consumerOtherProperties(), otherProperties[Consumer]())
}

// fetchProperties returns the rows of the records to read and their amount in a fetch.
func fetchProperties() []property[Consumer] {
	return []property[Consumer]{
		{
			// Most bytes a broker puts into one answer; a single larger batch still comes whole.
			name: "fetch.max.bytes", preset: "2097152", check: byteCount(gib), // franz-go's limit
			note:   "Kafka's default is 52428800; kt reads as fast with less, which fits the processor's cache and bounds kt's memory.",
			client: "FetchMaxBytes, BrokerMaxReadBytes", apply: applyFetchMax,
		}, {
			// Most bytes of one partition in an answer; a single larger batch still comes whole.
			name: "max.partition.fetch.bytes", preset: "1048576", check: byteCount(gib),
			note:   "franz-go asks for no more than fetch.max.bytes.",
			client: "FetchMaxPartitionBytes",
			apply: func(s Consumer) []kgo.Opt {
				return []kgo.Opt{kgo.FetchMaxPartitionBytes(int32(s.MaxPartitionFetchBytes()))}
			},
		}, {
			// Bytes a broker waits for before it answers.
			name: "fetch.min.bytes", preset: "1", check: byteCount(math.MaxInt32),
			client: "FetchMinBytes",
			apply:  func(s Consumer) []kgo.Opt { return []kgo.Opt{kgo.FetchMinBytes(int32(s.FetchMinBytes()))} },
		}, {
			// Longest time a broker waits for fetch.min.bytes.
			name: "fetch.max.wait.ms", preset: "500", check: millis(10, math.MaxInt32), // franz-go accepts no less than 10 ms
			client: "FetchMaxWait",
			apply:  func(s Consumer) []kgo.Opt { return []kgo.Opt{kgo.FetchMaxWait(s.FetchMaxWait())} },
		}, {
			// Most records the client hands over at a time; 0, which Java does not have, is no limit.
			name: "max.poll.records", preset: "0", check: number(0, math.MaxInt32),
			note:   "Kafka's default is 500; kt takes all records of a fetch, because it does no work between two polls.",
			client: actsItself,
		}, {
			// Whether records of open and aborted transactions are read too.
			name: "isolation.level", preset: "read_uncommitted", check: oneOf("read_uncommitted", "read_committed"),
			client: "FetchIsolationLevel", apply: applyIsolation,
		}, {
			// Whether the checksum of each batch is verified.
			name: "check.crcs", preset: "false", check: boolean,
			note:   "Kafka's default is true; kt leaves it off as Kafka's own consumer test does.",
			client: "DisableFetchCRCValidation", apply: applyChecksums,
		}, {
			// Where to read a partition without a valid offset from: earliest, latest, none or by_duration:P1D, a day back.
			name: "auto.offset.reset", preset: "earliest", check: checkOffsetReset,
			note:   "Kafka's default is latest; kt begins with the first record, as Kafka's own consumer test does.",
			client: actsItself,
		},
	}
}

// consumerRequestProperties returns the rows that decide how long the consumer waits
// for an answer and when it asks again.
func consumerRequestProperties() []property[Consumer] {
	return []property[Consumer]{
		{
			// Time the broker has to answer a request.
			name: "request.timeout.ms", preset: "30000", check: millis(100, 900_000), // franz-go's limits
			note:   "franz-go waits fetch.max.wait.ms longer for a fetch.",
			client: "RequestTimeoutOverhead",
			apply: func(s Consumer) []kgo.Opt {
				return []kgo.Opt{kgo.RequestTimeoutOverhead(s.duration("request.timeout.ms"))}
			},
		}, {
			// Time a call such as a commit may take with all its retries.
			name: "default.api.timeout.ms", preset: "60000", check: millis(0, math.MaxInt32),
			note:   "franz-go repeats a fetch for ever, and any other request for 30 s and 20 times at most.",
			client: hasNoTwin,
		}, {
			// Pause before a request is sent again; it doubles with each failure in a row.
			name: "retry.backoff.ms", preset: "100", check: millis(0, math.MaxInt32),
			note:   "kt also lets franz-go refresh its metadata this soon.",
			client: "RetryBackoffFn, MetadataMinAge", apply: applyBackoff[Consumer],
		},
	}
}

// consumerConnectionProperties returns the rows about connections that the consumer has
// for itself.
func consumerConnectionProperties() []property[Consumer] {
	id := clientID[Consumer]("perf-consumer-client")
	id.note = "Kafka's own consumer test calls itself the same."
	buffer := receiveBuffer[Consumer]("2097152")
	buffer.note = "Kafka's default is 65536; kt takes as much as Kafka's own consumer test."
	return []property[Consumer]{id, buffer}
}

// consumerOtherProperties returns the rows of otherProperties that the consumer has for
// itself.
func consumerOtherProperties() []property[Consumer] {
	return []property[Consumer]{
		{
			// Whether asking for a topic may create it.
			name: "allow.auto.create.topics", preset: "false", check: boolean,
			note: "Kafka's default is true; kt creates no topic by reading it.", client: hasNoTwin,
		}, {
			// Whether internal topics are left out when a pattern chooses topics.
			name: "exclude.internal.topics", preset: "true", check: boolean,
			note: "kt reads topics by their names.", client: hasNoTwin,
		}, {
			// Class that makes keys out of bytes.
			name: "key.deserializer", preset: byteArrayOut, check: anything,
			note: "kt leaves keys as bytes.", client: hasNoTwin,
		}, {
			// Class that makes values out of bytes.
			name: "value.deserializer", preset: byteArrayOut, check: anything,
			note: "kt leaves values as bytes.", client: hasNoTwin,
		}, {
			// The commits of offsets, by the client or by its user.
			name: "share.acknowledgement.mode", preset: "implicit", check: onlyValue("implicit", notInShareGroups),
			client: actsItself,
		}, {
			// Whether a broker hands over whole batches or no more than the records asked for.
			name: "share.acquire.mode", preset: "BATCH_OPTIMIZED", check: onlyValue("BATCH_OPTIMIZED", notInShareGroups),
			client: actsItself,
		},
	}
}

// applyFetchMax also raises franz-go's limit for an answer, which it refuses to
// have below the most that is asked for.
func applyFetchMax(s Consumer) []kgo.Opt {
	most := s.FetchMaxBytes()
	return []kgo.Opt{
		kgo.FetchMaxBytes(int32(most)),
		kgo.BrokerMaxReadBytes(int32(max(readLimit, min(most+responseRoom, gib)))),
	}
}

func applyIsolation(s Consumer) []kgo.Opt {
	if s.ReadCommitted() {
		return []kgo.Opt{kgo.FetchIsolationLevel(kgo.ReadCommitted())}
	}
	return []kgo.Opt{kgo.FetchIsolationLevel(kgo.ReadUncommitted())}
}

func applyChecksums(s Consumer) []kgo.Opt {
	if s.bool("check.crcs") {
		return nil
	}
	return []kgo.Opt{kgo.DisableFetchCRCValidation()}
}

// byDuration begins the value of auto.offset.reset that counts back from now.
const byDuration = "by_duration:"

func checkOffsetReset(value string) (string, error) {
	v := strings.TrimSpace(value)
	if slices.Contains([]string{"earliest", "latest", "none"}, v) {
		return v, nil
	}
	if back, ok := strings.CutPrefix(v, byDuration); ok {
		if _, err := parseISODuration(back); err == nil {
			return v, nil
		}
	}
	return "", errors.New("must be earliest, latest, none or by_duration:PnDTnHnMn.nS, as in by_duration:PT1H30M")
}

var isoDuration = regexp.MustCompile(`^P(?:(\d+)D)?(T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{0,9})?)S)?)?$`)

// parseISODuration reads a duration as Java writes it, P1DT2H3M4.5S, without a
// sign and in either case.
func parseISODuration(text string) (time.Duration, error) {
	text = strings.ToUpper(text)
	part := isoDuration.FindStringSubmatch(text)
	if part == nil || text == "P" || part[2] == "T" {
		return 0, fmt.Errorf("%q is no duration", text)
	}
	asGo := "0s"
	if part[1] != "" {
		days, err := strconv.ParseInt(part[1], 10, 32)
		if err != nil {
			return 0, err
		}
		asGo += strconv.FormatInt(24*days, 10) + "h"
	}
	asGo += strings.ToLower(strings.TrimPrefix(part[2], "T"))
	return time.ParseDuration(asGo)
}
