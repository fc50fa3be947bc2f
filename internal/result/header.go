package result

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

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

	Limits   []string `json:"limits,omitempty"`          // what the run has to keep: expressions of --limit
	Accepted []string `json:"accepted_doubts,omitempty"` // the ids of doubts that are not raised: --accept
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

// Subject returns the topics of a run in a few words: the expression that names them, if it has room in a line. Of a workload it is the name.
func (h *Header) Subject() string {
	if h.Plan.Command == plan.Workload && h.Part != nil {
		return h.Part.Run
	}
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
	Here bool   `json:"on_own_host,omitempty"` // its address is one of kt's host
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
	Name              string                   `json:"name"`
	ID                string                   `json:"id,omitempty"` // Kafka's, which another topic of the same name does not share
	Partitions        int                      `json:"partitions"`
	ReplicationFactor int                      `json:"replication_factor"` // 0: not known
	Leaders           map[int32]int32          `json:"leaders"`            // partition → broker, at the start
	Replicas          map[int32]Replicas       `json:"replicas,omitempty"` // by broker, at the start
	Dirs              map[int32]map[string]int `json:"log_dirs,omitempty"` // replicas by broker and path, of brokers with several; only of the first topic
	Created           bool                     `json:"created"`            // by this run
	Configs           map[string]string        `json:"configs,omitempty"`
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

	Others int64 `json:"other_records,omitempty"` // that other topics of the cluster got meanwhile; 0: none, or not known

	Machine *Busy `json:"machine,omitempty"` // the use of kt's own host over the whole run; nil: not known, or an agent has watched it

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
