package kafka

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// reachAll asks all addresses at once whether a Kafka broker answers, each within the same
// time. It returns the addresses of brokers, and an error for each of the others.
func reachAll(ctx context.Context, addrs []string, within time.Duration) (reached []string, unreached []error) {
	errs := make([]error, len(addrs))
	var wg sync.WaitGroup
	for i, addr := range addrs {
		wg.Go(func() { errs[i] = reach(ctx, addr, within) })
	}
	wg.Wait()
	for i, err := range errs {
		if err == nil {
			reached = append(reached, addrs[i])
		} else {
			unreached = append(unreached, fmt.Errorf("%s: %w", addrs[i], err))
		}
	}
	return reached, unreached
}

// reach returns nil when a Kafka broker answers at an address in plain text. Its error names
// the kind of server that answers instead, as far as its first bytes show it.
func reach(ctx context.Context, addr string, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("no connection within %s", within)
		}
		return errorCause(err)
	}
	answer, err := askVersions(ctx, conn)
	_ = conn.Close() // it was only a question
	switch who := speaks(answer); {
	case who == kafkaBroker:
		return nil
	case who == unknownYet && errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("it accepts connections but did not answer within %s: check that a Kafka broker listens there, and its log", within)
	case who == tlsPort, len(answer) == 0 && speaksTLS(ctx, addr):
		return errors.New("a TLS port answers: kt connects in plain text, so name a PLAINTEXT listener")
	case who == httpServer:
		return errors.New("an HTTP server answers, and no Kafka broker: name the port of a broker")
	case len(answer) > 0:
		return fmt.Errorf("it answers %.20q, which is not a Kafka broker's answer: name the port of a broker", answer)
	}
	return errors.New("it closes the connection on a Kafka request: name a PLAINTEXT listener of a broker")
}

// correlation is the number that a broker sends back with its answer. It is two ends of a
// line, so that a server of lines takes it for the end of a request and answers too.
const correlation = 0x0d0a0d0a // "\r\n\r\n"

// askVersions sends ApiVersions, which a broker answers to any client, and reads until the
// kind of server is known. An error may come with the beginning of an answer.
func askVersions(ctx context.Context, conn net.Conn) (answer []byte, err error) {
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline) // it fails on a closed connection only, and so does the next line
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	request := kmsg.NewPtrApiVersionsRequest() // of version 0
	if _, err := conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("kt")).AppendRequest(nil, request, correlation)); err != nil {
		return nil, err
	}
	const enough = 64
	for len(answer) < enough {
		part := make([]byte, enough)
		n, err := conn.Read(part)
		answer = append(answer, part[:n]...)
		if err != nil {
			return answer, err
		}
		if speaks(answer) != unknownYet {
			break
		}
	}
	return answer, nil
}

// who is the kind of a server.
type who int

const (
	unknownYet who = iota
	kafkaBroker
	httpServer
	tlsPort
)

// speaks returns the kind of server whose answer begins like this.
func speaks(answer []byte) who {
	const sizeBytes, alert = 4, 0x15
	switch {
	case bytes.HasPrefix(answer, []byte("HTTP/")), bytes.HasPrefix(bytes.ToLower(answer), []byte("<!doctype html")), bytes.HasPrefix(answer, []byte("<html")):
		return httpServer // without a header where it takes the request for one of HTTP/0.9
	case len(answer) >= 2 && answer[0] == alert && answer[1] == 3: // and the minor version
		return tlsPort
	case len(answer) >= 2*sizeBytes && binary.BigEndian.Uint32(answer[sizeBytes:]) == correlation:
		return kafkaBroker
	}
	return unknownYet
}

// speaksTLS reports whether a server takes part in a TLS handshake or refuses one with an
// alert. Its certificate is not checked, because nothing is sent over the connection.
func speaksTLS(ctx context.Context, addr string) bool {
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // only whether there is TLS
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = conn.Close()
		return true
	}
	var refused tls.AlertError
	return errors.As(err, &refused)
}
