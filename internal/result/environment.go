package result

import (
	"fmt"
	"slices"

	"github.com/kt-bench/kt/internal/host"
)

// Environment is the machine and the cluster of a run.
type Environment struct {
	Host    host.Facts  `json:"host"`
	Clock   *host.Clock `json:"clock,omitempty"` // nil: not known
	Cluster Cluster     `json:"cluster"`
	Topic   Topic       `json:"topic"`

	// Topics are all topics of a run with several. Topic is then the first of them, and the
	// numbers of partitions count on from one to the next.
	Topics []Topic `json:"topics,omitempty"`

	// ByTopic says that the rows of windows (stats.Window.Partitions) are of whole topics. Their keys are indexes of Topics.
	ByTopic bool `json:"rows_by_topic,omitempty"`

	// Quotas are rates in bytes a second that each broker grants the clients of a load: "producer_byte_rate", "consumer_byte_rate".
	// One that is missing is not set, or not known.
	Quotas map[string]float64 `json:"quotas_bytes_per_second,omitempty"`

	Share *ShareLimits `json:"share_group_limits,omitempty"` // nil: the run does not read in a share group
}

// ShareLimits are settings of a share group; 0: not known.
type ShareLimits struct {
	Deliveries int   `json:"deliveries"`               // of a record, before it is archived
	LockMillis int   `json:"record_lock_ms,omitempty"` // for which a record is locked after its delivery; 0: not known
	Locks      int64 `json:"record_locks_partition"`   // records of a partition from the first that is not settled to the last that was delivered
}

// addedTopic stands for the topics of partitions that were added during a run with several.
const addedTopic = "(added)"

// MaxPartitionRows is the largest number of partitions of several topics for which windows have a row each.
const MaxPartitionRows = 1000

// SetTopics sets the topics of a run, at least one, and whether its rows are of topics.
func (e *Environment) SetTopics(all []Topic) {
	e.Topic, e.Topics, e.ByTopic = all[0], nil, false
	if len(all) > 1 {
		e.Topics = all
		e.ByTopic = e.Partitions() > MaxPartitionRows
	}
}

// RowOf returns the function from the number of a partition to the key of its row in windows. nil: each partition has a row of
// its own.
func (e *Environment) RowOf() func(number int32) int32 {
	if !e.ByTopic {
		return nil
	}
	return e.topicOf()
}

// topicOf returns the function from the number of a partition to the index of its topic in AllTopics. Partitions that topics get
// during the run have the index after the last one. A number below 0 stays.
func (e *Environment) topicOf() func(number int32) int32 {
	var of []int32
	for i, t := range e.AllTopics() {
		of = append(of, slices.Repeat([]int32{int32(i)}, t.Partitions)...)
	}
	beyond := int32(len(e.AllTopics()))
	return func(number int32) int32 {
		switch {
		case number < 0:
			return number
		case int(number) < len(of):
			return of[number]
		}
		return beyond
	}
}

// rowTopic returns the function from the key of a row to the index of its topic, as topicOf.
func (e *Environment) rowTopic() func(key int32) int32 {
	if !e.ByTopic {
		return e.topicOf()
	}
	return func(key int32) int32 { return min(key, int32(len(e.Topics))) }
}

// topic returns the topic of an index, as topicOf returns it.
func (e *Environment) topic(i int32) *Topic {
	if all := e.AllTopics(); i >= 0 && int(i) < len(all) {
		return &all[i]
	}
	return &Topic{Name: addedTopic}
}

// RowName returns the name of a row of windows: "p3" of a single topic, "orders/3" of several, "orders" of a whole topic.
func (e *Environment) RowName(key int32) string {
	if e.ByTopic {
		return e.topic(key).Name
	}
	return e.PartitionName(key)
}

// PartitionName returns the name of a partition by its number: "p3" of a single topic, "orders/3" of several.
func (e *Environment) PartitionName(number int32) string {
	if t, n := e.Place(number); len(e.Topics) > 0 {
		return fmt.Sprintf("%s/%d", t.Name, n)
	}
	return fmt.Sprintf("p%d", number)
}

// Place returns the topic of a partition and its number there, for a number that counts on over the topics of a run.
func (e *Environment) Place(partition int32) (t *Topic, number int32) {
	if len(e.Topics) < 2 {
		return e.topic(0), partition
	}
	firsts := Firsts(e.Topics)
	i, _ := slices.BinarySearch(firsts[1:], partition+1)
	return e.topic(int32(i)), partition - firsts[i] // the event of partitions that were added names them in the order of these numbers
}

// maxTopicPartitions bounds the partitions of all topics of a run.
const maxTopicPartitions = 1_000_000

// Check refuses topics that no kt writes and that would take too much memory.
func (e *Environment) Check() error {
	n, all := 0, e.AllTopics()
	for i := range all {
		if of := all[i].Partitions; of < 0 || of > maxTopicPartitions {
			return fmt.Errorf("topic %.40q has %d partitions", all[i].Name, of)
		}
		n += all[i].Partitions
	}
	if n > maxTopicPartitions || len(all) > maxTopicPartitions {
		return fmt.Errorf("its %d topics have %d partitions", len(all), n)
	}
	return nil
}

// Where returns how a sentence names the run's topics: "topic orders", or "100 topics".
func (e *Environment) Where() string {
	if n := len(e.Topics); n > 1 {
		return fmt.Sprintf("%d topics", n)
	}
	return "topic " + e.Topic.Name
}

// Firsts returns the number of the first partition of each topic, and behind them how many partitions there are.
func Firsts(topics []Topic) []int32 {
	firsts := make([]int32, 1, len(topics)+1)
	for i := range topics {
		firsts = append(firsts, firsts[i]+int32(topics[i].Partitions))
	}
	return firsts
}

// Partitions returns how many partitions the run's topics have.
func (e *Environment) Partitions() int {
	n := 0
	for _, t := range e.AllTopics() {
		n += t.Partitions
	}
	return n
}

// AllTopics returns the topics of the run.
func (e *Environment) AllTopics() []Topic {
	if len(e.Topics) > 0 {
		return e.Topics
	}
	return []Topic{e.Topic}
}
