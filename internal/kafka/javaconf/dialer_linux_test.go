package javaconf

import (
	"context"
	"net"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/must"
)

func TestConnectionsHaveTheSocketBuffersAsked(t *testing.T) {
	own := bufferSizes(t) // with the sizes Linux chooses
	if got := bufferSizes(t, "send.buffer.bytes=-1", "receive.buffer.bytes=-1"); got != own {
		t.Errorf("-1: %v, want the system's %v", got, own)
	}
	// Linux reports twice the size, for its own accounting.
	if got, want := bufferSizes(t, "send.buffer.bytes=20000", "receive.buffer.bytes=30000"), [2]int{40000, 60000}; got != want {
		t.Errorf("20000 and 30000: %v, want %v", got, want)
	}
}

// bufferSizes returns the send and receive buffers of a connection made under
// the given properties, or of a plain one when there are none.
func bufferSizes(t *testing.T, words ...string) (sizes [2]int) {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	dial := (&net.Dialer{}).DialContext
	if len(words) > 0 {
		cl := client(t, parse(t, 1000, words...).Options()...)
		dial = cl.OptValue(kgo.Dialer).(func(context.Context, string, string) (net.Conn, error))
	}
	conn := must.Have(dial(t.Context(), "tcp", l.Addr().String()))(t)
	defer conn.Close()
	raw := must.Have(conn.(*net.TCPConn).SyscallConn())(t)
	must.Do(t, raw.Control(func(fd uintptr) {
		sizes[0], _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF)
		sizes[1], _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF)
	}))
	return sizes
}
