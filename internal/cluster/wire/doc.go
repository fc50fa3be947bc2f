// Package wire is an authenticated and encrypted stream of messages between two kts.
//
// Both sides have the same [Key]. A peer without it learns nothing: the listening side sends
// nothing before the dialling side has proved that it has the key. It closes other connections
// without an answer when their time is up, so that the time does not tell the reason.
//
//	K ─ version ─ nonce ─ proof ─────────────────►  the dialling side
//	◄───────────────────── version ─ nonce ─ proof  only after a valid proof
//	confirm ─────────────────────────────────────►  sealed, so a recording fails here
//	◄──────────────────────────────────── welcome  sealed; or a refusal: too many streams
//	◄─────── frames, each sealed and numbered ───►
//
// The first line is the same in all versions of the protocol. So two kts with the same key can
// tell each other that their versions differ.
//
//	conn, err := wire.Dial(ctx, "10.0.0.7:7946", key)
//	err = conn.Send(ctx, frameType, payload)
//	frameType, payload, err := conn.Receive(ctx)
//
// A frame holds one message: its type and at most [MaxFrame] bytes. It is sealed with
// AES-256-GCM under a key for the stream and the direction. Its nonce is its number in the
// stream. So a frame that was changed, left out, repeated or sent back ends the stream.
//
// A key is full trust: every owner is a peer, and can decrypt recorded streams of others.
//
// A [Server] answers streams. A [Mux] separates them from other connections to the port. Both
// bound the number of connections without a proof. When there are more, they drop the oldest one
// of the source with the most connections. So a source that floods the port hits itself.
package wire
