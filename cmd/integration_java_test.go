//go:build integration

package cmd

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// HdrHistogram's Java classes come with Kafka.
func TestHdrHistogramsJavaToolsReadWhatKtWrites(t *testing.T) {
	t.Parallel()
	path := must.Have(binary())(t)
	dir := t.TempDir()
	kt := func(args ...string) []byte {
		out, stderr, code := ran(t, exec.Command(path, args...))
		must.Hold(t, code == exitOK || code == exitNotValid, "kt %v: exit code %d\n%s", args, code, stderr) // on a busy machine
		return out
	}
	file, log := filepath.Join(dir, "run.ktr"), filepath.Join(dir, "run.hlog")
	text := kt("roundtrip", "--rate", "2000", "--duration", "4s", "--warmup", "1s", "--result", file, "--output", "json")
	var res result.Result
	var encoded struct {
		Histograms struct {
			EndToEnd struct {
				HDR string `json:"hdr_v2_base64"`
			} `json:"end_to_end"`
		}
	}
	for _, into := range []any{&res, &encoded} {
		must.Do(t, json.Unmarshal(text, into))
	}
	must.Do(t, os.WriteFile(log, kt("report", file, "--output", "hlog"), 0o600))
	tags, tables, _ := strings.Cut(javaTool(t, "testdata/ReadHistograms.java", log, encoded.Histograms.EndToEnd.HDR), "       Value")
	unprocessed, processed, _ := strings.Cut(tables, "processed\n")
	checkTags(t, tags, &res)
	checkRows(t, percentileRows(string(kt("report", file, "--output", "hgrm"))), percentileRows(unprocessed))
	checkProcessed(t, processed, res.Latency.EndToEnd)
}

// checkTags checks the lines that Java prints of a log.
func checkTags(t *testing.T, lines string, res *result.Result) {
	t.Helper()
	wants := map[string]*result.Latency{
		"-": res.Latency.EndToEnd, "response": &res.Latency.Response, "service": &res.Latency.Service, "send-delay": &res.Latency.SendDelay,
	}
	for line := range strings.Lines(lines) {
		var tag string
		var start, intervals, count, p50, p99, most int64
		_, err := fmt.Sscan(line, &tag, &start, &intervals, &count, &p50, &p99, &most)
		must.Hold(t, err == nil, "%q: %v", line, err)
		want := wants[tag]
		delete(wants, tag)
		if want == nil || count != want.Count || intervals < 3 || start != res.Start.At.UnixMilli() {
			t.Errorf("tag %s has %d values in %d intervals from %d on, want %+v from %d on", tag, count, intervals, start, want, res.Start.At.UnixMilli())
			continue
		}
		for name, is := range map[string][2]int64{"p50": {p50, int64(want.P50)}, "p99": {p99, int64(want.P99)}, "max": {most, int64(want.Max)}} {
			got, us := float64(is[0])/1000, float64(is[1])
			must.True(t, got >= us && got <= us*1.001+0.001, "%s of tag %s is %v µs, want %v", name, tag, got, us)
		}
	}
	must.True(t, len(wants) == 0, "there is no tag of %v", wants)
}

var percentileRow = regexp.MustCompile(`(?m)^ +([0-9.]+) ([0-9.]+) +([0-9]+)( +[0-9.]+)?$`)

// percentileRows returns the numbers of a percentile distribution: value, percentile, count.
func percentileRows(text string) (rows [][3]float64) {
	for _, m := range percentileRow.FindAllStringSubmatch(text, -1) {
		var row [3]float64
		for i := range row {
			row[i], _ = strconv.ParseFloat(m[i+1], 64) // the pattern has numbers alone
		}
		rows = append(rows, row)
	}
	return rows
}

// checkRows compares the rows of kt with those of Java, which rounds the maximum up.
func checkRows(t *testing.T, got, want [][3]float64) {
	t.Helper()
	must.Hold(t, len(got) == len(want) && len(got) >= 20, "%d rows, Java has %d", len(got), len(want))
	most := got[len(got)-1][0]
	for i, g := range got {
		w := want[i]
		must.True(t, g[0] == min(w[0], most) && w[0] <= most*1.001 && math.Abs(g[1]-w[1]) <= 1e-11 && g[2] == w[2],
			"row %d is %v, Java's is %v", i, g, w)
	}
}

// checkProcessed checks what HistogramLogProcessor prints of a log.
func checkProcessed(t *testing.T, text string, want *result.Latency) {
	t.Helper()
	m := regexp.MustCompile(`Max += +([0-9.]+), Total count += +([0-9]+)`).FindStringSubmatch(text)
	must.Hold(t, m != nil, "HistogramLogProcessor prints\n%s", text)
	most, _ := time.ParseDuration(m[1] + "ms")
	if us := float64(most.Nanoseconds()) / 1000; m[2] != strconv.FormatInt(want.Count, 10) || us < float64(want.Max) || us > float64(want.Max)*1.001+1 {
		t.Errorf("HistogramLogProcessor has %s values up to %v, want %d up to %d µs", m[2], most, want.Count, want.Max)
	}
}

// What the wire engine wrote is read by the programs of others, record by record.
func (k *kafkaCluster) isReadByOthers(t *testing.T) {
	const records = 3000
	codecs := []string{"none", "gzip", "snappy", "lz4", "zstd"}
	for i, codec := range codecs {
		doc, code := k.start("--engine", "wire", "--topic", "wire-"+codec, "--partitions", "3", "--num-records", strconv.Itoa(records),
			"--record-size", "10-900", "--compression", codec, "--idempotence", strconv.FormatBool(i%2 == 0), "--header", "origin=kt",
			"--key-distribution", "random", "--record-key-range", "1000", "--command-property", "partitioner.ignore.keys=true").wait()
		must.Hold(t, ended(doc, code, exitOK) && doc.Records.Acknowledged == records && doc.Notice != "",
			"%s: exit code %d, %+v, notice %q", codec, code, doc.Records, doc.Notice)
	}
	t.Run("the log is sound", func(t *testing.T) { k.in(t).logIsSound(codecs, records) })
	t.Run("the console consumer", func(t *testing.T) {
		lines := k.in(t).consoleConsumer(len(codecs)*records, "wire-.*")
		keyed := regexp.MustCompile(`^origin:kt\t\d{1,3}\t[A-Z]{1,900}$`)
		for _, line := range lines {
			must.Hold(t, keyed.MatchString(line), "a record with its header, key and value is %q", line)
		}
		must.Match(t, len(codecs)*records, len(lines), "records")
	})
	t.Run("kt, with --verify", func(t *testing.T) { k.in(t).wireIsVerified() })
}

// logIsSound lets Kafka's own tool look at every record of a topic for each codec.
func (k *kafkaCluster) logIsSound(codecs []string, records int) {
	k.t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("../.kafka/%s/broker-1/data/wire-*/*.log", k.name))
	must.Hold(k.t, err == nil && len(files) == 3*len(codecs), "log segments %v: %v", files, err)
	dump := javaTool(k.t, "DumpLogSegments", "--deep-iteration", "--files", strings.Join(files, ","))
	batches, sound, counted := strings.Count(dump, "baseOffset:"), strings.Count(dump, "isvalid: true"), strings.Count(dump, "| offset:")
	must.True(k.t, batches != 0 && sound == batches && counted == records*len(codecs),
		"%d batches, of which %d are sound; %d records, want %d", batches, sound, counted, records*len(codecs))
	for i, part := range strings.Split(dump, "Dumping ")[1:] {
		codec := strings.Split(filepath.Base(filepath.Dir(files[i])), "-")[1]
		n := strings.Count(part, "compresscodec: "+codec)
		must.True(k.t, n != 0 && n == strings.Count(part, "baseOffset:"), "%d batches of %s have its codec", n, files[i])
	}
}

// javaTool runs one of Kafka's own tools, or a program of testdata with Kafka's classes.
func javaTool(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, stderr, code := ran(t, exec.Command("../scripts/kafka", append([]string{"tool", name}, args...)...))
	must.Hold(t, code == 0, "%s: exit code %d\n%s%s", name, code, out, stderr)
	return string(out)
}

// consoleConsumer reads so many records with their headers and keys. It checks CRCs, as all of Kafka's consumers do.
func (k *kafkaCluster) consoleConsumer(records int, include string) []string {
	k.t.Helper()
	out := javaTool(k.t, "ConsoleConsumer", "--bootstrap-server", k.brokers, "--include", include, "--from-beginning",
		"--max-messages", strconv.Itoa(records), "--timeout-ms", "60000",
		"--formatter-property", "print.key=true", "--formatter-property", "print.headers=true")
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
}

// wireIsVerified has the records accounted for: by stamps, with both engines, and by the headers of batches. Brokers may write those
// anew: the checksum with a time of their own, or all of a batch with another codec.
func (k *kafkaCluster) wireIsVerified() {
	k.t.Helper()
	for _, tc := range []struct {
		topic   string
		args    []string
		engines []string
	}{
		{"verified-stamped", []string{"--stamp"}, []string{"client", "wire"}},
		{"verified-no-idempotence", []string{"--idempotence", "false"}, []string{"client", "wire"}},
		{"verified", nil, []string{"wire"}},
		{"verified-appended", []string{"--topic-config", "message.timestamp.type=LogAppendTime"}, []string{"wire"}},
		{"verified-recompressed", []string{"--topic-config", "compression.type=gzip"}, []string{"wire"}},
		{"verified-uncompressed", []string{"--topic-config", "compression.type=uncompressed"}, []string{"wire"}},
	} {
		ledger := filepath.Join(k.t.TempDir(), "ledger")
		doc, code := k.start(append(tc.args, "--engine", "wire", "--topic", tc.topic, "--partitions", "3", "--num-records", "3000",
			"--compression", "zstd", "--producers", "2", "--verify", "--ledger", ledger)...).wait()
		must.Hold(k.t, ended(doc, code, exitOK) && doc.Records.Acknowledged == 3000, "%s: exit code %d, %+v", tc.topic, code, doc.Records)
		for _, engine := range tc.engines {
			doc, code := k.kt("consume", "--engine", engine, "--verify", ledger).wait()
			v := doc.Verify
			if v == nil || !ended(doc, code, exitOK) || v.AcknowledgedRead != 3000 || v.Lost+v.Corrupted+v.Duplicated+v.Reordered+v.Unchecked != 0 ||
				v.Headers != (len(tc.engines) == 1) {
				k.t.Errorf("%s, read with the %s engine: exit code %d, verdict %+v", tc.topic, engine, code, v)
			}
		}
	}
}

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
				javaTool(t, "ProducerPerformance", args...)
			} else {
				out, stderr, code := ran(t, ktIn(t, t.TempDir(), append([]string{"produce", "--quiet", "--result", "none"}, args...)...))
				must.Hold(t, code == exitOK || code == exitNotValid, "kt %v: exit code %d\n%s%s", args, code, out, stderr) // a busy machine keeps no schedule
			}
		}
	}
	logs, requests := k.logs(topics), k.requests(t, topics)
	for i, tc := range cases {
		for _, tool := range tools {
			got := requests[topic(i, tool)]
			must.True(t, len(got) == 1 && got[tc.asked], "%v: the requests of %s are %+v, want %+v", tc.properties, tool, got, tc.asked)
		}
		kafka, kt := logs[topic(i, "kafka")], logs[topic(i, "kt")]
		ratio := float64(kt.batches) / float64(kafka.batches)
		kt.batches = kafka.batches
		tooMany := ratio > tc.alike
		if tc.rate > 0 { // in 5 s there are 50 times 100 ms, whatever the other tool did
			tooMany = ratio*float64(kafka.batches) > 60 || kafka.batches > 60
		}
		must.True(t, kt == kafka && kafka.records == wanted(tc.rate) && !tooMany && ratio >= 1/tc.alike,
			"%v: Kafka's producer %+v; kt %+v, with %.2f times the batches", tc.properties, kafka, kt, ratio)
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
	for line := range strings.Lines(javaTool(k.t, "DumpLogSegments", "--files", strings.Join(files, ","))) {
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
