package kafka

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/must"
)

// named returns the address of a broker whose metadata name n brokers, all but one at a port where nobody is, with a rack.
func named(t *testing.T, n int, host, rack string) string {
	t.Helper()
	fake := must.Have(kfake.NewCluster(kfake.NumBrokers(1)))(t)
	t.Cleanup(fake.Close)
	fake.ControlKey(int16(kmsg.Metadata), func(q kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		r := q.ResponseKind().(*kmsg.MetadataResponse)
		for i := range n {
			b := kmsg.NewMetadataResponseBroker()
			b.NodeID, b.Host, b.Port, b.Rack = int32(i), host, 1, &rack
			r.Brokers = append(r.Brokers, b)
		}
		return r, nil, true
	})
	return fake.ListenAddrs()[0]
}

func TestMoreBrokersThanAnyClusterHasAreRefused(t *testing.T) {
	_, err := Connect(t.Context(), Access{Bootstrap: []string{named(t, 5000, "127.0.0.1", "")}})
	if err == nil || !strings.Contains(err.Error(), "5000 brokers") {
		t.Errorf("error %v, want that there are 5000", err)
	}
}

func TestAnAnswerThatIsTooLargeIsNamed(t *testing.T) {
	_, err := Connect(t.Context(), Access{Bootstrap: []string{named(t, 20, "127.0.0.1", strings.Repeat("r", 1_000_000))}})
	if err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Errorf("error %v, want that the answer is too large", err)
	}
}

func TestOneLineStandsForManyBrokersThatDoNotAnswer(t *testing.T) {
	c, err := Connect(t.Context(), Access{Bootstrap: []string{named(t, 300, "127.0.0.1", strings.Repeat("r", 10_000))}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n := len(c.Info.Brokers[0].Rack); n > 300 {
		t.Errorf("a rack of %d bytes", n)
	}
	_, err = c.Reach(t.Context())
	if err == nil || strings.Count(err.Error(), "\n") != maxNamed || !strings.HasSuffix(err.Error(), "and 290 more brokers do not answer") {
		t.Errorf("error %v, want %d lines and one for the rest", err, maxNamed)
	}
}
