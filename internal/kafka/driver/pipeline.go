package driver

import (
	"math"

	"github.com/kt-bench/kt/internal/kafka/javaconf"
)

const (
	// pipelineSlack is how many times the records that fill every request in
	// flight are let out at an unlimited rate: one share is on its way, the next
	// is being batched.
	pipelineSlack = 2

	// minPipeline keeps a small pipeline from running dry while the sender is
	// not scheduled.
	minPipeline = 4096
)

// PipelineRecords is how many records of one producer need to be outstanding to
// keep its requests in flight full: for each partition, a batch in each of the
// requests, times pipelineSlack. More than that only waits longer. At an
// unlimited rate kt stops there, although buffer.memory may have room: 50,000
// records instead of 4,096 cost 40 % more CPU a record here, for they do not stay
// in the processor's cache, and brought no throughput.
func PipelineRecords(s javaconf.Producer, partitions int, meanBytes float64) int {
	perBatch := float64(s.BatchTarget()) / math.Max(1, meanBytes)
	n := pipelineSlack * float64(s.MaxInFlight()) * float64(partitions) * math.Max(1, perBatch)
	return int(math.Min(math.MaxInt32, math.Max(minPipeline, n)))
}
