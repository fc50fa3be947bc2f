package result

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/theme"
)

// Schema is the version of the result document and of the run file. It changes
// when a field changes its meaning or goes away, not when one is added.
const Schema = 2

// CheckSchema returns an error that names both versions, unless this kt reads n.
func CheckSchema(n int) error {
	if n == Schema {
		return nil
	}
	age := map[bool]string{true: "newer", false: "older"}[n > Schema]
	return fmt.Errorf("its schema is %d, and this kt reads %d: read it with the %s kt that wrote it", n, Schema, age)
}

// Header is the part of a result that is known before the first record.
type Header struct {
	Schema    int       `json:"schema"`
	RunID     string    `json:"run_id"`
	KTVersion string    `json:"kt_version"`
	StartedAt time.Time `json:"started_at"`
	Args      []string  `json:"command_line"`
	Embedded  bool      `json:"embedded_broker"`

	Tags []string `json:"tags,omitempty"` // of the run, by which a person finds it again: --tag

	Plan           plan.Plan   `json:"plan"`
	Config         []Setting   `json:"effective_config" of:"writing"` // of the producers
	ConsumerConfig []Setting   `json:"consumer_config,omitempty"`     // of the consumers
	Environment    Environment `json:"environment"`

	Ceiling *Ceiling `json:"ceiling,omitempty"` // of loads of this shape from this host, as kt calibrate saved it; nil: not known

	Part *Part `json:"part,omitempty"` // nil: the run is no part of a bigger one

	Limits []string `json:"limits,omitempty"` // what the run has to keep: expressions of --limit
}

// Ceiling is how much load a host can offer, whatever the brokers.
type Ceiling struct {
	RecordsPerSecond     float64 `json:"records_per_second"`
	MiBPerSecond         float64 `json:"mib_per_second"`
	CPUSecondsPerMillion float64 `json:"cpu_seconds_per_million_records"` // of kt, user and system
}

// The notices of results whose figures are not those of an application on Kafka.
const (
	EmbeddedNotice = "embedded broker: these figures are kt's, not Kafka's"
	WireNotice     = "wire engine: measures the brokers, not an application's client"
)

// Notices returns the sentences that a reader needs before any figure.
func (h *Header) Notices() (say []string) {
	if h.Embedded {
		say = append(say, EmbeddedNotice)
	}
	if h.Plan.Engine == plan.Wire {
		say = append(say, WireNotice)
	}
	return say
}

// Subject returns the topics of a run in a few words: the expression that names them, if it has room in a line.
func (h *Header) Subject() string {
	const longest = 80 // bytes
	expression, n := cmp.Or(h.Plan.Topic.Name, h.Plan.Read.Include), len(h.Environment.Topics)
	switch several := h.Plan.Topic.Several() || h.Plan.Read.Include != ""; {
	case n > 1 && (!several || len(expression) > longest):
		return fmt.Sprintf("%s and %d more", h.Environment.Topic.Name, n-1)
	case len(expression) > longest: // nothing is known of the topics yet
		return h.Plan.Topic.Short()
	}
	return cmp.Or(expression, h.Environment.Topic.Name)
}

// Setting is one property of a client, in effect.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"` // as Java writes it
	Default string `json:"default"`
	Source  string `json:"source"`         // "default", "derived" from other properties, or the flag, file or variable that set it
	Client  string `json:"client"`         // its franz-go options, "" if kt itself applies it, "ignored" if nothing does
	Note    string `json:"note,omitempty"` // a difference between franz-go and Java, or the reason for another value than the given one
}

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

// Cluster is the cluster under test.
type Cluster struct {
	ID         string   `json:"cluster_id"`
	Version    string   `json:"broker_version"` // guessed from the API versions that the brokers offer
	Controller int32    `json:"controller_id"`
	Brokers    []Broker `json:"brokers"`
}

// maxBrokers is how many brokers a cluster may have: more than any has, and few enough that kt can look at each.
const maxBrokers = 1000

// CheckBrokers returns an error for a cluster of more brokers than kt can look at.
func CheckBrokers(n int) error {
	if n > maxBrokers {
		return fmt.Errorf("the cluster names %d brokers, and kt takes %d at most: check what answers at that address", n, maxBrokers)
	}
	return nil
}

// Broker is one broker of the cluster.
type Broker struct {
	ID   int32  `json:"id"`
	Addr string `json:"address"`
	Rack string `json:"rack,omitempty"`
}

// BrokerSetting is a dynamic setting of one broker.
type BrokerSetting struct {
	Broker int32   `json:"broker"`
	Name   string  `json:"name"`
	Value  *string `json:"value"` // nil: none, so its file or the cluster's default decides
}

// Is reports whether two settings are the same.
func (s BrokerSetting) Is(o BrokerSetting) bool {
	return reflect.DeepEqual(s, o)
}

// LogDir is a log directory of a broker. Brokers before Kafka 3.3 do not say how large its disk is: the numbers are below 0 then.
type LogDir struct {
	Broker int32  `json:"broker"`
	Host   string `json:"host"` // of the broker
	Path   string `json:"path"`
	Total  int64  `json:"total_bytes"` // of its disk
	Usable int64  `json:"usable_bytes"`
}

// Topic is the topic under test.
type Topic struct {
	Name              string             `json:"name"`
	ID                string             `json:"id,omitempty"` // Kafka's, which another topic of the same name does not share
	Partitions        int                `json:"partitions"`
	ReplicationFactor int                `json:"replication_factor"` // 0: not known
	Leaders           map[int32]int32    `json:"leaders"`            // partition → broker, at the start
	Replicas          map[int32]Replicas `json:"replicas,omitempty"` // by broker, at the start
	Created           bool               `json:"created"`            // by this run
	Configs           map[string]string  `json:"configs,omitempty"`
}

// Fits returns a *MisfitError of a topic that is there, unless it is as a plan asks for it.
func (t *Topic) Fits(want plan.Topic) error {
	var errs []error
	if want.Partitions > 0 && int(want.Partitions) != t.Partitions {
		errs = append(errs, Misfit("topic %s exists with %s, not --partitions %d; leave the flag out to use it as it is, or name another --topic",
			t.Name, theme.Plural(t.Partitions, "partition", "partitions"), want.Partitions).About("partitions"))
	}
	if n := int(want.ReplicationFactor); n > 0 && n != t.ReplicationFactor {
		errs = append(errs, Misfit("topic %s exists with replication factor %d, not --replication-factor %d; leave the flag out to use it as it is, or name another --topic",
			t.Name, t.ReplicationFactor, n).About("replication-factor"))
	}
	if len(want.Configs) > 0 {
		errs = append(errs, Misfit("topic %s exists, and kt changes no topic that it did not create; leave --topic-config out, or name another --topic", t.Name).About("topic-config"))
	}
	return errors.Join(errs...)
}

// Replicas counts the replicas of a topic that one broker has.
type Replicas struct {
	All    int `json:"all"`
	InSync int `json:"in_sync"`
}

// How a run ended.
const (
	Completed   = "completed"
	Interrupted = "interrupted" // by a person or a signal; the figures until then are right
	CutOff      = "cut off"     // the run file has no end: kt was killed
	Aborted     = "aborted"     // by kt itself, because a condition of --abort-on came true
	DiskFull    = "disk full"   // a log directory of a broker was as full as the load may make it, or for a minute
)

// Trailer is the part of a result that is known only at the end.
type Trailer struct {
	Ended          string  `json:"ended"`
	ElapsedSeconds float64 `json:"elapsed_seconds"`              // from the first record until the last outcome
	SendingSeconds float64 `json:"sending_seconds" of:"writing"` // until the last record was handed over
	DrainTimedOut  bool    `json:"drain_timed_out" of:"writing"` // records without an outcome were given up

	AbortedBy string `json:"aborted_by,omitempty"` // of Aborted: the expression, and what it was then

	ReadEnd   string          `json:"read_end,omitempty"`   // why reading ended: one of the Read… below
	ReadError string          `json:"read_error,omitempty"` // of ReadFailed
	Verify    *ledger.Verdict `json:"verify,omitempty"`     // nil: records were not verified

	LogEnds *LogEnds `json:"log_ends,omitempty"` // of the topic that was written to; nil: not known

	Tune []TuneCheck `json:"tune,omitempty"` // of this host; of a merged run one for each host; nil: none was made
}

// LogEnds are the sums of the log ends of a topic before a load and after it. They grow by the records of all
// producers, of others too, and by markers of transactions.
type LogEnds struct {
	Before int64 `json:"before_records"`
	After  int64 `json:"after_records"`
}

// Sent is the word for records that are counted as acknowledged with acks=0: no broker says that it took one.
const Sent = "sent"

// Outcome returns the word for records that are counted as acknowledged.
func (h *Header) Outcome() string {
	if slices.ContainsFunc(h.Config, func(s Setting) bool { return s.Name == "acks" && s.Value == "0" }) {
		return Sent
	}
	return "acknowledged"
}

// Why reading ended.
const (
	ReadCount    = "count"    // as many records as wanted
	ReadAll      = "end"      // everything up to where it was to end
	ReadDuration = "duration" // the time was over
	ReadIdle     = "timeout"  // no record came for too long
	ReadStopped  = "stopped"  // by a person or a signal
	ReadFailed   = "failed"   // it could not go on
)

// TuneCheck is what kt tune said of a host at the time of a run, in the role of a client.
type TuneCheck struct {
	Host     string        `json:"host"`
	Profile  string        `json:"profile"` // of the wanted values
	Checks   int           `json:"checks"`  // that were made and apply to the host
	Findings []TuneFinding `json:"findings"`
}

// TuneFinding is one check that did not pass. Checks of what could not be read are not among them.
type TuneFinding struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Verdict string `json:"verdict"` // TuneFail, TuneWarn or TuneInfo
	Current string `json:"current"`
	Wanted  string `json:"wanted"`
	Why     string `json:"why"`
	Note    string `json:"note,omitempty"`
}

// The verdicts of findings, as kt tune has them.
const (
	TuneFail = "fail"
	TuneWarn = "warn"
	TuneInfo = "info" // not as wanted, or worth knowing; nothing depends on it
)

// Count returns how many findings have a verdict.
func (c *TuneCheck) Count(verdict string) int {
	return len(slices.DeleteFunc(slices.Clone(c.Findings), func(f TuneFinding) bool { return f.Verdict != verdict }))
}
