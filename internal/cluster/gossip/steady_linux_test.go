package gossip

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// BenchmarkSteadyState measures the cost of an idle gossip: CPU time and sent bytes, with headers,
// for each agent and second. It counts the bytes of the loopback interface, so it needs a network
// namespace of its own:
//
//	unshare -n sh -c 'ip link set lo up; go test -run - -bench SteadyState -benchtime 1x'
//
// One round takes two minutes, in which each of 16 agents exchanges its table twice.
func BenchmarkSteadyState(b *testing.B) {
	for _, n := range []int{16, 64} {
		b.Run(fmt.Sprint(n, "agents"), func(b *testing.B) {
			agents := make([]*node, n)
			for i := range agents {
				o := setup{Key: key(b, 1), Info: Info{Role: "client", Tags: []string{"rack-7", "ssd"}}}
				if i > 0 {
					o.Join = []string{agents[0].Addr()}
				}
				agents[i], _ = agent(b, fmt.Sprintf("vm%02d", i), o)
			}
			for _, g := range agents {
				eventually(b, g.name+" sees all", func() bool { return len(g.Members()) == n })
			}
			<-time.After(time.Minute) // until the exchanges after a start are over
			bytes, cpu, began := loopback(b), used(b), time.Now()
			for b.Loop() {
				<-time.After(2 * time.Minute)
			}
			each := time.Since(began).Seconds() * float64(n)
			b.ReportMetric(float64(loopback(b)-bytes)/each, "B/s/agent")
			b.ReportMetric(float64((used(b)-cpu).Microseconds())/each, "cpu-µs/s/agent")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// loopback returns the number of bytes that lo has sent.
func loopback(b *testing.B) int64 {
	b.Helper()
	data := must.Have(os.ReadFile("/proc/self/net/dev"))(b)
	_, lo, _ := bytes.Cut(data, []byte("lo:"))
	return must.Have(strconv.ParseInt(string(bytes.Fields(lo)[8]), 10, 64))(b)
}

// used returns the CPU time of this process.
func used(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
