package probe

import (
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestTheCommandThatARowStandsFor(t *testing.T) {
	for _, r := range []struct {
		dir  string
		row  Row
		want string
	}{
		{"/data/kafka1", Row{Block: 8192, Count: 300000, Direct: true}, "dd if=/dev/zero of=/data/kafka1/f bs=8k count=300000 oflag=direct"},
		{"/data/kafka1", Row{Block: 81920000, Count: 30}, "dd if=/dev/zero of=/data/kafka1/f bs=80000k count=30"},
		{"/data/kafka1", Row{Block: mib, Count: 65536, Direct: true}, "dd if=/dev/zero of=/data/kafka1/f bs=1M count=65536 oflag=direct"},
		{"/data/it's 1", Row{Block: 2300, Count: 1}, `dd if=/dev/zero of='/data/it'\''s 1/f' bs=2300 count=1`},
	} {
		must.Match(t, r.want, ddCommand(r.dir, r.row), "ddCommand(%q, %+v)", r.dir, r.row)
	}
}
