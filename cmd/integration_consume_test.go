//go:build integration

package cmd

import (
	"slices"
	"strconv"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

func (k *kafkaCluster) isRead(t *testing.T) {
	const records = 21_000
	if r, code := k.start("--topic", "read", "--partitions", "7", "--num-records", strconv.Itoa(records)).wait(); !ended(r, code, exitOK) {
		t.Fatalf("produce: exit code %d", code)
	}
	end := k.endOffsets("read")
	for _, tc := range []struct {
		name string
		args []string
		want int64
	}{
		{"one group", nil, end},
		{"three consumers", []string{"--consumers", "3"}, end},
		{"the newer protocol", []string{"--consumers", "3", "--group-protocol", "consumer"}, end},
		{"no group", []string{"--no-group", "--consumers", "3"}, end},
		{"three groups", []string{"--groups", "3"}, 3 * end},
		{"a count", []string{"--num-records", "1234"}, 1234},
		{"a regular expression", []string{"--include", "re.d"}, end},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := append([]string{"--topic", "read"}, tc.args...)
			if slices.Contains(tc.args, "--include") {
				args = tc.args
			}
			r, code := k.in(t).kt("consume", args...).wait()
			if !ended(r, code, exitOK) || r.Records.Consumed != tc.want {
				t.Errorf("exit code %d, %d records; want 0, %d", code, r.Records.Consumed, tc.want)
			}
			var sum int64
			for _, p := range r.Partitions {
				sum += p.Consumed
			}
			must.Match(t, tc.want, sum, "partitions add up to")
		})
	}
}

// A member that leaves a group costs the others a rebalance, and they say so.
func (k *kafkaCluster) tellsOfARebalance(t *testing.T) {
	load := k.start("--topic", "shared", "--partitions", "7", "--rate", "2000", "--duration", "5m")
	k.await("the topic", func() bool {
		n, err := k.tryEndOffsets("shared")
		return err == nil && n > 0
	})
	stay := k.kt("consume", "--topic", "shared", "--group", "g", "--consumers", "2", "--duration", "11s")
	leave := k.kt("consume", "--topic", "shared", "--group", "g", "--duration", "6s")
	left, code := leave.wait()
	if !ended(left, code, exitOK) || left.Records.Consumed == 0 {
		t.Errorf("the member that leaves: exit code %d, %d records", code, left.Records.Consumed)
	}
	r, code := stay.wait()
	if !ended(r, code, exitOK) {
		t.Errorf("exit code %d", code)
	}
	if r.Rebalances == nil || r.Rebalances.Count == 0 || r.Rebalances.TotalMS <= 0 {
		t.Errorf("rebalances %+v, want at least one and its cost", r.Rebalances)
	}
	if !hasEvent(r, stats.Rebalance) {
		t.Errorf("no event tells of it: %+v", r.Events)
	}
	load.interrupt()
	load.wait()
}

func hasEvent(r result.Result, kind stats.EventKind) bool {
	return slices.ContainsFunc(r.Events, func(e result.Event) bool { return e.Kind == kind })
}
