package port

import (
	"cmp"
	"time"
)

// Limits bound what peers can take of an agent. A field that is zero has its default. A source is
// an IPv4 address, the /64 network of an IPv6 address, or this machine.
type Limits struct {
	// Pending bounds the connections that have not proved that they have the key. When there are
	// more, the source with the most of them loses its oldest one.
	Pending int
	// HandshakeTimeout bounds a handshake: some round trips of a slow network, on a loaded machine.
	HandshakeTimeout time.Duration
	// SourceRate bounds the handshakes a second of one source, and TotalRate those of all other
	// machines, because each takes CPU time. Handshakes over it wait.
	SourceRate, TotalRate int

	// Connections bounds the connections of each protocol with other machines, and
	// SourceConnections those with one source. Connections over it wait for HandshakeTimeout.
	Connections, SourceConnections int

	// Streams bounds the requests at a time on one connection.
	Streams int
	// HeaderBytes and BodyBytes bound a request.
	HeaderBytes int
	BodyBytes   int64

	// ReadTimeout bounds the reading of a request, and WriteTimeout one write of an answer. A
	// connection without requests is closed after IdleTimeout.
	ReadTimeout, WriteTimeout, IdleTimeout time.Duration
}

const (
	// handshakeBytes bounds what is read of a peer before the end of its handshake. That of a kt
	// takes 2 KiB.
	handshakeBytes = 16 << 10

	// gossipBytes bounds what is read of one gossip connection, because memberlist reads up to
	// 20 MiB. A table of 1,000 agents takes about 180 KiB, one of 380 agents with all their tags
	// about as much as the bound.
	gossipBytes = 256 << 10

	// headerTable bounds the table of headers that each side of HTTP/2 keeps.
	headerTable = 4 << 10
	// serverBuffer bounds the bytes of requests that a connection keeps until they are read.
	serverBuffer = 1 << 20
	// answerBuffer bounds the bytes of an answer that a client keeps until they are read.
	answerBuffer = 1 << 20

	// answerHeader bounds the headers of an answer.
	answerHeader = 64 << 10

	// A client that hears nothing asks after pingAfter, and gives a connection up when there is no
	// answer within pingFor. So a cut network is noticed within their sum.
	pingAfter, pingFor = 3 * time.Second, 5 * time.Second
	// An agent asks less often. It only frees what a client that is gone has taken.
	serverPing = 20 * time.Second
)

// defaults returns the limits with defaults for the fields that are zero.
func (l Limits) defaults() Limits {
	return Limits{
		Pending:           cmp.Or(l.Pending, 256), // a goroutine, a descriptor and up to 20 KiB each
		HandshakeTimeout:  cmp.Or(l.HandshakeTimeout, handshakeTimeout),
		SourceRate:        cmp.Or(l.SourceRate, 50), // of about 0.6 ms of CPU time each
		TotalRate:         cmp.Or(l.TotalRate, 200),
		Connections:       cmp.Or(l.Connections, 128), // several times those of 64 agents that join through one
		SourceConnections: cmp.Or(l.SourceConnections, 32),
		Streams:           cmp.Or(l.Streams, 100),
		HeaderBytes:       cmp.Or(l.HeaderBytes, 16<<10),
		BodyBytes:         cmp.Or(l.BodyBytes, 1<<20),
		ReadTimeout:       cmp.Or(l.ReadTimeout, 10*time.Second),
		WriteTimeout:      cmp.Or(l.WriteTimeout, 30*time.Second), // longer than an interruption of the network of 10 s
		IdleTimeout:       cmp.Or(l.IdleTimeout, 2*time.Minute),
	}
}

// handshakeTimeout bounds a handshake on both sides.
const handshakeTimeout = 5 * time.Second
