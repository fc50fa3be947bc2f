package kafka

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/must"
)

func TestClientsHaveTheAddressesAndTheNameOfTheAccessUnlessTheirOptionsDiffer(t *testing.T) {
	fake := must.Have(kfake.NewCluster(kfake.NumBrokers(2)))(t)
	t.Cleanup(fake.Close)
	addrs := fake.ListenAddrs()
	for _, tc := range []struct {
		name    string
		access  Access
		options []kgo.Opt
		id      string
		seeds   []string
	}{
		{"without a name", Access{Bootstrap: addrs}, nil, "kt", addrs},
		{"with spaces in the addresses", Access{Bootstrap: []string{" " + addrs[0], addrs[1] + " "}, ClientID: "admin"}, nil, "admin", addrs},
		{"with options", Access{Bootstrap: addrs, ClientID: "admin"}, []kgo.Opt{kgo.ClientID("watch"), kgo.SeedBrokers(addrs[1])}, "watch", addrs[1:]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cluster := must.Have(Connect(t.Context(), tc.access))(t)
			defer cluster.Close()
			client := must.Have(cluster.Client(tc.options...))(t)
			defer client.Close()
			if id := client.OptValue(kgo.ClientID); id != tc.id {
				t.Errorf("client id %q, want %q", id, tc.id)
			}
			if seeds := client.OptValue(kgo.SeedBrokers).([]string); !slices.Equal(seeds, tc.seeds) {
				t.Errorf("starts from %q, want %q", seeds, tc.seeds)
			}
		})
	}
}
