//go:build integration

package cmd

import (
	"strings"
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
	d := compared("three-systems-node-down", "--set", "stop="+r.fault("kill"), "--set", "start="+r.fault("start"), "--set", "rate=300", "--run-time", "18s")
	for _, c := range d.Cells {
		for _, run := range c.Runs {
			l := run.Loads[0]
			if l.Lost == nil || *l.Lost > 0 || strings.HasPrefix(c.At["url"], "amqp:") != (l.Failed > 0) { // of a node that comes back with its disk
				t.Errorf("%s: %+v", c.At["url"], l.FaultFigures)
			}
		}
	}
}
