//go:build integration

package cmd

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// proxy passes connections on to a broker, and holds all together to a rate towards it. Its token bucket
// holds a fiftieth of a second, so the rate is known at any scale above that.
type proxy struct {
	net.Listener
	broker string
	rate   float64 // bytes a second

	mu   sync.Mutex
	free time.Time // guarded by mu; until then the rate is taken
}

const bucket = time.Second / 50

// startProxy starts a proxy to a broker that may not be there yet.
func startProxy(t *testing.T, broker string, rate float64) *proxy {
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := &proxy{Listener: l, broker: broker, rate: rate}
	go p.serve()
	t.Cleanup(func() { _ = l.Close() })
	return p
}

// serve passes connections on until the proxy is closed.
func (p *proxy) serve() {
	for {
		client, err := p.Accept()
		if err != nil {
			return
		}
		go p.pass(client)
	}
}

func (p *proxy) pass(client net.Conn) {
	defer func() { _ = client.Close() }()
	broker, err := net.Dial("tcp", p.broker)
	if err != nil {
		return // the client tries again
	}
	defer func() { _ = broker.Close() }()
	go func() {
		_, _ = io.Copy(client, broker) // until either hangs up
		_ = client.Close()
	}()
	_ = client.(*net.TCPConn).SetReadBuffer(64 << 10) // what waits there is taken, but not passed on
	_, _ = io.Copy(broker, io.TeeReader(client, p))
}

// Write takes bytes from the bucket, and waits for them.
func (p *proxy) Write(b []byte) (int, error) {
	p.mu.Lock()
	if now := time.Now(); p.free.Before(now.Add(-bucket)) {
		p.free = now.Add(-bucket)
	}
	p.free = p.free.Add(time.Duration(float64(len(b)) / p.rate * float64(time.Second)))
	until := p.free
	p.mu.Unlock()
	time.Sleep(time.Until(until))
	return len(b), nil
}
