package port

import (
	"io"
	"net/http"
	"testing"
)

func BenchmarkHandshake(b *testing.B) {
	key := newKey()
	a := serve(b, Options{Key: key, Limits: Limits{SourceRate: 1e6}}, nil)
	for b.Loop() {
		c, err := Dial(b.Context(), a.addr, key, HTTP)
		if err != nil {
			b.Fatal(err)
		}
		_ = c.Close()
	}
}

func BenchmarkRequest(b *testing.B) {
	key := newKey()
	a := serve(b, Options{Key: key}, nil)
	c := client(b, key)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ask(c, a.addr, "ping"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkThroughput is one answer over loopback, both ends in this process.
func BenchmarkThroughput(b *testing.B) {
	key := newKey()
	const size = 256 << 10 // as run files are read
	a := serve(b, Options{Key: key}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		payload := make([]byte, size)
		for {
			if _, err := w.Write(payload); err != nil {
				return
			}
		}
	}))
	r, err := client(b, key).Get("http://" + a.addr)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Body.Close()
	into := make([]byte, size)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.ReadFull(r.Body, into); err != nil {
			b.Fatal(err)
		}
	}
}
