//go:build integration

package cmd

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/must"
)

// batchLine is what DumpLogSegments says of a batch of records, and not of a marker of a transaction.
var batchLine = regexp.MustCompile(`baseOffset: \d+ .*count: (\d+) .*producerId: (-?\d+) .*isTransactional: (\w+) isControl: false .*compresscodec: (\w+)`)

// wrote is what a log shows of its producer.
type wrote struct {
	records, batches      int
	idempotent            bool
	transactional, codecs string
}

// asked is what a request to produce says, as the broker logs it. The broker logs an id for the topic.
type asked struct {
	clientID, transactionalID string
	acks, timeoutMs           int
}

// propertiesHaveTheEffectOfKafkas writes with Kafka's own producer and with kt, by one file of properties, and compares
// the two logs and the requests.
func (k *kafkaCluster) propertiesHaveTheEffectOfKafkas(t *testing.T) {
	const records, slowly = 2000, 200
	const timeout, longer = 30_000, 45_000 // Kafka's request.timeout.ms, and another
	cases := []struct {
		properties []string
		rate       int
		alike      float64 // ratio of the numbers of batches, either way
		asked      asked
	}{
		// The last batch is not full, and a busy machine fills some more.
		{[]string{"linger.ms=2000", "batch.size=2000", "client.id=small"}, -1, 1.3, asked{"small", "null", -1, timeout}},
		{[]string{"linger.ms=2000", "batch.size=20000", "compression.type=lz4", "client.id=lz4", "request.timeout.ms=45000"}, -1, 1.3, asked{"lz4", "null", -1, longer}},
		{[]string{"linger.ms=2000", "enable.idempotence=false", "acks=0", "client.id=none at all"}, -1, 1.3, asked{"none at all", "null", 0, timeout}},
		{[]string{"linger.ms=2000", "transactional.id=both", "acks=all", "client.id=all"}, -1, 1.3, asked{"all", `"both"`, -1, timeout}},
		// Kafka's tool keeps a low rate in steps, longer ones on a busy machine.
		{[]string{"linger.ms=100", "client.id=slow"}, slowly, 2, asked{"slow", "null", -1, timeout}},
	}
	k.logRequests()
	tools := []string{"kafka", "kt"}
	topic := func(i int, tool string) string { return fmt.Sprintf("properties-%d-%s", i, tool) }
	var topics []string
	for i := range cases {
		for _, tool := range tools {
			topics = append(topics, topic(i, tool))
		}
	}
	must.Have(k.admin().CreateTopics(t.Context(), 1, 1, nil, topics...))(t)
	wanted := func(rate int) int {
		if rate > 0 {
			return 5 * rate // a client on a busy machine sends the first second of records at once
		}
		return records
	}
	for i, tc := range cases {
		file := filepath.Join(t.TempDir(), "client.properties")
		must.Do(t, os.WriteFile(file, []byte(strings.Join(tc.properties, "\n")), 0o600))
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
	logs, requests := k.logs(topics), k.requests(t, topics)
	for i, tc := range cases {
		for _, tool := range tools {
			if got := requests[topic(i, tool)]; len(got) != 1 || !got[tc.asked] {
				t.Errorf("%v: the requests of %s are %+v, want %+v", tc.properties, tool, got, tc.asked)
			}
		}
		kafka, kt := logs[topic(i, "kafka")], logs[topic(i, "kt")]
		ratio := float64(kt.batches) / float64(kafka.batches)
		kt.batches = kafka.batches
		tooMany := ratio > tc.alike
		if tc.rate > 0 { // in 5 s there are 50 times 100 ms, whatever the other tool did
			tooMany = ratio*float64(kafka.batches) > 60 || kafka.batches > 60
		}
		if kt != kafka || kafka.records != wanted(tc.rate) || tooMany || ratio < 1/tc.alike {
			t.Errorf("%v: Kafka's producer %+v; kt %+v, with %.2f times the batches", tc.properties, kafka, kt, ratio)
		}
	}
}

// producedAsThey runs kt with a command line of Kafka's tool.
func (k *kafkaCluster) producedAsThey(args []string) {
	k.t.Helper()
	path := must.Have(binary())(k.t)
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
		n := must.Have(strconv.Atoi(batch[1]))(k.t)
		w := all[topic]
		codec := batch[4]
		if codec == "none" { // a batch may be too small to get smaller
			codec = cmp.Or(w.codecs, codec)
		}
		all[topic] = wrote{w.records + n, w.batches + 1, batch[2] != "-1", batch[3], codec}
	}
	return all
}

// logRequests lets the broker log its requests.
func (k *kafkaCluster) logRequests() {
	k.t.Helper()
	debug := "DEBUG"
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	request.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeBrokerLogger, ResourceName: "1",
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "kafka.request.logger", Op: kmsg.IncrementalAlterConfigOpSet, Value: &debug}},
	}}
	answer := must.Have(request.RequestWith(k.t.Context(), k.client().Broker(1)))(k.t)
	must.Do(k.t, kerr.ErrorForCode(answer.Resources[0].ErrorCode))
}

// requestLine is what a broker logs of a request to produce.
var requestLine = regexp.MustCompile(`"clientId":"([^"]*)","requestApiKeyName":"PRODUCE"},"request":{"transactionalId":([^,]+),"acks":(-?\d+),"timeoutMs":(\d+),"topicData":\[{"topicId":"([^"]+)"`)

// requests returns what the requests to produce to each topic have said.
func (k *kafkaCluster) requests(t *testing.T, topics []string) map[string]map[asked]bool {
	t.Helper()
	found := must.Have(k.admin().ListTopics(t.Context(), topics...))(t)
	names := make(map[string]string)
	for name, topic := range found {
		names[base64.RawURLEncoding.EncodeToString(topic.ID[:])] = name
	}
	all := make(map[string]map[asked]bool)
	for _, line := range requestLine.FindAllStringSubmatch(k.script("logs"), -1) {
		name := names[line[5]]
		if all[name] == nil {
			all[name] = make(map[asked]bool)
		}
		acks, _ := strconv.Atoi(line[3]) // they are digits
		timeout, _ := strconv.Atoi(line[4])
		all[name][asked{line[1], line[2], acks, timeout}] = true
	}
	return all
}
