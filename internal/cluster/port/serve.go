package port

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"strings"
	"time"
)

func (l *Listener) configure() {
	l.server = http.Server{
		DisableGeneralOptionsHandler: true, // OPTIONS * is a request like any other
		Protocols:                    onlyHTTP2(),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          l.limits.Streams,
			MaxDecoderHeaderTableSize:     headerTable,
			MaxEncoderHeaderTableSize:     headerTable,
			MaxReceiveBufferPerConnection: serverBuffer,
			MaxReceiveBufferPerStream:     serverBuffer / 4,
			SendPingTimeout:               serverPing,
			PingTimeout:                   serverPing,
			WriteByteTimeout:              l.limits.WriteTimeout,
		},
		ReadTimeout:    l.limits.ReadTimeout,
		IdleTimeout:    l.limits.IdleTimeout,
		MaxHeaderBytes: l.limits.HeaderBytes,
		BaseContext:    func(net.Listener) context.Context { return l.ctx },
		ErrorLog:       log.New(lines{l.journal}, "", 0),
	}
}

// Serve answers HTTP/2 requests with h until Close. It is called once. Bodies of requests are
// bounded as by http.MaxBytesReader. A write of h fails when the peer has taken nothing for long.
func (l *Listener) Serve(h http.Handler) error {
	l.server.Handler = http.MaxBytesHandler(l.handler(h), l.limits.BodyBytes)
	err := l.server.Serve(admitted{l})
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// admitted is the listener of the HTTP server, which gets authenticated connections.
type admitted struct{ *Listener }

// Accept gives each connection a time for its first bytes. The server ends it afterwards.
func (l admitted) Accept() (net.Conn, error) {
	select {
	case c := <-l.http.conns:
		return c, c.SetReadDeadline(time.Now().Add(l.limits.ReadTimeout))
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close leaves the port open, which ends Accept.
func (admitted) Close() error { return nil }

// onlyHTTP2 returns the protocols of connections whose TLS is done before net/http gets them.
func onlyHTTP2() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

// begin notes a request. It returns false when the port is closed.
func (l *Listener) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return false
	}
	l.running.Add(1)
	return true
}

// handler returns h with bounds on the time of each write.
func (l *Listener) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.begin() {
			panic(http.ErrAbortHandler) // ends the request without an answer
		}
		defer l.running.Done()
		a := &answer{ResponseWriter: w, control: http.NewResponseController(w), most: l.limits.WriteTimeout}
		h.ServeHTTP(a, r)
		_ = a.control.SetWriteDeadline(time.Now().Add(a.most)) // of what is still buffered
	})
}

// answer is a ResponseWriter whose writes end when the peer takes nothing for long.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	most    time.Duration
}

func (a *answer) Write(p []byte) (int, error) {
	defer a.limit()()
	return a.ResponseWriter.Write(p)
}

func (a *answer) FlushError() error {
	defer a.limit()()
	return a.control.Flush()
}

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// limit bounds a write. Between writes there is no limit, so that a handler may wait for news.
func (a *answer) limit() (release func()) {
	_ = a.control.SetWriteDeadline(time.Now().Add(a.most)) // fails only after the end of the request
	return func() { _ = a.control.SetWriteDeadline(time.Time{}) }
}

// lines logs the lines of the HTTP server.
type lines struct{ journal *Journal }

func (l lines) Write(line []byte) (int, error) {
	l.journal.Note("", strings.TrimSpace(string(line)))
	return len(line), nil
}
