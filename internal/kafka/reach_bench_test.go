package kafka

import (
	"cmp"
	"os"
	"strings"
	"testing"
)

// What every load waits for before anything is made: connecting to the cluster, and asking each broker at the address that it
// advertises. KT_BOOTSTRAP_SERVER names a cluster other than the embedded one.
func BenchmarkReach(b *testing.B) {
	embedded, err := StartEmbedded(false)
	if err != nil {
		b.Fatal(err)
	}
	defer embedded.Close()
	servers := strings.Split(cmp.Or(os.Getenv("KT_BOOTSTRAP_SERVER"), strings.Join(embedded.Addrs(), ",")), ",")
	for b.Loop() {
		c, err := Connect(b.Context(), Access{Bootstrap: servers})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Reach(b.Context()); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}
