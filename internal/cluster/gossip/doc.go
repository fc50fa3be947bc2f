// Package gossip finds the other agents of a network: who is there, and who is gone.
//
//	g, err := gossip.Start(gossip.Options{Bind: ":7946", Join: []string{"vm14:7946"}, Key: key, Info: info})
//	g.Members() // vm14 alive, vm15 alive, vm16 gone
//
// It carries presence only, what fits a datagram. Whatever is bigger goes over a stream
// (package wire) on the same port: of TCP, what begins as a stream is handed on, what
// begins with this network's label is gossip, and anything else is dropped without a word.
//
// Agents may come up in any order. An address to join is tried until it answers, and
// again whenever nobody alive is there; so are those who went away without a word. A
// network that fell apart therefore grows together again.
//
// What a peer says of itself is data: its length is capped, and no character of it can
// steer a terminal.
//
// The key keeps out who has not got it. It does not keep such a one from recording packets
// and sending them again: memberlist knows no replay, so a member that is gone may be shown
// as alive until it is asked, or one that is there as gone until it objects. Nothing but
// this picture hangs on it: whoever makes a load is talked to over a stream, where a
// replay is refused. A goodbye names the start of the agent that it is of, and is ignored
// after the next.
package gossip
