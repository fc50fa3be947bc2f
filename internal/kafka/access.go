package kafka

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/kafka/security"
)

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

// maxAnswer bounds an answer, unless the options of a client that reads say otherwise: it has room for the metadata of some
// 300,000 partitions.
const maxAnswer = 16 << 20

// client makes a client of the cluster at these addresses. All of kt's clients are made here,
// so that security settings have to be applied only once. The options come after those of the
// Access, and win. wrap puts a connection, inside TLS, into another one; it may be nil.
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
