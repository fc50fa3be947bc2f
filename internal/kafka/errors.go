package kafka

import (
	"context"
	"errors"
	"io"
	"net"

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
