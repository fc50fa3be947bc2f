// Package wire is an authenticated and encrypted stream of messages between two kts.
//
// Both sides have the same key. Whoever has none learns nothing: the side that listens
// says nothing before the other has proved that it knows the key.
//
//	K ─ version ─ nonce ─ proof ────────────────►  the side that dials
//	◄──────────────────────────── nonce ─ proof   only to who has the key
//	◄──── frames, each sealed and numbered ────►
//
// A frame is at most MaxFrame long, and holds one message: its kind and its bytes.
package wire
