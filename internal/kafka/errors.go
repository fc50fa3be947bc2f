package kafka

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrorCode returns the name of a failure: Kafka's own for an error of a broker, "client:…" for
// one of the client. The set of names is small and fixed, because each is a counter.
func ErrorCode(err error) string {
	// A timeout wraps the broker's last error. The timeout is the cause of the failure.
	for _, c := range []struct {
		err  error
		code string
	}{
		{kgo.ErrRecordTimeout, "client:DELIVERY_TIMEOUT"},
		{kgo.ErrRecordRetries, "client:RETRIES_EXHAUSTED"},
		{kgo.ErrMaxBuffered, "client:BUFFER_EXHAUSTED"},
		{kgo.ErrClientClosed, "client:CLOSED"},
		{kgo.ErrAborting, "client:ABORTED"},
		{context.Canceled, "client:CANCELLED"},
		{context.DeadlineExceeded, "client:TIMEOUT"},
	} {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	var loss *kgo.ErrDataLoss
	if errors.As(err, &loss) {
		return "client:DATA_LOSS"
	}
	var ke *kerr.Error
	if errors.As(err, &ke) {
		return ke.Message
	}
	var netErr net.Error
	if errors.As(err, &netErr) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "client:NETWORK"
	}
	return "client:OTHER"
}

// Closed returns the error of a client that could not connect to a cluster which has answered another client of this run. A broker
// that closes the connection at once has a limit of connections then, and its security is right.
func Closed(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		return err
	}
	return errors.New("a broker closed the connection at once, though it has answered kt before: max.connections.per.ip or max.connections may be reached; the broker's log says which")
}
