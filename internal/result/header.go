package result

import (
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
)

// Schema is the version of the result document and of the run file. It changes
// when a field changes its meaning or goes away, not when one is added.
const Schema = 1

// Header is what is known of a run before its first record.
type Header struct {
	Schema    int       `json:"schema"`
	RunID     string    `json:"run_id"`
	KTVersion string    `json:"kt_version"`
	StartedAt time.Time `json:"started_at"`
	Args      []string  `json:"command_line"`
	Embedded  bool      `json:"embedded_broker"`

	Plan        plan.Plan   `json:"plan"`
	Config      []Setting   `json:"effective_config"`
	Environment Environment `json:"environment"`
}

// Setting is one effective setting of the client.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Source  string `json:"source"`         // "default", or the flag, file or variable that set it
	Client  string `json:"client"`         // the franz-go option it became
	Note    string `json:"note,omitempty"` // where franz-go's meaning differs from Java's
}

// Environment is where a run took place.
type Environment struct {
	Host    host.Facts `json:"host"`
	Cluster Cluster    `json:"cluster"`
	Topic   Topic      `json:"topic"`
}

// Cluster is the cluster under test.
type Cluster struct {
	ID         string   `json:"cluster_id"`
	Version    string   `json:"broker_version"` // guessed from the API versions that the brokers offer
	Controller int32    `json:"controller_id"`
	Brokers    []Broker `json:"brokers"`
}

// Broker is one broker of the cluster.
type Broker struct {
	ID   int32  `json:"id"`
	Addr string `json:"address"`
	Rack string `json:"rack,omitempty"`
}

// Topic is the topic under test.
type Topic struct {
	Name              string            `json:"name"`
	Partitions        int               `json:"partitions"`
	ReplicationFactor int               `json:"replication_factor"`
	Leaders           map[int32]int32   `json:"leaders"` // partition → broker, at the start
	Created           bool              `json:"created"` // by this run
	Configs           map[string]string `json:"configs,omitempty"`
}

// How a run ended.
const (
	Completed   = "completed"
	Interrupted = "interrupted" // by a person or a signal: what was measured until then is right
	CutOff      = "cut off"     // the run file has no end: kt was killed
)

// Trailer is what is known of a run only at its end.
type Trailer struct {
	Ended          string  `json:"ended"`
	ElapsedSeconds float64 `json:"elapsed_seconds"` // from the first record until the last outcome
	SendingSeconds float64 `json:"sending_seconds"` // until the last record was handed over
	DrainTimedOut  bool    `json:"drain_timed_out"` // outstanding records were given up
}
