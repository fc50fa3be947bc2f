package kafka

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// What Setting.Client says of a property that no franz-go option expresses.
const (
	actsItself = ""        // kt does the work, or refuses every value but the default
	hasNoTwin  = "ignored" // franz-go has nothing like it; giving it earns a warning
)

// property is one row of the table that maps Java producer properties to
// franz-go. The table is the only place that knows a property: adding one is
// adding a row. Ranges are Java's, narrowed to what franz-go accepts.
type property struct {
	name   string
	preset string // the default of Kafka's Java producer 4.x, as Java writes it
	check  check
	doc    string // what it sets
	note   string // where franz-go's meaning differs, "" when it does not
	client string // the franz-go option it becomes, or actsItself, or hasNoTwin

	// apply returns the options for these settings. When several properties
	// share one option, only one of their rows has apply.
	apply func(Settings) []kgo.Opt
}

// check returns the canonical form of a value, or what the value must be.
type check func(value string) (string, error)

// properties returns the whole table, in no particular order.
func properties() []property {
	return slices.Concat(deliveryProperties(), batchProperties(), connectionProperties(),
		partitionProperties(), otherProperties())
}

func propertyNames() []string {
	var names []string
	for _, p := range properties() {
		names = append(names, p.name)
	}
	slices.Sort(names)
	return names
}

// wholeNumber accepts whole numbers from lo to hi; unit names what they count.
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

// orMinusOne also accepts -1, Kafka's usual word for "leave it to the other side".
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

// onlyValue accepts a single value and says why it takes no other.
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
