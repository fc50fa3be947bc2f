package port

import (
	"context"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// server answers HTTP/2 requests on authenticated connections.
type server struct {
	http   http.Server
	limits Limits
	cancel context.CancelFunc // of all requests

	mu      sync.Mutex
	closed  bool           // guarded by mu
	running sync.WaitGroup // requests; added to with mu held, and only before closed
}

func (s *server) init(l *Listener) {
	s.limits = l.limits
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.http = http.Server{
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
		BaseContext:    func(net.Listener) context.Context { return ctx },
		ErrorLog:       log.New(lines{l.journal}, "", 0),
	}
}

// onlyHTTP2 returns the protocols of connections whose TLS is done before net/http gets them.
func onlyHTTP2() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

func (s *server) serve(h http.Handler, from net.Listener) error {
	s.http.Handler = http.MaxBytesHandler(s.bounded(h), s.limits.BodyBytes)
	return s.http.Serve(&timely{from, s.limits.ReadTimeout})
}

// close ends all requests and waits for them.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	_ = s.http.Close() // of a listener that is closed already
	s.running.Wait()
}

// begin notes a request. It returns false after close.
func (s *server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.running.Add(1)
	}
	return !s.closed
}

// bounded returns h with bounds on the time of each write.
func (s *server) bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			panic(http.ErrAbortHandler) // ends the request without an answer
		}
		defer s.running.Done()
		a := &answer{ResponseWriter: w, control: http.NewResponseController(w), most: s.limits.WriteTimeout}
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

// Write writes a part of the body.
func (a *answer) Write(p []byte) (int, error) {
	defer a.limit()()
	return a.ResponseWriter.Write(p)
}

// FlushError sends what is buffered.
func (a *answer) FlushError() error {
	defer a.limit()()
	return a.control.Flush()
}

// Flush sends what is buffered.
func (a *answer) Flush() { _ = a.FlushError() } // the next Write has the error

// Unwrap returns the ResponseWriter for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// limit bounds a write. Between writes there is no limit, so that a handler may wait for news.
func (a *answer) limit() (release func()) {
	_ = a.control.SetWriteDeadline(time.Now().Add(a.most)) // fails only after the end of the request
	return func() { _ = a.control.SetWriteDeadline(time.Time{}) }
}

// timely gives each connection a time for its first bytes. The server ends it afterwards.
type timely struct {
	net.Listener
	first time.Duration
}

// Accept waits for the next connection.
func (t *timely) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if err == nil {
		err = c.SetReadDeadline(time.Now().Add(t.first))
	}
	return c, err
}

// lines logs the lines of the HTTP server.
type lines struct{ journal *Journal }

// Write logs a line.
func (l lines) Write(line []byte) (int, error) {
	l.journal.Note("", strings.TrimSpace(string(line)))
	return len(line), nil
}
