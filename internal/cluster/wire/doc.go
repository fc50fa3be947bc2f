// Package wire is a stream of messages over an authenticated connection of package port.
//
//	conn, err := wire.Dial(ctx, "10.0.0.7:7946", key)
//	err = conn.Send(ctx, frameType, payload)
//	frameType, payload, err := conn.Receive(ctx)
//
// A frame holds one message: 4 bytes of length, 1 of type, and at most [MaxFrame] bytes. TLS
// protects it.
package wire
