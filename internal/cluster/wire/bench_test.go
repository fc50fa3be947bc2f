package wire

import (
	"context"
	"testing"
)

func BenchmarkHandshake(b *testing.B) {
	key := newKey()
	addr := serve(b, &Server{Key: key, Handle: new(echo).handle})
	for b.Loop() {
		c, err := Dial(b.Context(), addr, key)
		if err != nil {
			b.Fatal(err)
		}
		_ = c.Close()
	}
}

// BenchmarkThroughput is one stream over loopback, both ends in this process.
func BenchmarkThroughput(b *testing.B) {
	key := newKey()
	const size = 256 << 10 // as results are fetched
	done := make(chan struct{})
	addr := serve(b, &Server{Key: key, Handle: drain(done)})
	c := dial(b, addr, key)
	payload := make([]byte, size)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Send(b.Context(), 1, payload); err != nil {
			b.Fatal(err)
		}
	}
	_ = c.Close()
	<-done
}

func BenchmarkRoundTrip(b *testing.B) {
	key := newKey()
	c := dial(b, serve(b, &Server{Key: key, Handle: new(echo).handle}), key)
	for b.Loop() {
		ask(b, c, 1, []byte("ping"))
	}
}

// drain reads everything.
func drain(done chan<- struct{}) func(context.Context, *Conn) {
	return func(ctx context.Context, c *Conn) {
		defer close(done)
		for {
			if _, _, err := c.Receive(ctx); err != nil {
				return
			}
		}
	}
}
