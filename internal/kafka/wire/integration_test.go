//go:build integration

package wire

import (
	"context"
	"math"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// taken reports whether somebody listens at a port of this machine.
func taken(port int) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return true
	}
	return l.Close() != nil
}

// The lanes begin just before the largest sequence, so that each wraps after its first batch. The broker in the process
// takes no first sequence but 0.
func TestSequencesWrapInTheMiddleOfALoad(t *testing.T) {
	const script = "../../../scripts/kafka"
	t.Cleanup(func() {
		out, err := exec.Command(script, "down", "--name", "wrap").CombinedOutput()
		must.True(t, err == nil, "%v\n%s", err, out)
	})
	port := 31_692
	for taken(port) || taken(port+1) {
		port += 2
	}
	out := must.Have(exec.Command(script, "up", "--name", "wrap", "--port", strconv.Itoa(port)).Output())(t)
	lines := strings.Fields(string(out))
	c := must.Have(kafka.Connect(t.Context(), kafka.Access{Bootstrap: lines[len(lines)-1:]}))(t)
	t.Cleanup(c.Close)
	topics := must.Have(c.EnsureTopics(t.Context(), plan.Plan{Topic: plan.Topic{Name: "t", Partitions: 3}}, false))(t)
	s := &scene{t, nil, c, topics[0].Partitions}
	d := s.producer(50_000, verified)
	d.sequence = math.MaxInt32 - 200
	sender := &remembering{Producer: d}
	w := s.runWith(d, sender)
	must.True(t, w.Acknowledged == 50_000 && len(w.Events) == 0,
		"%d acknowledged, %d failed: %v, events %v", w.Acknowledged, w.Failed, w.Errors, w.Events)
	got := s.read(50_000)
	must.True(t, len(got) != 0, "nothing was read")
	wrapped := 0
	for _, worker := range sender.workers {
		for _, l := range worker.lanes {
			if l.identity.sequence > math.MaxInt32 {
				wrapped++
			}
		}
	}
	must.True(t, wrapped >= 3, "the sequences of %d lanes wrapped, want those of 3 partitions at least", wrapped)
	v, _ := (&readScene{s}).verdict(s.book(d))
	sound(t, v, 50_000)
}

// remembering is a driver that keeps its workers.
type remembering struct {
	*Producer
	workers []*worker
}

func (d *remembering) Open(ctx context.Context, s *engine.Shard) (engine.Worker, error) {
	w, err := d.Producer.Open(ctx, s)
	if err == nil {
		d.workers = append(d.workers, w.(*worker))
	}
	return w, err
}
