package kafka

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// What every load waits for before anything is made: connecting to the cluster, and asking each broker at the address that it
// advertises. KT_BOOTSTRAP_SERVER names a cluster other than the embedded one.
func BenchmarkReach(b *testing.B) {
	embedded := must.Have(StartEmbedded(false))(b)
	defer embedded.Close()
	servers := strings.Split(cmp.Or(os.Getenv("KT_BOOTSTRAP_SERVER"), strings.Join(embedded.Addrs(), ",")), ",")
	for b.Loop() {
		c := must.Have(Connect(b.Context(), Access{Bootstrap: servers}))(b)
		must.Have(c.Reach(b.Context()))(b)
		c.Close()
	}
}
