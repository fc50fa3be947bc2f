// Package gossip finds the other agents of a network: who is there, and who is gone.
//
// It carries presence only, what fits a datagram. Whatever is bigger goes over a stream
// (package wire) on the same port.
package gossip
