// Package wire is an authenticated and encrypted stream of messages between two kts.
//
// Both sides have the same [Key]. Whoever has none learns nothing: the side that listens
// says nothing before the other has proved that it knows the key, and ends what is not
// proved without a word when its time is up, whatever was wrong.
//
//	K ─ version ─ nonce ─ proof ─────────────────►  the side that dials
//	◄───────────────────── version ─ nonce ─ proof  only to who has the key
//	confirm ─────────────────────────────────────►  sealed: so a recording fails here
//	◄──────────────────────────────────── welcome  sealed: or that there are too many
//	◄─────── frames, each sealed and numbered ───►
//
// The first line is the same in all versions of the protocol, so that two kts that have
// one key can tell each other that they are not of one version.
//
//	conn, err := wire.Dial(ctx, "10.0.0.7:7946", key)
//	err = conn.Send(ctx, frameType, payload)
//	frameType, payload, err := conn.Receive(ctx)
//
// A frame holds one message, its type and at most [MaxFrame] bytes. It is sealed with
// AES-256-GCM under a key of the stream and the direction, its nonce is its number in the
// stream: what is changed, left out, repeated, or sent back is refused, and ends the stream.
//
// A key is full trust: whoever has it is a peer, and can read what was recorded of others.
//
// A [Server] answers streams, a [Mux] tells them apart from what else comes to the port.
// Both hold only so many connections that have proved nothing. When there are more, the
// oldest goes of those who have the most, so that one who floods the port is in his own way.
package wire
