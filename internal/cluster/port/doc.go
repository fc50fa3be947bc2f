// Package port is the one port of an agent, of TCP and UDP, and the way to it.
//
//	l, err := port.Listen(":7946", port.Options{Key: key, Log: log})
//	err = l.Serve(handler) // HTTP/2
//
//	answer, err := port.Client(key).Get("http://10.0.0.7:7946/v1/")
//
// Every TCP connection is TLS 1.3 with certificates on both sides. Both have the same identity: an
// Ed25519 key pair that is derived from the shared [Key]. Each side compares the public key of the
// other with its own, before it sends or reads anything else. TLS makes new keys for each
// connection, so a stolen key opens no recording, and a recording cannot be played back. There are
// no sessions to resume.
//
// A key is full trust: every owner is a peer, and can stand for every other. Without a key both
// sides use a well-known identity, and only connections within this machine are made or answered.
//
// The protocol of a connection is negotiated by ALPN: [HTTP] goes to the handler of [Listener.Serve],
// [Gossip] to [Listener.Gossip]. Their names hold [Version]. A peer of another version falls back
// to a protocol that is the same in all versions, and only tells the version. Generic clients,
// such as curl, use "h2" or no ALPN.
//
// What peers can take is bounded by [Limits], before and after the handshake. Each source has a
// share of its own, so a source that floods the port hits itself.
package port
