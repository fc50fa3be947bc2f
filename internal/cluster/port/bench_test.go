package port

import (
	"io"
	"net/http"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func BenchmarkHandshake(b *testing.B) {
	key := newKey()
	a := serve(b, Options{Key: key, Limits: Limits{SourceRate: 1e6}}, nil)
	for b.Loop() {
		c := must.Have(Dial(b.Context(), a.addr, key, HTTP))(b)
		_ = c.Close()
	}
}

func BenchmarkRequest(b *testing.B) {
	key := newKey()
	a := serve(b, Options{Key: key}, nil)
	c := client(b, key)
	b.ReportAllocs()
	for b.Loop() {
		must.Have(ask(c, a.addr, "ping"))(b)
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
	r := must.Have(client(b, key).Get("http://" + a.addr))(b)
	defer r.Body.Close()
	into := make([]byte, size)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		must.Have(io.ReadFull(r.Body, into))(b)
	}
}
