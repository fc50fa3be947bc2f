package port

import (
	"errors"
	"net"
)

var errTooMuch = errors.New("it sends too much")

// meter is a connection of which a number of bytes is read at most.
type meter struct {
	net.Conn
	left int // bytes that may still be read; negative: any number
}

// Read reads up to the bound.
func (m *meter) Read(p []byte) (int, error) {
	switch {
	case m.left < 0:
		return m.Conn.Read(p)
	case m.left == 0:
		return 0, errTooMuch
	}
	n, err := m.Conn.Read(p[:min(len(p), m.left)])
	m.left -= n
	return n, err
}

// peer is an authenticated connection. It hides the TLS connection from net/http, which must not
// make a handshake of its own.
type peer struct {
	net.Conn
	closed func() // may be nil; called by each Close
}

// Close closes the connection and gives its share back.
func (p *peer) Close() error {
	if p.closed != nil {
		defer p.closed()
	}
	return p.Conn.Close()
}
