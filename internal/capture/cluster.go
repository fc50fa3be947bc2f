package capture

import "time"

// Cluster is what a look at a cluster found. Names are in it, and nothing that a record says.
type Cluster struct {
	System  string // kafka, rabbitmq or pulsar
	Version string // of the brokers; "": not known
	Brokers int
	At      time.Time     // of the look: the end of Last
	Last    time.Duration // the time that the rates are of
	Stage   time.Duration // of each of Topic.Rates; 0: there is one, the mean
	Topics  []Topic       // sorted by name
	Groups  []Group       // sorted by name
	Notes   []string      // what could not be seen of the cluster as a whole, as sentences
}

// Sure is how a value was learned.
type Sure string

// The ways. A comment of the workload's file gives each.
const (
	Measured  Sure = "measured"
	Estimated Sure = "estimated"
	Assumed   Sure = "assumed"
)

// Topic is one topic, queue or exchange.
type Topic struct {
	Name        string
	Partitions  int
	Replicas    int
	Configs     map[string]string // those that differ from the defaults
	Rates       []float64         // records/s of each stage, oldest first
	Bytes       float64           // bytes/s as they lie in the log, where the system tells them itself; 0: by the sample
	Sure        Sure              // of Rates
	Live        time.Duration     // Rates are of this time, while kt looked: its log has no times to go by; 0: they are of Cluster.Last
	Busiest     float64           // the share of the busiest partition in the records, 0 to 1; 0: not known
	Producers   int               // that are active; 0: not known
	Transaction time.Duration     // from the begin of a transaction to its commit, in the mean; 0: there are none, or it is not known
	Records     *Records          // of the sample; nil: nothing was read
	Notes       []string          // what could not be seen, or is unusual, as sentences without the topic's name
}

// Group is a consumer group, a share group, or a subscription.
type Group struct {
	Name     string
	Protocol string        // classic, consumer, share; "": the system has one kind
	Members  int           // 0: nobody reads now
	Topics   []string      // that it reads, sorted
	Rate     float64       // records/s that it commits, or gets, while kt looked
	Written  float64       // records/s that were written to its topics meanwhile
	Lag      int64         // records that wait
	Commit   time.Duration // between two commits of a partition; 0: not known
	Notes    []string
}

// Mean returns the records/s of the topic over all its stages.
func (t *Topic) Mean() (mean float64) {
	for _, r := range t.Rates {
		mean += r / float64(len(t.Rates))
	}
	return mean
}
