//go:build integration

package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// batchLine is what DumpLogSegments says of a batch of records, and not of a marker of a transaction.
var batchLine = regexp.MustCompile(`baseOffset: \d+ .*count: (\d+) .*producerId: (-?\d+) .*isTransactional: (\w+) isControl: false .*compresscodec: (\w+)`)

// wrote is what a log shows of its producer.
type wrote struct {
	records, batches      int
	idempotent            bool
	transactional, codecs string
}

// propertiesHaveTheEffectOfKafkas writes with Kafka's own producer and with kt, by one file of properties, and compares
// the two logs.
func (k *kafkaCluster) propertiesHaveTheEffectOfKafkas(t *testing.T) {
	const records, slowly = 2000, 200
	cases := []struct {
		properties []string
		rate       int
		alike      float64 // ratio of the numbers of batches, either way
	}{
		// The last batch is not full, and a busy machine fills some more.
		{[]string{"linger.ms=200", "batch.size=2000"}, -1, 1.3},
		{[]string{"linger.ms=200", "batch.size=20000", "compression.type=lz4"}, -1, 1.3},
		{[]string{"linger.ms=200", "enable.idempotence=false", "acks=1"}, -1, 1.3},
		{[]string{"linger.ms=200", "transactional.id=both", "acks=all"}, -1, 1.3},
		// Kafka's tool keeps a low rate in steps.
		{[]string{"linger.ms=100"}, slowly, 2},
	}
	tools := []string{"kafka", "kt"}
	topic := func(i int, tool string) string { return fmt.Sprintf("properties-%d-%s", i, tool) }
	var topics []string
	for i := range cases {
		for _, tool := range tools {
			topics = append(topics, topic(i, tool))
		}
	}
	if _, err := k.admin().CreateTopics(t.Context(), 1, 1, nil, topics...); err != nil {
		t.Fatal(err)
	}
	wanted := func(rate int) int {
		if rate > 0 {
			return 2 * rate
		}
		return records
	}
	for i, tc := range cases {
		file := filepath.Join(t.TempDir(), "client.properties")
		if err := os.WriteFile(file, []byte(strings.Join(tc.properties, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools {
			args := []string{
				"--topic", topic(i, tool), "--num-records", strconv.Itoa(wanted(tc.rate)), "--record-size", "100",
				"--throughput", strconv.Itoa(tc.rate), "--bootstrap-server", k.brokers, "--command-config", file,
			}
			if tool == "kafka" {
				k.tool("ProducerPerformance", args...)
			} else {
				k.producedAsThey(args)
			}
		}
	}
	logs := k.logs(topics)
	for i, tc := range cases {
		kafka, kt := logs[topic(i, "kafka")], logs[topic(i, "kt")]
		ratio := float64(kt.batches) / float64(kafka.batches)
		kt.batches = kafka.batches
		if kt != kafka || kafka.records != wanted(tc.rate) || ratio > tc.alike || ratio < 1/tc.alike {
			t.Errorf("%v: Kafka's producer %+v; kt %+v, with %.2f times the batches", tc.properties, kafka, kt, ratio)
		}
	}
}

// producedAsThey runs kt with a command line of Kafka's tool.
func (k *kafkaCluster) producedAsThey(args []string) {
	k.t.Helper()
	path, err := binary()
	if err != nil {
		k.t.Fatal(err)
	}
	c := exec.Command(path, append([]string{"produce", "--quiet", "--result", "none"}, args...)...)
	out, err := c.CombinedOutput()
	if err != nil && c.ProcessState.ExitCode() != exitNotValid { // a busy machine keeps no schedule
		k.t.Fatalf("kt %v: %v\n%s", args, err, out)
	}
}

// logs reads the logs of topics of one partition.
func (k *kafkaCluster) logs(topics []string) map[string]wrote {
	k.t.Helper()
	var files []string
	for _, topic := range topics {
		files = append(files, fmt.Sprintf("../.kafka/%s/broker-1/data/%s-0/00000000000000000000.log", k.name, topic))
	}
	all, topic := make(map[string]wrote), ""
	for line := range strings.Lines(k.tool("DumpLogSegments", "--files", strings.Join(files, ","))) {
		if file, ok := strings.CutPrefix(line, "Dumping "); ok {
			topic = strings.TrimSuffix(filepath.Base(filepath.Dir(file)), "-0")
		}
		batch := batchLine.FindStringSubmatch(line)
		if batch == nil {
			continue
		}
		n, err := strconv.Atoi(batch[1])
		if err != nil {
			k.t.Fatal(err)
		}
		w := all[topic]
		all[topic] = wrote{w.records + n, w.batches + 1, batch[2] != "-1", batch[3], batch[4]}
	}
	return all
}
