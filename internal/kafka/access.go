package kafka

import (
	"cmp"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Access is how to get to a cluster.
//
// It stays in the process that connects: no plan, no run file and no message to an agent
// holds one. So it is the place for TLS and SASL, with a secret.Text for every password.
type Access struct {
	Bootstrap []string      // addresses to start from, HOST:PORT
	ClientID  string        // of clients that give themselves none; empty: kt
	Timeout   time.Duration // for each bootstrap server to answer Connect; 0: 5 s
}

// defaultTimeout is how long Connect waits for an address to answer.
const defaultTimeout = 5 * time.Second

// client makes a client of the cluster at these addresses. All of kt's clients are made here,
// so that security settings have to be applied only once. The options come after those of the
// Access, and win.
func (a Access) client(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(a.Bootstrap...),
		kgo.ClientID(cmp.Or(a.ClientID, "kt")),
	}, opts...)...)
}
