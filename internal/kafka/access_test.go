package kafka

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestClientsHaveTheAddressesAndTheNameOfTheAccessUnlessTheirOptionsDiffer(t *testing.T) {
	fake, err := kfake.NewCluster(kfake.NumBrokers(2))
	if err != nil {
		t.Fatal(err)
	}
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
			cluster, err := Connect(t.Context(), tc.access)
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			client, err := cluster.Client(tc.options...)
			if err != nil {
				t.Fatal(err)
			}
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
