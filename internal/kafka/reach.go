package kafka

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/kafka/security"
)

// reachAll asks all addresses at once. It returns those of brokers, and an error for each of the others.
func (a Access) reachAll(ctx context.Context) (reached []string, unreached []error) {
	errs := make([]error, len(a.Bootstrap))
	var wg sync.WaitGroup
	for i, addr := range a.Bootstrap {
		wg.Go(func() { errs[i] = a.reach(ctx, addr) })
	}
	wg.Wait()
	for i, err := range errs {
		if err == nil {
			reached = append(reached, a.Bootstrap[i])
		} else {
			unreached = append(unreached, fmt.Errorf("%s: %w", a.Bootstrap[i], err))
		}
	}
	return reached, unreached
}

var errNoConnection = errors.New("no connection")

// reach returns nil when a Kafka broker answers at an address. Its error names the kind of server that answers instead.
func (a Access) reach(ctx context.Context, addr string) error {
	within := cmp.Or(a.Timeout, defaultTimeout)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	part := within
	if a.Security.Encrypts() { // a TLS handshake leaves a part of the time to ask in plain text
		part = within * 3 / 4
	}
	connecting, connected := context.WithTimeout(ctx, part)
	defer connected()
	conn, err := a.Security.Dial((&net.Dialer{}).DialContext)(connecting, "tcp", addr)
	var handshake *security.HandshakeError
	switch {
	case errors.As(err, &handshake):
		return a.noTLS(ctx, addr, err)
	case errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w within %s", errNoConnection, within)
	case err != nil:
		return errorCause(err)
	}
	answer, err := askVersions(ctx, conn)
	_ = conn.Close() // it was only a question
	switch who := speaks(answer); {
	case who == kafkaBroker:
		return nil
	case who == unknownYet && errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("it accepts connections but did not answer within %s: check that a Kafka broker listens there, and its log", within)
	case who == tlsPort, len(answer) == 0 && !a.Security.Encrypts() && speaksTLS(ctx, addr):
		return fmt.Errorf("a TLS port answers, but security.protocol is %s: set it to SSL or SASL_SSL, or name a port without TLS", a.Security.Protocol())
	case who != unknownYet || len(answer) > 0:
		return stranger(who, answer)
	case a.Security.Encrypts():
		return a.cause(err) // with TLS 1.3 a refused certificate shows here
	case speaksZooKeeper(ctx, addr):
		return errZooKeeper
	}
	return errors.New("it closes the connection on a Kafka request: name a PLAINTEXT listener of a broker")
}

func stranger(who who, answer []byte) error {
	if who == httpServer {
		return errors.New("an HTTP server answers, and no Kafka broker: name the port of a broker")
	}
	return fmt.Errorf("it answers %.20q, which is not a Kafka broker's answer: name the port of a broker", answer)
}

// noTLS returns the error of an address where the TLS handshake failed: it asks in plain text who is there.
func (a Access) noTLS(ctx context.Context, addr string, failed error) error {
	var record tls.RecordHeaderError
	if !errors.As(failed, &record) && !slices.ContainsFunc([]error{context.DeadlineExceeded, os.ErrDeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE}, func(as error) bool { return errors.Is(failed, as) }) {
		return a.Security.Explain(failed) // it did not fail as it does where no TLS is spoken
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return a.Security.Explain(failed)
	}
	defer func() { _ = conn.Close() }() // it was only a question
	answer, _ := askVersions(ctx, conn) // nothing is an answer too
	switch who := speaks(answer); {
	case who == kafkaBroker:
		return fmt.Errorf("the broker speaks plain text there, but security.protocol is %s: name a port with TLS, or set it to PLAINTEXT or SASL_PLAINTEXT", a.Security.Protocol())
	case who == httpServer:
		return stranger(who, answer)
	case speaksZooKeeper(ctx, addr):
		return errZooKeeper
	}
	return a.Security.Explain(failed)
}

func (a Access) refused(ctx context.Context, addr string, failed error) error {
	has := a.mechanisms(ctx, addr)
	switch {
	case errors.Is(failed, kerr.UnsupportedSaslMechanism) && len(has) > 0:
		return fmt.Errorf("the broker does not have the mechanism %s: set sasl.mechanism to %s", a.Security.Mechanism(), strings.Join(has, " or "))
	case a.Security.Mechanism() == "" && len(has) > 0:
		protocol := "SASL_PLAINTEXT"
		if a.Security.Encrypts() {
			protocol = "SASL_SSL"
		}
		return fmt.Errorf("the broker wants SASL: set security.protocol=%s, sasl.mechanism to %s, and sasl.jaas.config (--command-config client.properties)", protocol, strings.Join(has, " or "))
	}
	if explained := a.Security.Explain(failed); explained != failed { //nolint:errorlint // whether it is the same one
		return explained
	}
	if a.Security.Mechanism() != "" && errors.Is(failed, io.EOF) {
		return fmt.Errorf("it ends the connection while kt logs in by %s: check user name and password in sasl.jaas.config, and the broker's log", a.Security.Mechanism())
	}
	return fmt.Errorf("it answers as a Kafka broker, but gives no metadata: %w", errorCause(failed))
}

// mechanisms asks a broker for its SASL mechanisms; none: it wants no SASL, or does not say.
func (a Access) mechanisms(ctx context.Context, addr string) []string {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(a.Timeout, defaultTimeout))
	defer cancel()
	conn, err := a.Security.Dial((&net.Dialer{}).DialContext)(ctx, "tcp", addr)
	if err != nil {
		return nil
	}
	defer func() { _ = conn.Close() }() // it was only a question
	request := kmsg.NewPtrSASLHandshakeRequest()
	request.Version, request.Mechanism = 1, "?" // no broker has it, so all say what they have
	answer, _ := ask(ctx, conn, request, func(answer []byte) bool {
		return len(answer) >= 4 && uint64(len(answer)) >= 4+uint64(binary.BigEndian.Uint32(answer))
	})
	response := request.ResponseKind().(*kmsg.SASLHandshakeResponse)
	const header = 8 // size and correlation
	if len(answer) < header || response.ReadFrom(answer[header:]) != nil || response.ErrorCode != kerr.UnsupportedSaslMechanism.Code {
		return nil
	}
	return response.SupportedMechanisms
}

// correlation comes back with an answer. A server of lines takes its line ends for the end of a request, and answers too.
const correlation = 0x0d0a0d0a // "\r\n\r\n"

// askVersions sends ApiVersions, which a broker answers to any client, and reads until the kind of server is known.
func askVersions(ctx context.Context, conn net.Conn) (answer []byte, err error) {
	const enough = 64
	return ask(ctx, conn, kmsg.NewPtrApiVersionsRequest(), // of version 0
		func(answer []byte) bool { return len(answer) >= enough || speaks(answer) != unknownYet })
}

func ask(ctx context.Context, conn net.Conn, request kmsg.Request, enough func(answer []byte) bool) (answer []byte, err error) {
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline) // it fails on a closed connection only, and so does the next line
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("kt")).AppendRequest(nil, request, correlation)); err != nil {
		return nil, err
	}
	const most = 4 << 10
	for len(answer) < most && !enough(answer) {
		part := make([]byte, 64)
		n, err := conn.Read(part)
		answer = append(answer, part[:n]...)
		if err != nil {
			return answer, err
		}
	}
	return answer, nil
}

type who int

const (
	unknownYet who = iota
	kafkaBroker
	httpServer
	tlsPort
)

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

// speaksTLS reports whether a server takes part in a TLS handshake or refuses one with an alert. Nothing is sent over it.
func speaksTLS(ctx context.Context, addr string) bool {
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // only whether there is TLS
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = conn.Close()
		return true
	}
	var remote *net.OpError // a remote alert is no tls.AlertError
	return errors.As(err, &remote) && remote.Op == "remote error"
}

var (
	errZooKeeper  = errors.New("ZooKeeper answers, and no Kafka broker: name the port of a broker")
	errController = errors.New("a KRaft controller answers, and no broker: name the port of a broker (listeners, not controller.listener.names)")
)

// isController reports whether the server that was reached knows Kafka's protocol, but no metadata of topics.
func (c *Cluster) isController(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	answer, err := versionsRequest().RequestWith(ctx, c.client.SeedBrokers()[0])
	isMetadata := func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == (&kmsg.MetadataRequest{}).Key() }
	return err == nil && len(answer.ApiKeys) > 0 && !slices.ContainsFunc(answer.ApiKeys, isMetadata)
}

func versionsRequest() *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "kt", "1" // a broker refuses empty ones
	return req
}

// speaksZooKeeper reports whether a server answers one of ZooKeeper's commands, with its state or with a refusal.
func speaksZooKeeper(ctx context.Context, addr string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }() // it was only a question
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return false
	}
	answer := make([]byte, 64)
	n, _ := conn.Read(answer)
	return bytes.HasPrefix(answer[:n], []byte("Zookeeper version")) || bytes.HasPrefix(answer[:n], []byte("srvr is not executed"))
}
