package javaconf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Options returns the franz-go options for one client. The caller adds hooks.
func (s Producer) Options() []kgo.Opt { return options(properties(), s) }

func options[S reader](table []property[S], s S) []kgo.Opt {
	var opts []kgo.Opt
	for _, p := range table {
		if p.apply != nil {
			opts = append(opts, p.apply(s)...)
		}
	}
	return opts
}

// retryBackoff returns Java's pause after a number of failures in a row. It starts at initial,
// doubles up to longest, and varies by a fifth either way so that clients do not retry together.
// If longest is no higher than initial, the pause is longest, without variation.
func retryBackoff(initial, longest time.Duration) func(fails int) time.Duration {
	if longest <= initial {
		return func(int) time.Duration { return longest }
	}
	// Java limits the power, not only the result, so that the variation still
	// shows once the pause has reached its limit.
	growth := math.Log2(float64(longest) / float64(max(initial, time.Millisecond)))
	return func(fails int) time.Duration {
		power := math.Pow(2, min(float64(max(fails-1, 0)), growth))
		pause := float64(initial) * power * (0.8 + 0.4*rand.Float64())
		return min(time.Duration(pause), longest)
	}
}

// dialer connects as Java does: with a time limit, and with socket buffers of a fixed size unless
// the size is negative. Java sets the sizes before it connects, dialer just after, which works on
// every system. Linux does not grow buffers of a fixed size.
func dialer(timeout time.Duration, send, receive int) func(context.Context, string, string) (net.Conn, error) {
	d := &net.Dialer{Timeout: timeout}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if err := setBuffers(conn, send, receive); err != nil {
			return nil, errors.Join(fmt.Errorf("set socket buffers: %w", err), conn.Close())
		}
		return conn, nil
	}
}

func setBuffers(conn net.Conn, send, receive int) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	var errs []error
	if send >= 0 {
		errs = append(errs, tcp.SetWriteBuffer(send))
	}
	if receive >= 0 {
		errs = append(errs, tcp.SetReadBuffer(receive))
	}
	return errors.Join(errs...)
}
