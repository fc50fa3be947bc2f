// Package cluster makes one load on many hosts and merges the measurements.
//
// An agent runs on each host and answers requests (docs/agent-api.md). The coordinator is the kt that
// a user started. It asks each agent:
//
//	OFFER     who are you, and will you make this share of the load?
//	PREPARE   each process gets its share, reaches every broker and opens its clients
//	SYNC      what does your clock say?
//	START     all processes begin at the agreed start, each by its own clock
//	RUN       processes need nobody to go on; the coordinator reads their run files as they grow
//	DRAIN     each process waits for the outcome of its records
//	COLLECT   the copies are completed, and the agents told to end the run
//
// The state of a run on its host is [runState], a coordinator's view of a host is [hostState]. Both
// are values that a pure function changes.
//
// Everything that an agent gets is data: a plan of known fields, never a command and never a
// path. The command line of the agent sets its limits.
package cluster
