package driver

import (
	"math"

	"github.com/kt-bench/kt/internal/kafka/javaconf"
)

const (
	// pipelineSlack is the number of times that the records in all requests in flight
	// may be outstanding at an unlimited rate: once on their way, and once being batched.
	pipelineSlack = 2

	// minPipeline keeps a small pipeline from running dry while the sender is not
	// scheduled.
	minPipeline = 4096
)

// PipelineRecords returns the number of outstanding records that keeps one producer's requests
// in flight full: for each partition a batch in each request, times pipelineSlack. More records
// would only wait longer. At an unlimited rate this is the limit, even with room in
// buffer.memory: 50,000 records instead of 4,096 cost 40 % more CPU a record, because they do
// not stay in the processor's cache, and brought no throughput.
func PipelineRecords(s javaconf.Producer, partitions int, meanBytes float64) int {
	perBatch := float64(s.BatchTarget()) / math.Max(1, meanBytes)
	n := pipelineSlack * float64(s.MaxInFlight()) * float64(partitions) * math.Max(1, perBatch)
	return int(math.Min(math.MaxInt32, math.Max(minPipeline, n)))
}
