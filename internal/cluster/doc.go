// Package cluster makes one load on many hosts and merges the measurements.
//
// An agent runs on each host. The coordinator is the kt that a user started. It has a stream
// (package wire) to each agent:
//
//	LOBBY     find the agents, by gossip or by name
//	PREPARE   each process gets its share, reaches every broker and opens its clients
//	SYNC      the coordinator compares each agent's clock with its own
//	START_AT  all processes begin at the agreed start, each by its own clock
//	RUN       processes need no connection to go on; their windows go to the screen
//	DRAIN     each process waits for the outcome of its records
//	COLLECT   the coordinator fetches the run files and tells the agents to end the run
//
// Everything that an agent gets is data: a plan of known fields, never a command and never a
// path. The command line of the agent sets its limits.
package cluster
