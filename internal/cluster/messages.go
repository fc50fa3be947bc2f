package cluster

import (
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// Job is one process's share of a load. Its fields are everything that a peer can ask for: no
// command, no path and no environment variables.
type Job struct {
	Part result.Part `json:"part"`
	Plan plan.Plan   `json:"plan"`

	// The Java properties of the clients.
	Producer map[string]plan.Given `json:"producer_properties,omitempty"`
	Consumer map[string]plan.Given `json:"consumer_properties,omitempty"`

	CreateTopic bool     `json:"create_topic,omitempty"` // this process makes the topic if needed, and watches the cluster
	Args        []string `json:"command_line"`           // of the coordinator, for the run file only
	Tags        []string `json:"tags,omitempty"`         // of the run, for the run file only
}

// Load is the state of the load of one process that is not in its run file.
type Load struct {
	Draining bool  `json:"draining,omitempty"`
	Buffered int64 `json:"buffered_bytes,omitempty"` // that wait for acknowledgements
	InFlight int   `json:"in_flight,omitempty"`      // requests
}

// FromProcess is a message of a process that makes a load to its agent: one JSON line on
// standard output. Exactly one field is set.
type FromProcess struct {
	Ready  *string    `json:"ready,omitempty"`  // every client is open, every broker was reached; the id of its run file
	Began  *time.Time `json:"began,omitempty"`  // when the load began, by this host's clock
	Load   *Load      `json:"load,omitempty"`   // once a second
	Ended  *Ended     `json:"ended,omitempty"`  // the run file is written
	Failed *string    `json:"failed,omitempty"` // no load was made; the reason, for people
}

// Ended is the end of a run of one process.
type Ended struct {
	Code int    `json:"exit_code"`
	Text string `json:"text,omitempty"` // the error, for people, or ""
}

// ToProcess is a message of an agent to a process: one JSON line on standard input, of which
// the first has a Job. Exactly one field is set, beside Why.
type ToProcess struct {
	Job   *ProcessJob `json:"job,omitempty"`
	Start *StartOrder `json:"start,omitempty"`
	Stop  bool        `json:"stop,omitempty"`  // drain and finish, as after the first Ctrl-C
	Why   string      `json:"why,omitempty"`   // with Stop: the condition of --abort-on that came true
	Abort bool        `json:"abort,omitempty"` // leave at once, as after the second

	// Finish comes after Ended, when all processes of all hosts have drained. The process that
	// made the topic deletes it if the plan says so.
	Finish bool `json:"finish,omitempty"`
}

// ProcessJob is a Job with the fields that only its own host sets.
type ProcessJob struct {
	Job
	RunFile string `json:"run_file"` // chosen by the agent

	// Most bounds the time from the start to the end of the drain; 0: unknown. The agent kills
	// the process then. If the agent is gone, the process ends by itself.
	Most time.Duration `json:"most_ns,omitempty"`
}

// StartOrder sets the start of the load.
type StartOrder struct {
	At     time.Time     `json:"at"`     // by the clock of the host that gets it
	Agreed result.Agreed `json:"agreed"` // for the run file; Late is not set yet
}
