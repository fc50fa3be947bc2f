package capture_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/workload"
)

// sampled returns figures of records of a size, in batches of a number of them, which a codec packs by a ratio.
func sampled(codec string, ratio float64, each, size, keys int) *capture.Records {
	rng, r := rand.New(rand.NewPCG(uint64(size), 1)), new(capture.Records)
	for range 200 {
		bytes := 61
		for range each {
			rec := capture.Record{Value: make([]byte, size-size/10+rng.IntN(max(size/5, 1)))}
			copy(rec.Value, "secret value")
			if keys > 0 {
				rec.Key = fmt.Appendf(nil, "secret-key-%08d", rng.IntN(keys))
			}
			rec.Headers, rec.HeaderKey, rec.HeaderValue = 1, len("secret-header"), len("secret-text")
			r.Add(rec)
			bytes += 12 + len(rec.Key) + len(rec.Value) + 26
		}
		r.AddBatch(capture.Batch{
			Codec: codec, Count: each, Packed: int(float64(bytes) / ratio), Unpacked: bytes, Producer: int64(rng.IntN(3)), Span: 4 * time.Millisecond,
		})
	}
	return r
}

// filled is a cluster of which every field has something.
func filled() *capture.Cluster {
	c := &capture.Cluster{
		System: "kafka", Version: "4.3.1", Brokers: 3, At: time.Date(2026, 11, 29, 19, 0, 0, 0, time.UTC), Last: 3 * time.Hour, Stage: time.Hour,
		Notes: []string{"one broker did not answer"},
	}
	add := func(name string, rates []float64, r *capture.Records) *capture.Topic {
		c.Topics = append(c.Topics, capture.Topic{Name: name, Partitions: 6, Replicas: 1, Rates: rates, Sure: capture.Measured, Records: r, Producers: 2})
		return &c.Topics[len(c.Topics)-1]
	}
	orders := add("orders.secret", []float64{1000, 3000, 2000}, sampled("zstd", 3.1, 40, 300, 500))
	orders.Configs = map[string]string{"cleanup.policy": "compact", "leader.replication.throttled.replicas": "0:1"}
	for i := range 10 {
		add(fmt.Sprintf("secret-alike-%d", i), []float64{100, 100, 100 + float64(i)}, sampled("lz4", 1.5, 10, 1000, 0))
	}
	tx := add("secret.tx", []float64{50, 50, 50}, sampled("none", 1, 3, 2000, 0))
	tx.Records.Transactions, tx.Transaction = tx.Records.Batches, 120*time.Millisecond
	unread := add("secret.unread", []float64{500, 500, 500}, nil)
	unread.Notes = []string{"kt may not read it: TOPIC_AUTHORIZATION_FAILED"}
	add("secret.live", []float64{400}, sampled("gzip", 4, 5, 700, 0)).Live = 10 * time.Second
	add("secret.small", []float64{0.1, 0.1, 0.1}, sampled("none", 1, 1, 100, 0))
	add("secret.smaller", []float64{0.1, 0, 0.1}, sampled("none", 1, 1, 100, 0))
	add("secret.idle", []float64{0, 0, 0}, nil)
	c.Groups = []capture.Group{
		{Name: "secret.billing", Protocol: "classic", Members: 2, Topics: []string{"orders.secret", "secret-alike-1", "secret-alike-2", "secret-alike-3", "secret-alike-7"}, Rate: 2300, Written: 2300, Commit: 5 * time.Second},
		{Name: "secret.gone", Protocol: "consumer", Topics: []string{"orders.secret"}, Lag: 12},
		{Name: "secret.share", Protocol: "share", Members: 4, Topics: []string{"secret.tx"}, Rate: 20, Written: 50, Lag: 4000},
		{Name: "secret.tail", Protocol: "classic", Members: 1, Topics: []string{"secret.small"}},
	}
	return c
}

// read parses a workload as kt run does, with some more flags.
func read(t *testing.T, text string, flags ...study.Flag) map[string]study.Load {
	l, err := workload.Parse("shop.yaml", []byte(text), load.CheckFlag)
	must.Do(t, err)
	l.Flags = append(l.Flags, flags...)
	_, err = load.NewRunner(&load.Maker{Config: config.System{Kafka: load.Clients(), Getenv: func(string) string { return "" }}, Say: func(string) {}, Now: time.Now}).Workload(l)
	must.Do(t, err)
	loads := make(map[string]study.Load)
	for _, one := range l.Loads {
		loads[one.Name] = one
	}
	return loads
}

// flag returns the values of a flag of a load.
func flag(l study.Load, name string) string {
	var values []string
	for _, f := range l.Flags {
		if f.Name == name {
			values = append(values, f.Value)
		}
	}
	return strings.Join(values, " ")
}

func TestWorkloadIsOneThatRuns(t *testing.T) {
	var text bytes.Buffer
	must.Have(filled().Write(&text, capture.Options{Similar: 0.2}))(t)
	must.Golden(t, "testdata/filled.yaml", text.String())
	loads := read(t, text.String())
	for _, row := range [][3]string{
		{"topic-01", "record-size", "544"}, // it may not be read: the mean of the others
		{"topic-02", "rate", "1000@1h0m0s,3000@1h0m0s,2000@1h0m0s"},
		{"topic-02", "compression", "zstd"},
		{"topic-02", "key-distribution", "random"},
		{"topic-02", "topic-config", "cleanup.policy=compact"},
		{"topic-02", "producers", "2"}, // the sample has one more, which was not active
		{"topic-03", "transaction-duration-ms", "120"},
		{"topic-04", "duration", "3h0m0s"},
		{"topic-05", "topics", "10"},
		{"topic-05", "producers", "3"}, // that write all of them
		{"topic-05", "rate", "1000@1h0m0s,1000@1h0m0s,1045@1h0m0s"},
		{"rest", "rate", "0.2@1h0m0s,0.1@1h0m0s,0.2@1h0m0s"},
		{"group-01", "topic", "topic-02,topic-05-2,topic-05-{6..8}"},
		{"group-01", "command-property", "auto.commit.interval.ms=5000"},
		{"group-03", "group-protocol", "share"},
		{"group-03", "processing-time", "200ms"},
		{"group-03", "duration", "3h0m0s"},
	} {
		must.Match(t, row[2], flag(loads[row[0]], row[1]), "%s of %s", row[1], row[0])
	}
	must.True(t, loads["group-02"].Name == "" && loads["group-04"].Name == "", "a group that nobody reads in, or that reads what is in the rest, has a load")
	must.Match(t, "3.1003", fmt.Sprint(loads["topic-02"].Captured.Ratio), "the ratio that was captured")
}

func TestFileNamesNothingOfTheCluster(t *testing.T) {
	var text bytes.Buffer
	must.Have(filled().Write(&text, capture.Options{Similar: 0.2}))(t)
	must.True(t, !strings.Contains(text.String(), "secret"), "%s", text.String())
}

// A workload of another system has no settings that it does not have.
func TestWorkloadsOfOtherSystemsRunThere(t *testing.T) {
	for system, url := range map[string]string{"rabbitmq": "amqp://h/", "pulsar": "pulsar://h"} {
		c := &capture.Cluster{System: system, Version: "4", Brokers: 1, Last: time.Minute}
		c.Topics = []capture.Topic{{Name: "a", Partitions: 2, Replicas: 1, Rates: []float64{100}, Bytes: 50_000, Sure: capture.Measured, Busiest: 0.9}}
		c.Groups = []capture.Group{{Name: "g", Topics: []string{"a"}, Members: 2, Rate: 100, Written: 100}}
		if system == "pulsar" {
			c.Groups[0].Protocol = "shared"
		}
		var text bytes.Buffer
		must.Have(c.Write(&text, capture.Options{}))(t)
		loads := read(t, text.String(), study.Flag{Name: "url", Value: url})
		must.Match(t, "500", flag(loads["topic-01"], "record-size"), "the record size on %s", system)
		must.True(t, strings.Contains(text.String(), "one of 2 partitions has 90%"), "%s", text.String())
	}
}

func TestPayloadsAreKeptOnlyWhenAsked(t *testing.T) {
	c := &capture.Cluster{System: "kafka", Last: time.Minute, Topics: []capture.Topic{{Name: "a", Partitions: 1, Replicas: 1, Rates: []float64{10}, Records: &capture.Records{Keep: 2}}}}
	for _, value := range []string{"one", "two\nlines", "three"} {
		c.Topics[0].Records.Add(capture.Record{Value: []byte(value)})
	}
	c.Topics[0].Records.AddBatch(capture.Batch{Codec: "none", Count: 3, Packed: 90, Unpacked: 90, Producer: -1})
	var text bytes.Buffer
	none := must.Have(c.Write(&text, capture.Options{}))(t)
	must.True(t, len(none) == 0 && !strings.Contains(text.String(), "payload"), "%s", text.String())
	text.Reset()
	path := filepath.Join(t.TempDir(), "shop.topic-01")
	kept := must.Have(c.Write(&text, capture.Options{Payloads: func(string) string { return path }}))(t)
	must.Match(t, map[string][]byte{path: []byte("one\x00kt\x00two\nlines")}, kept, "the file of payloads")
	must.Do(t, os.WriteFile(path, kept[path], 0o600))
	must.Match(t, path, flag(read(t, text.String())["topic-01"], "payload-file"), "the file that kt run reads")
	must.Has(t, "the workload", text.String(), "payload-file: \""+path+"\"", `payload-delimiter: '\x00kt\x00'`, `idempotence: "false"`)
}
