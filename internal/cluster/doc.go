// Package cluster makes one load on many hosts, and brings what was measured home.
//
// An Agent runs on each host. A coordinator, whoever ran the command, talks to each over
// a stream of its own (package wire):
//
//	LOBBY     the agents are found, by gossip or by name
//	PREPARE   each gets its share, checks that it can reach every broker, and opens its clients
//	SYNC      the coordinator compares each agent's clock with its own
//	START_AT  all begin at one moment, each by its own clock
//	RUN       nothing has to arrive for a run to go on; windows do, for the screen
//	DRAIN     each waits for what is on its way
//	COLLECT   each has written its run files, and hands them over; the coordinator confirms
//
// Everything that an agent gets is data: a plan of known fields, never a command and
// never a path. What an agent does besides is decided by its own command line.
package cluster
