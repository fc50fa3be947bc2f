//go:build integration

package cmd

import (
	"testing"

	"github.com/kt-bench/kt/internal/study"
)

// One load on Kafka, RabbitMQ and Pulsar, by the named studies in their shortest form.
func TestThreeSystemsAreCompared(t *testing.T) {
	k, r, p := startCluster(t, 1), startRabbit(t), startPulsar(t)
	short := []string{
		"--set", "kafka=kafka://" + k.brokers, "--set", "rabbitmq=" + r.url, "--set", "pulsar=" + p.url, "--set", "command-config=" + r.config,
		"--set", "partitions=4", "--repeats", "1", "--discard", "0", "--rest", "0",
	}
	compared := func(name string, args ...string) study.Document {
		t.Helper()
		d := k.studiedAt(t, name, append(args, short...)...)
		if len(d.NotEqual) != 3 {
			t.Errorf("%s: what is not equal is %q", name, d.NotEqual)
		}
		for _, c := range d.Cells {
			if c.Throughput.N != 1 || c.Throughput.Median < 100 {
				t.Errorf("%s: cell %v: %+v", name, c.At, c.CellFigures)
			}
		}
		return d
	}
	if d := compared("three-systems", "--set", "rate=200,400", "--run-time", "2s"); len(d.Cells) != 6 || len(d.Answers) != 4 {
		t.Errorf("%d cells, %d answers", len(d.Cells), len(d.Answers))
	}
	compared("three-systems-latency", "--set", "rate=300", "--run-time", "2s")
	// Faults of each system have tests of their own.
	for _, c := range compared("three-systems-node-down", "--set", "stop=true", "--set", "start=true", "--set", "rate=300", "--run-time", "3s").Cells {
		for _, run := range c.Runs {
			if l := run.Loads[0]; l.Lost == nil || *l.Lost > 0 || l.Failed > 0 {
				t.Errorf("%s: %+v", c.At["url"], l.FaultFigures)
			}
		}
	}
}
