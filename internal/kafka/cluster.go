package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/theme"
)

// Cluster is a cluster that kt is connected to. It is asked for brokers, topics, settings and offsets, and makes the clients
// that carry a load.
type Cluster struct {
	access Access
	client *kgo.Client
	admin  *kadm.Client

	Info      result.Cluster
	Unreached []error // bootstrap addresses that did not answer, while another did

	shareVersion int16 // the feature share.version: 0 is a cluster without share groups
}

const dialTimeout = 5 * time.Second

// AdminTimeout is how long the brokers may take to answer what a Cluster asks, with all tries.
const AdminTimeout = 15 * time.Second

// Connect connects to a cluster. Its errors name the addresses that were tried and what answered there.
func Connect(ctx context.Context, a Access) (*Cluster, error) {
	var err error
	if a.Bootstrap, err = normaliseBootstrap(a.Bootstrap); err != nil {
		return nil, err
	}
	reached, unreached := a.reachAll(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var foreign *secret.BindingError
	if err := errors.Join(unreached...); len(reached) == 0 || errors.As(err, &foreign) {
		return nil, fmt.Errorf("no broker reached: %w", err)
	}
	client, err := a.client(
		nil, kgo.SeedBrokers(reached...), kgo.RequestRetries(3), // a cluster that is away is reported soon
		kgo.DialTimeout(dialTimeout), kgo.RequestTimeoutOverhead(dialTimeout),
		kgo.RetryTimeout(AdminTimeout), kgo.MetadataMinAge(leaderPoll), // or a new topic would be looked up in a cache
	)
	if err != nil {
		return nil, err
	}
	c := &Cluster{access: a, client: client, admin: kadm.NewClient(client), Unreached: unreached}
	c.admin.SetTimeoutMillis(int32(AdminTimeout.Milliseconds()))
	defer context.AfterFunc(ctx, client.Close)() // a client that logs in asks for a token whatever ctx of its question
	if err := c.describe(ctx); err != nil {
		defer c.Close()
		if gone := ctx.Err(); errors.Is(gone, context.Canceled) { // it has closed the client
			return nil, gone
		}
		if strings.Contains(err.Error(), "BrokerMaxReadBytes") { // the client has no type for it
			return nil, fmt.Errorf("%s: a broker answers with more than %s: check what answers at that address", strings.Join(reached, ","), theme.Bytes(maxAnswer))
		}
		loggedIn := a.Security.Explain(err) == err //nolint:errorlint // whether it is the same one; else asking again waits again
		if loggedIn && c.isController(ctx) {
			unreached = append(unreached, fmt.Errorf("%s: %w", strings.Join(reached, ","), errController))
			return nil, fmt.Errorf("no broker reached: %w", errors.Join(unreached...))
		}
		return nil, fmt.Errorf("%s: %w", strings.Join(reached, ","), a.refused(ctx, reached[0], err))
	}
	if err := result.CheckBrokers(len(c.Info.Brokers)); err != nil {
		c.Close()
		return nil, fmt.Errorf("%s: %w", strings.Join(reached, ","), err)
	}
	return c, nil
}

// Client returns a client with connections of its own, which its caller closes. The options win over those of the Access; seed
// brokers among them must be brokers of this cluster.
func (c *Cluster) Client(opts ...kgo.Opt) (*kgo.Client, error) { return c.access.client(nil, opts...) }

// ClientOver is Client, with connections inside others. wrap must not change their deadlines.
func (c *Cluster) ClientOver(wrap func(net.Conn) net.Conn, opts ...kgo.Opt) (*kgo.Client, error) {
	return c.access.client(wrap, opts...)
}

// Close closes the connection that the Cluster itself has.
func (c *Cluster) Close() { c.admin.Close() }

func (c *Cluster) describe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	m, err := c.admin.BrokerMetadata(ctx)
	if err != nil {
		return err
	}
	c.Info = result.Cluster{ID: theme.Name(m.Cluster), Controller: m.Controller}
	for _, b := range m.Brokers {
		info := result.Broker{ID: b.NodeID, Addr: net.JoinHostPort(theme.Name(b.Host), fmt.Sprint(b.Port))}
		if b.Rack != nil {
			info.Rack = theme.Name(*b.Rack)
		}
		c.Info.Brokers = append(c.Info.Brokers, info)
		c.access.Security.Bound.Learn(net.JoinHostPort(b.Host, fmt.Sprint(b.Port)))
	}
	slices.SortFunc(c.Info.Brokers, func(a, b result.Broker) int { return cmp.Compare(a.ID, b.ID) })
	answer, err := versionsRequest().RequestWith(ctx, c.client.SeedBrokers()[0]) // it has answered: one that hangs would hold up a question to all
	if err != nil {
		return err
	}
	var versions kversion.Versions
	for _, k := range answer.ApiKeys {
		versions.SetMaxKeyVersion(k.ApiKey, k.MaxVersion)
	}
	c.Info.Version = versions.VersionGuess()
	for _, f := range answer.FinalizedFeatures {
		if f.Name == "share.version" {
			c.shareVersion = f.MaxVersionLevel
		}
	}
	return nil
}

// AddressError is the error of a bootstrap server that is not written HOST:PORT.
type AddressError struct{ text string }

func (e *AddressError) Error() string { return e.text }

// normaliseBootstrap returns the addresses without the space around them. Each needs a port.
func normaliseBootstrap(addrs []string) ([]string, error) {
	var errs []error
	var out []string
	for _, a := range addrs {
		a = strings.TrimSpace(a)
		host, port, err := net.SplitHostPort(a)
		switch {
		case a == "":
			continue
		case err != nil || host == "" || port == "":
			errs = append(errs, &AddressError{fmt.Sprintf("bootstrap server %q: write HOST:PORT, as in localhost:9092", a)})
		default:
			if _, err := net.LookupPort("tcp", port); err != nil {
				errs = append(errs, &AddressError{fmt.Sprintf("bootstrap server %q: %q is not a port", a, port)})
				continue
			}
			out = append(out, a)
		}
	}
	if len(out) == 0 && len(errs) == 0 {
		errs = append(errs, &AddressError{"no bootstrap server given: write HOST:PORT, as in localhost:9092"})
	}
	return out, errors.Join(errs...)
}

func (a Access) cause(err error) error {
	if explained := a.Security.Explain(err); explained != err { //nolint:errorlint // whether it is the same one
		return explained
	}
	return errorCause(err)
}

// errorCause returns a network error without its operation, address and path.
func errorCause(err error) error {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return errors.New(dns.Err)
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var op *net.OpError
	if !errors.As(err, &op) {
		return err
	}
	var sys *os.SyscallError
	if errors.As(op.Err, &sys) {
		return sys.Err
	}
	return op.Err
}

// Access is how to get to a cluster.
//
// It stays in the process that connects: no plan, no run file and no message to an agent
// holds one. So it is the place for TLS and SASL, with a secret.Text for every password.
type Access struct {
	Bootstrap []string      // addresses to start from, HOST:PORT
	ClientID  string        // of clients that give themselves none; empty: kt
	Timeout   time.Duration // for each bootstrap server to answer Connect; 0: 5 s
	Security  security.Settings
}

// defaultTimeout is how long Connect waits for an address to answer.
const defaultTimeout = 5 * time.Second

// maxAnswer bounds an answer to a client that reads no records: it has room for the metadata of some 300,000 partitions.
const maxAnswer = 16 << 20

// client makes a client: all of kt's are made here. opts win. wrap, which may be nil, puts a connection into another one.
func (a Access) client(wrap func(net.Conn) net.Conn, opts ...kgo.Opt) (*kgo.Client, error) {
	opts = slices.Concat([]kgo.Opt{
		kgo.SeedBrokers(a.Bootstrap...),
		kgo.ClientID(cmp.Or(a.ClientID, "kt")),
		kgo.FetchMaxBytes(maxAnswer), kgo.BrokerMaxReadBytes(maxAnswer),
	}, a.Security.Options(), opts)
	if wrap != nil || a.Security.Encrypts() || a.Security.Bound != nil {
		asked, err := newClient(opts)
		if err != nil {
			return nil, err
		}
		dial := a.Security.Dial(asked.OptValue(kgo.Dialer).(security.Dialer)) // as all options make it
		for _, seed := range asked.OptValue(kgo.SeedBrokers).([]string) {
			err = errors.Join(err, a.Security.Bound.Permit(seed))
		}
		asked.Close()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
			a.Security.Bound.Learn(address) // beside its seeds, a client knows only addresses from brokers that it has logged in to
			conn, err := dial(ctx, network, address)
			if err != nil || wrap == nil {
				return conn, err
			}
			return wrap(conn), nil
		}))
	}
	return newClient(opts)
}

func newClient(opts []kgo.Opt) (*kgo.Client, error) { return kgo.NewClient(opts...) }

// Decompressor returns franz-go's, which decompresses a batch to so many bytes at most: only a client gives it a bound.
func Decompressor(most int, pool kgo.Pool) kgo.Decompressor {
	c, err := newClient([]kgo.Opt{kgo.MaxDecompressBatchBytes(most), kgo.WithDecompressor(kgo.DefaultDecompressor(pool))})
	if err != nil {
		panic(err) // the options are right
	}
	defer c.Close()
	return c.OptValue(kgo.WithDecompressor).(kgo.Decompressor)
}

// ErrorCode returns the name of a failure: Kafka's own for an error of a broker, "client:…" for one of the client. The set of
// names is small and fixed, because each is a counter.
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

// Closed returns the error of a client that could not connect to a cluster which has answered another client of this run. A
// broker that closes the connection at once has a limit of connections then, and its security is right.
func Closed(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		return err
	}
	return errors.New("a broker closed the connection at once, though it has answered kt before: max.connections.per.ip or max.connections may be reached; the broker's log says which")
}
