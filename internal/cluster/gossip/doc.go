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
package gossip
