package plan

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ErrNoTopic is the error of a topic to read that the cluster does not have.
var ErrNoTopic = errors.New("does not exist")

// Plan is the load that one run makes. The zero value of a field means what its comment says; there is no "unset" beside that. A field
// with the name of a flag is what that flag says.
type Plan struct {
	Command   Command  `json:"command"`
	Engine    Engine   `json:"engine" flag:"engine"`
	Bootstrap []string `json:"bootstrap_server"` // empty: the embedded broker, unless there is a URL
	URL       string   `json:"url,omitempty"`    // of a system that is not Kafka, without a password, see ParseURL; "": Kafka
	Topic     Topic    `json:"topic" flag:",squash"`
	Producers int      `json:"producers" of:"writing"` // clients in this process, each with connections of its own; 0: nobody writes
	Load      Load     `json:"load" flag:",squash"`
	Payload   Payload  `json:"payload" flag:",squash" of:"writing"`
	Read      Read     `json:"read,omitzero" flag:",squash"`
	Verify    bool     `json:"verify,omitempty"`              // account for every record, by its stamp
	Seed      int64    `json:"seed" flag:"seed" of:"writing"` // of payloads, keys, sizes and Poisson arrivals
	Share     Share    `json:"share,omitzero"`                // of a load that several processes make together
}

// Command is the kind of load of a plan.
type Command string

// The commands that make a load.
const (
	Produce   Command = "produce"
	Consume   Command = "consume"
	Roundtrip Command = "roundtrip" // both at once
)

// Engine is the kind of client that carries the load.
type Engine string

// The engines.
const (
	Client Engine = "client" // Kafka's client as an application uses it: one call for each record
	Wire   Engine = "wire"   // whole batches, encoded before the run and written to the brokers' connections
)

// Engines are the values of Engine.
var Engines = []Engine{Client, Wire}

// Writes and Reads report whether the plan writes and reads records.
func (p *Plan) Writes() bool { return p.Producers > 0 }

// Reads is the other half of Writes.
func (p *Plan) Reads() bool { return p.Read.Consumers > 0 }

// ReadsOnly reports whether the plan has records read, and none written.
func (p *Plan) ReadsOnly() bool { return p.Reads() && !p.Writes() }

// Topic is where the records go: one topic, or several that are alike.
type Topic struct {
	Name       string `json:"name" flag:"topic"`                      // of one topic or several, as ParseTopics reads it
	Partitions int32  `json:"partitions,omitempty" flag:"partitions"` // of each; 0: as it is, or the broker's num.partitions when kt creates it

	Distribution string `json:"distribution,omitempty"` // of the records over several topics: OwnTopics, or as ParseZipf reads it; "": even

	// ReplicationFactor is used when kt creates the topic. 0: the broker's
	// default.replication.factor.
	ReplicationFactor int16             `json:"replication_factor,omitempty" flag:"replication-factor"`
	Configs           map[string]string `json:"configs,omitempty"`
	Delete            bool              `json:"delete,omitempty" flag:"delete-topic"` // at the end, if this run created it
}

// Load is how many records, how fast and for how long.
type Load struct {
	Rate     Rate     `json:"rate"`
	Records  int64    `json:"records,omitempty"`  // 0: no limit
	Duration Duration `json:"duration,omitempty"` // 0: no limit
	Warmup   Warmup   `json:"warmup,omitzero" flag:"warmup"`
	Arrivals Arrivals `json:"arrivals" flag:"arrivals" of:"writing"`

	// Transaction is how long one transaction lasts. 0: no transactions.
	Transaction Duration `json:"transaction,omitempty"`

	// StopAtDisk is how full a log directory of a broker may get before the load ends, 0 to 1; 0: it goes on.
	StopAtDisk float64 `json:"stop_at_disk_share,omitempty"`
	// UntilFull goes on when log directories are full, and looks closely at what becomes of them. Without a
	// duration and a number of records, the load ends a minute after the first was full.
	UntilFull bool `json:"until_full,omitempty"`

	// OneAtATime sends a record when the one before has been read.
	OneAtATime bool `json:"one_at_a_time,omitempty"`
}

// Warmup is the part of the load that is left out of the measurement: records
// due in the first Duration, or the first Records.
type Warmup struct {
	Duration Duration `json:"duration,omitempty"`
	Records  int64    `json:"records,omitempty"`
}

// Duration is a time.Duration that is written as text, "1m30s", wherever a plan
// is written.
type Duration time.Duration

// Std returns the duration as the standard library has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes the duration as Go does: "1m30s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a duration as ParseDuration does.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// ParseDuration reads a time as Go does, which may begin with days of 24 hours: "90s", "7d", "1d12h". All times that a user
// writes are read by it.
func ParseDuration(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	days, rest, _ := strings.Cut(s, "d")
	if n, err := ParseNumber(days); err == nil && len(days) < len(s) {
		return time.ParseDuration(strconv.FormatFloat(24*n, 'f', 9, 64) + "h" + rest)
	}
	return time.ParseDuration(s)
}

// Embedded reports whether the run uses the broker inside kt.
func (p *Plan) Embedded() bool { return len(p.Bootstrap) == 0 && p.URL == "" }

// Servers returns the addresses that the run connects to first.
func (p *Plan) Servers() []string {
	if p.URL != "" {
		return []string{p.URL}
	}
	return p.Bootstrap
}

// ParseTime reads a time as ParseDuration does; a bare number counts in unit.
func ParseTime(s string, unit time.Duration) (time.Duration, error) {
	if n, err := ParseNumber(s); err == nil {
		v := n * float64(unit)
		if math.Abs(v) >= math.MaxInt64 {
			return 0, fmt.Errorf("%q is out of range", s)
		}
		return time.Duration(v), nil
	}
	return ParseDuration(s)
}

// RecordsPerSecond returns the target rate of this process; it is Unlimited's PerSecond when
// there is none, and the mean when it has stages.
func (p *Plan) RecordsPerSecond() float64 {
	return p.Part() * p.Load.Rate.RecordsPerSecond(p.Payload.MeanBytes())
}

// String returns the load in one line, for people.
func (p *Plan) String() string {
	parts := []string{p.Topic.Name}
	if n := p.Topic.Partitions; n > 0 {
		parts = append(parts, fmt.Sprintf("%d partitions", n))
	}
	if p.Writes() {
		parts = append(parts, p.Payload.String())
	}
	if p.Producers > 1 {
		parts = append(parts, fmt.Sprintf("%d producers", p.Producers))
	}
	parts = append(parts, p.Load.String())
	return strings.Join(parts, " · ")
}

func (l Load) String() string {
	s := l.Rate.String()
	if l.Records > 0 {
		s += fmt.Sprintf(", %d records", l.Records)
	}
	if l.Duration > 0 && len(l.Rate.Stages) == 0 {
		s += ", " + l.Duration.String()
	}
	return s
}

// Exec is a command of the user's own that runs beside a load. It is no part of a Plan, so
// another host cannot send one.
type Exec struct {
	After   time.Duration // from the start of the run
	Command string        // for a shell
	Of      string        // what its events begin with
}

// Given is a property of a Kafka client as the user gave it, and where: "--acks",
// "--command-property", "client.properties", "KT_ACKS".
type Given struct {
	Value  string `json:"value"`
	Source string `json:"source"`
}

// runName fits into a list, a table and the name of a file, and cannot be taken for a flag or a hidden file.
var runName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

// CheckName returns an error unless a run, a host or a tag may be called that: in 1 to 64 ASCII
// letters, digits, '.', '_' or '-', of which the first is a letter or a digit. Where a
// name may be missing, that is for the caller to know.
func CheckName(name string) error {
	if !runName.MatchString(name) {
		return errors.New("a name has 1 to 64 letters, digits, '.', '_' or '-', and begins with a letter or a digit")
	}
	return nil
}

// maxTags is how many tags a run may have: they stand in one line of a table.
const maxTags = 8

// CheckTags returns an error unless a run may have these tags.
func CheckTags(tags []string) error {
	if len(tags) > maxTags {
		return Refuse("tag", nil, "there are %d, and a run has %d at most", len(tags), maxTags)
	}
	for _, tag := range tags {
		if err := CheckName(tag); err != nil {
			return Refuse("tag", tag, "%w", err)
		}
	}
	return nil
}
