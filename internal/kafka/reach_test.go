package kafka

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/kt-bench/kt/internal/must"
)

// listen starts a server that does with each connection what serve does.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				serve(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// connect connects to brokers of a test.
func connect(t *testing.T, addrs []string) *Cluster {
	t.Helper()
	c := must.Have(Connect(t.Context(), Access{Bootstrap: addrs}))(t)
	t.Cleanup(c.Close)
	return c
}

// silent takes what comes and says nothing.
func silent(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func TestWhatAnswersAtAWrongPortIsNamed(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = nil
	secure.StartTLS()
	t.Cleanup(secure.Close)
	gone := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	_ = gone.Close()
	for _, c := range []struct {
		what, addr string
		within     time.Duration
		want       string
	}{
		{"a web server", web.Listener.Addr().String(), time.Minute, "an HTTP server answers"},
		{"a web server of old", listen(t, func(c net.Conn) { _, _ = c.Write([]byte("<!DOCTYPE HTML>\n<html lang=en>")) }), time.Minute, "an HTTP server answers"},
		{"a web server with TLS", secure.Listener.Addr().String(), time.Minute, "a TLS port answers"},
		{"TLS that says so", listen(t, func(c net.Conn) { _, _ = c.Write([]byte{0x15, 3, 1, 0, 2, 2, 70}) }), time.Minute, "a TLS port answers"},
		{"a server of lines", listen(t, func(c net.Conn) { _, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.6\r\n")) }), time.Minute, `it answers "SSH-2.0-OpenSSH_9.6\r"`},
		{"one that says nothing", listen(t, silent), 500 * time.Millisecond, "it accepts connections but did not answer within 500ms"},
		{"one that begins an answer", listen(t, func(c net.Conn) { _, _ = c.Write([]byte{0, 0}); silent(c) }), 500 * time.Millisecond, "did not answer within 500ms"},
		{"one that hangs up", listen(t, func(net.Conn) {}), time.Minute, "it closes the connection"},
		{"nobody", gone.Addr().String(), time.Minute, "connection refused"},
	} {
		_, err := Connect(t.Context(), Access{Bootstrap: []string{c.addr}, Timeout: c.within})
		if err == nil || !strings.HasPrefix(err.Error(), "no broker reached: "+c.addr+": ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

func TestAWrongPortAmongBrokersIsLeftOut(t *testing.T) {
	fake := must.Have(kfake.NewCluster(kfake.NumBrokers(1)))(t)
	t.Cleanup(fake.Close)
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	c := connect(t, []string{web.Listener.Addr().String(), fake.ListenAddrs()[0]})
	if len(c.Unreached) != 1 || !strings.Contains(c.Unreached[0].Error(), "an HTTP server answers") {
		t.Errorf("unreached: %v", c.Unreached)
	}
}

// However long it may wait, it leaves when it is told to.
func TestConnectingEndsWhenItIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	addr := listen(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1)) // the request is there
		interrupt()
		silent(c)
	})
	if _, err := Connect(ctx, Access{Bootstrap: []string{addr}, Timeout: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Errorf("gives %v", err)
	}
}
