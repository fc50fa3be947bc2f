package cluster

import (
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// Job is one process's share of a load, as it travels. Its fields are all that a peer can
// ask for: no command, no path, no environment.
type Job struct {
	Part result.Part `json:"part"`
	Plan plan.Plan   `json:"plan"`

	// The Java properties of the clients.
	Producer map[string]plan.Given `json:"producer_properties,omitempty"`
	Consumer map[string]plan.Given `json:"consumer_properties,omitempty"`

	CreateTopic bool     `json:"create_topic,omitempty"` // this process makes the topic if it is not there, and looks at the cluster
	Args        []string `json:"command_line"`           // that asked for the load: to be written down, and nothing else
}

// Second is what one process tells of one second of a run.
type Second struct {
	Windows  []stats.Window `json:"windows"` // as stats.Window.Slim leaves them
	Sample   host.Sample    `json:"sample"`
	Stage    int32          `json:"stage"` // a result.Stage
	Buffered int64          `json:"buffered_bytes"`
	InFlight int            `json:"in_flight"`
}

// FromProcess is what a process that makes a load says to its agent: a JSON line on
// standard output. Exactly one field is set.
type FromProcess struct {
	Ready  *result.Header `json:"ready,omitempty"`  // every client is open, every broker was reached
	Began  *time.Time     `json:"began,omitempty"`  // the load did, by this host's clock
	Second *Second        `json:"second,omitempty"` // once a second
	Ended  *Ended         `json:"ended,omitempty"`  // the run file is written
	Failed *string        `json:"failed,omitempty"` // no load was made: why, for people
}

// Ended is how the run of one process ended.
type Ended struct {
	Code int    `json:"exit_code"`
	Text string `json:"text,omitempty"` // what is to be said of it; "" when all is well
}

// ToProcess is what an agent says to a process: a JSON line on its standard input, the
// first with a Job. Exactly one field is set.
type ToProcess struct {
	Job   *ProcessJob `json:"job,omitempty"`
	Start *StartOrder `json:"start,omitempty"`
	Stop  bool        `json:"stop,omitempty"`  // drain and finish, as after the first Ctrl-C
	Abort bool        `json:"abort,omitempty"` // leave at once, as after the second

	// Finish, after Ended: all processes have drained. The one that made the topic
	// deletes it if the plan says so.
	Finish bool `json:"finish,omitempty"`
}

// ProcessJob is a Job with what only its own host may say.
type ProcessJob struct {
	Job
	RunFile string `json:"run_file"` // a path of the agent's choosing

	// Most is how long after its start the process may last at most, with its drain: its
	// agent ends it then, and one whose agent is gone has to do so itself. 0: nobody knows.
	Most time.Duration `json:"most_ns,omitempty"`
}

// StartOrder is when to begin. At is a moment of this host's clock; the rest is written
// down.
type StartOrder struct {
	At     time.Time     `json:"at"`
	Agreed result.Agreed `json:"agreed"` // without Late, which the process measures
}
