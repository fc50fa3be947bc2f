//go:build integration

package cmd

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// What the wire engine wrote is read by the programs of others, record by record.
func (k *kafkaCluster) isReadByOthers(t *testing.T) {
	const records = 10_000
	codecs := []string{"none", "gzip", "snappy", "lz4", "zstd"}
	for i, codec := range codecs {
		doc, code := k.start("--engine", "wire", "--topic", "wire-"+codec, "--partitions", "3", "--num-records", strconv.Itoa(records),
			"--record-size", "10-900", "--compression", codec, "--idempotence", strconv.FormatBool(i%2 == 0), "--header", "origin=kt",
			"--key-distribution", "random", "--record-key-range", "1000", "--command-property", "partitioner.ignore.keys=true").wait()
		if !ended(doc, code, exitOK) || doc.Records.Acknowledged != records || doc.Notice == "" {
			t.Fatalf("%s: exit code %d, %+v, notice %q", codec, code, doc.Records, doc.Notice)
		}
	}
	t.Run("the log is sound", func(t *testing.T) { k.in(t).logIsSound(codecs, records) })
	t.Run("the console consumer", func(t *testing.T) {
		lines := k.in(t).consoleConsumer(len(codecs)*records, "wire-.*")
		keyed := regexp.MustCompile(`^origin:kt\t\d{1,3}\t[A-Z]{1,900}$`)
		for _, line := range lines {
			if !keyed.MatchString(line) {
				t.Fatalf("a record with its header, key and value is %q", line)
			}
		}
		must.Match(t, len(codecs)*records, len(lines), "records")
	})
	t.Run("kt, with --verify", func(t *testing.T) { k.in(t).wireIsVerified() })
}

// logIsSound lets Kafka's own tool look at every record of a topic for each codec.
func (k *kafkaCluster) logIsSound(codecs []string, records int) {
	k.t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("../.kafka/%s/broker-1/data/wire-*/*.log", k.name))
	if err != nil || len(files) != 3*len(codecs) {
		k.t.Fatalf("log segments %v: %v", files, err)
	}
	dump := k.tool("DumpLogSegments", "--deep-iteration", "--files", strings.Join(files, ","))
	batches, sound, counted := strings.Count(dump, "baseOffset:"), strings.Count(dump, "isvalid: true"), strings.Count(dump, "| offset:")
	if batches == 0 || sound != batches || counted != records*len(codecs) {
		k.t.Errorf("%d batches, of which %d are sound; %d records, want %d", batches, sound, counted, records*len(codecs))
	}
	for i, part := range strings.Split(dump, "Dumping ")[1:] {
		codec := strings.Split(filepath.Base(filepath.Dir(files[i])), "-")[1]
		if n := strings.Count(part, "compresscodec: "+codec); n == 0 || n != strings.Count(part, "baseOffset:") {
			k.t.Errorf("%d batches of %s have its codec", n, files[i])
		}
	}
}

// tool runs one of Kafka's own tools.
func (k *kafkaCluster) tool(name string, args ...string) string {
	k.t.Helper()
	out, err := exec.Command("../scripts/kafka", append([]string{"tool", name}, args...)...).Output()
	if err != nil {
		k.t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// consoleConsumer reads so many records with their headers and keys. It checks CRCs, as all of Kafka's consumers do.
func (k *kafkaCluster) consoleConsumer(records int, include string) []string {
	k.t.Helper()
	out := k.tool("ConsoleConsumer", "--bootstrap-server", k.brokers, "--include", include, "--from-beginning",
		"--max-messages", strconv.Itoa(records), "--timeout-ms", "60000",
		"--formatter-property", "print.key=true", "--formatter-property", "print.headers=true")
	var lines []string
	for s := bufio.NewScanner(strings.NewReader(out)); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
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
		doc, code := k.start(append(tc.args, "--engine", "wire", "--topic", tc.topic, "--partitions", "3", "--num-records", "9000",
			"--compression", "zstd", "--producers", "2", "--verify", "--ledger", ledger)...).wait()
		if !ended(doc, code, exitOK) || doc.Records.Acknowledged != 9000 {
			k.t.Fatalf("%s: exit code %d, %+v", tc.topic, code, doc.Records)
		}
		for _, engine := range tc.engines {
			doc, code := k.kt("consume", "--engine", engine, "--verify", ledger).wait()
			v := doc.Verify
			if v == nil || !ended(doc, code, exitOK) || v.AcknowledgedRead != 9000 || v.Lost+v.Corrupted+v.Duplicated+v.Reordered+v.Unchecked != 0 ||
				v.Headers != (len(tc.engines) == 1) {
				k.t.Errorf("%s, read with the %s engine: exit code %d, verdict %+v", tc.topic, engine, code, v)
			}
		}
	}
}
