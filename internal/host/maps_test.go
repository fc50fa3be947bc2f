package host

import (
	"strings"
	"testing"
)

func TestAProcessIsNearItsLimitOfMemoryMapsFromFourFifthsOn(t *testing.T) {
	for _, tc := range []struct {
		used  int
		limit string
		want  bool
	}{{799, "1000\n", false}, {800, "1000\n", true}, {1100, "1000\n", true}, {900, "", false}, {0, "1000\n", false}} {
		m := files(map[string]string{"proc/42/maps": strings.Repeat("area\n", tc.used), "proc/sys/vm/max_map_count": tc.limit}).Maps(42)
		if m.Used != int64(tc.used) || m.Near() != tc.want {
			t.Errorf("%d of %q: %+v, near is %t", tc.used, tc.limit, m, m.Near())
		}
	}
}
