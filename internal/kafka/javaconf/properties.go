package javaconf

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Values of result.Setting.Client for properties without a franz-go option.
const (
	actsItself = ""        // kt does the work, or refuses every value but the default
	hasNoTwin  = "ignored" // franz-go has no counterpart; a given value is a warning
)

// property is one row of a table that maps the properties of a Java client to
// franz-go: one table for the producer, one for the consumer, and rows that both
// have. The table is the only place that knows a property: adding one is adding a
// row. Ranges are Java's, narrowed to what franz-go accepts.
type property[S reader] struct {
	name   string
	preset string // the default of Kafka's Java client 4.x, as Java writes it, or kt's with a note
	check  check
	note   string // where franz-go's meaning differs, "" when it does not
	client string // the franz-go option it becomes, or actsItself, or hasNoTwin

	// apply returns the options for these settings. If several properties share one
	// option, only one of their rows has apply.
	apply func(S) []kgo.Opt
}

// reader is what the rows that producer and consumer share may ask settings of
// either kind.
type reader interface {
	value(name string) string
	bool(name string) bool
	int(name string) int
	duration(name string) time.Duration
}

// check returns the canonical form of a value, or the form that it must have.
type check func(value string) (string, error)

// properties returns the producer's whole table, in no particular order.
func properties() []property[Producer] {
	return slices.Concat(deliveryProperties(), batchProperties(), producerConnectionProperties(),
		connectionProperties[Producer](), partitionProperties(),
		producerOtherProperties(), otherProperties[Producer]())
}

// names returns the names in a table, sorted.
func names[S reader](table []property[S]) []string {
	var all []string
	for _, p := range table {
		all = append(all, p.name)
	}
	slices.Sort(all)
	return all
}

// wholeNumber accepts whole numbers from lo to hi; unit is the unit of the number.
func wholeNumber(unit string, lo, hi int64) check {
	of := ""
	if unit != "" {
		of = " of " + unit
	}
	return func(value string) (string, error) {
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		switch {
		case err == nil && n >= lo && n <= hi:
			return strconv.FormatInt(n, 10), nil
		case hi == math.MaxInt64:
			return "", fmt.Errorf("must be a whole number%s, at least %d", of, lo)
		default:
			return "", fmt.Errorf("must be a whole number%s from %d to %d", of, lo, hi)
		}
	}
}

func number(lo, hi int64) check { return wholeNumber("", lo, hi) }
func millis(lo, hi int64) check { return wholeNumber("milliseconds", lo, hi) }
func byteCount(hi int64) check  { return wholeNumber("bytes", 0, hi) }

// orMinusOne also accepts -1, with which Kafka leaves a value to the other side.
func orMinusOne(inner check) check {
	return func(value string) (string, error) {
		if strings.TrimSpace(value) == "-1" {
			return "-1", nil
		}
		canonical, err := inner(value)
		if err != nil {
			return "", fmt.Errorf("%w, or -1", err)
		}
		return canonical, nil
	}
}

func boolean(value string) (string, error) {
	switch v := strings.ToLower(strings.TrimSpace(value)); v {
	case "true", "false":
		return v, nil
	}
	return "", errors.New("must be true or false")
}

// oneOf accepts exactly the listed words.
func oneOf(words ...string) check {
	last := len(words) - 1
	list := strings.Join(words[:last], ", ") + " or " + words[last]
	return func(value string) (string, error) {
		if v := strings.TrimSpace(value); slices.Contains(words, v) {
			return v, nil
		}
		return "", errors.New("must be " + list)
	}
}

// inLowerCase is for the few words that Java takes in any case.
func inLowerCase(inner check) check {
	return func(value string) (string, error) { return inner(strings.ToLower(value)) }
}

// textOf accepts any string of lo to hi bytes, untouched.
func textOf(lo, hi int) check {
	return func(value string) (string, error) {
		switch {
		case len(value) < lo:
			return "", errors.New("must not be empty")
		case len(value) > hi:
			return "", fmt.Errorf("must be at most %d bytes long", hi)
		}
		return value, nil
	}
}

// onlyValue accepts a single value, and gives a reason for refusing others.
func onlyValue(value, reason string) check {
	return func(given string) (string, error) {
		if strings.EqualFold(strings.TrimSpace(given), value) {
			return value, nil
		}
		return "", errors.New(reason)
	}
}

// checkAcks accepts Java's four spellings and settles on three.
func checkAcks(value string) (string, error) {
	switch v := strings.TrimSpace(value); v {
	case "0", "1", "all":
		return v, nil
	case "-1":
		return "all", nil
	}
	return "", errors.New("must be 0, 1 or all")
}

const roundRobin = "org.apache.kafka.clients.producer.RoundRobinPartitioner"

// checkPartitioner accepts the partitioners Kafka 4 ships, by full or short name.
func checkPartitioner(value string) (string, error) {
	switch v := strings.TrimSpace(value); v {
	case "", "default":
		return "", nil
	case roundRobin, "RoundRobinPartitioner":
		return roundRobin, nil
	}
	return "", errors.New("must be RoundRobinPartitioner, or empty for Kafka's built-in partitioner")
}
