package javaconf

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// hasNoTwin is the value of result.Setting.Client for a property without a counterpart in franz-go.
const hasNoTwin = "ignored"

// property is a row of properties.txt, which says what the columns are.
type property struct {
	name, preset string
	check        check
	client       string // the franz-go options it becomes; hasNoTwin; "": none
	note         string
}

const (
	roundRobin = "org.apache.kafka.clients.producer.RoundRobinPartitioner"

	assignorPackage = "org.apache.kafka.clients.consumer." // of the assignors that Kafka ships

	// Group protocols.
	classic = "classic"
	nextGen = "consumer"
	shared  = "share"

	// byDuration begins the value of auto.offset.reset that counts back from now.
	byDuration = "by_duration:"

	// securityApart is the error of a security property that came this far.
	securityApart = "security settings belong to the connections of a host, and are not sent to another one: leave it out"
)

//go:embed properties.txt
var propertiesFile string

// rows are the tables of the clients.
var rows = sync.OnceValue(func() map[string][]property {
	all := make(map[string][]property)
	for line := range strings.Lines(propertiesFile) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		field := strings.Split(line, "|")
		for i := range field {
			field[i] = strings.TrimSpace(field[i])
		}
		of := strings.Fields(strings.Replace(field[0], "both", "producer consumer", 1))
		for _, client := range of {
			all[client] = append(all[client], property{field[1], field[2], checkOf(field[3]), field[4], field[5]})
		}
	}
	return all
})

// checkOf returns the check that a row names.
func checkOf(text string) check {
	kind, rest, _ := strings.Cut(text, " ")
	lo, hi := int64(0), int64(math.MaxInt64)
	_, _ = fmt.Sscanf(rest, "%d..%d", &lo, &hi) // without a highest value it is any
	switch kind {
	case "-1": // or
		return orMinusOne(checkOf(strings.TrimPrefix(rest, "or ")))
	case "lower":
		return inLowerCase(checkOf(rest))
	case "one-of":
		return oneOf(strings.Fields(rest)...)
	case "only":
		value, reason, _ := strings.Cut(rest, ": ")
		return onlyValue(strings.TrimSpace(value), reason)
	case "text":
		return textOf(int(lo), int(hi))
	case "number":
		return wholeNumber("", lo, hi)
	case "millis":
		return wholeNumber(" of milliseconds", lo, hi)
	case "bytes":
		return wholeNumber(" of bytes", lo, hi)
	}
	return checks[kind]
}

// checks are those of single properties, and of any.
var checks = map[string]check{
	"any": anything, "bool": boolean,
	"acks":                  spelled(map[string]string{"0": "0", "1": "1", "all": "all", "-1": "all"}, "0, 1 or all"),
	"partitioner.class":     spelled(map[string]string{"": "", "default": "", roundRobin: roundRobin, "RoundRobinPartitioner": roundRobin}, "RoundRobinPartitioner, or empty for Kafka's built-in partitioner"),
	"share.acquire.mode":    spelled(map[string]string{"batch_optimized": "BATCH_OPTIMIZED", "BATCH_OPTIMIZED": "BATCH_OPTIMIZED", "record_limit": "RECORD_LIMIT", "RECORD_LIMIT": "RECORD_LIMIT"}, "batch_optimized or record_limit"),
	"group.remote.assignor": spelled(map[string]string{"": "", "uniform": "uniform", "range": "range"}, "uniform or range; franz-go knows no other assignor of brokers"),
	"auto.offset.reset":     checkOffsetReset, "partition.assignment.strategy": checkAssignors, "group.id": checkGroupID, "group.instance.id": checkInstanceID,
}

func has(client, name string) bool {
	return isSecurity(name) || slices.ContainsFunc(rows()[client], func(p property) bool { return p.name == name })
}
