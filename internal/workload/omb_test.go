package workload_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/workload"
)

// place is a folder with files of OpenMessaging Benchmark.
type place struct {
	testing.TB

	dir string
}

func newPlace(t testing.TB) place {
	p := place{t, t.TempDir()}
	for size, name := range map[int]string{100: "100b", 1024: "1Kb"} {
		must.Do(t, os.MkdirAll(filepath.Join(p.dir, "payload"), 0o755))
		p.write("payload/payload-"+name+".data", strings.Repeat("x", size))
	}
	return p
}

func (p place) write(name, text string) string {
	path := filepath.Join(p.dir, name)
	must.Do(p, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(p, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// rows returns the rows of a table in testdata, word by word.
func rows(t testing.TB, name string) (all [][]string) {
	for line := range strings.Lines(string(must.Have(os.ReadFile(filepath.Join("testdata", name)))(t))) {
		if !strings.HasPrefix(line, "#") {
			all = append(all, strings.Fields(line))
		}
	}
	return all
}

// workloadFile writes a workload of a row.
func (p place) workloadFile(row []string) string {
	keys := strings.Fields("topics partitionsPerTopic messageSize subscriptionsPerTopic producersPerTopic consumerPerSubscription producerRate consumerBacklogSizeGB testDurationMinutes")
	text := "name: " + row[0] + "\n"
	for i, key := range keys {
		text += key + ": " + row[1+i] + "\n"
	}
	for _, pair := range row[1+len(keys):] {
		text += strings.Replace(pair, "=", ": ", 1) + "\n"
	}
	return p.write("workloads/"+row[0]+".yaml", text)
}

// driverFile writes a driver of Kafka of a row.
func (p place) driverFile(row []string) string {
	blocks := map[string]string{
		"topic": "  min.insync.replicas=2\n", "common": "  bootstrap.servers=localhost:9092\n", "producer": "  acks=all\n",
		"consumer": "  auto.offset.reset=earliest\n  enable.auto.commit=false\n  max.partition.fetch.bytes=10485760\n",
	}
	for _, word := range row[1:] {
		block, property, _ := strings.Cut(word, ":")
		blocks[block] += "  " + property + "\n"
	}
	text := "name: Kafka\ndriverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver\nreplicationFactor: 3\n"
	for _, block := range []string{"topic", "common", "producer", "consumer"} {
		text += block + "Config: |\n" + blocks[block]
	}
	return p.write("drivers/"+row[0]+".yaml", text)
}

func read(drivers, workloads []string, set ...string) ([]workload.OMB, error) {
	o := workload.OMBOptions{Kafka: load.Clients()}
	for _, text := range set {
		name, value, _ := strings.Cut(text, "=")
		o.Set = append(o.Set, config.Assignment{Name: name, Values: strings.Split(value, ",")})
	}
	return workload.ReadOMB(drivers, workloads, o)
}

var runner = load.NewRunner(&load.Maker{
	Config: config.System{Kafka: load.Clients(), Getenv: func(string) string { return "" }}, Say: func(string) {}, Now: time.Now, Version: "1.0",
})

// planOf returns the plan of a translated load, as a run would have it.
func planOf(t testing.TB, w workload.OMB) *load.Load {
	t.Helper()
	return must.Have(runner.Load(w.Loads[0]))(t)
}

func TestPublishedWorkloadsOfOMBAreLoads(t *testing.T) {
	p := newPlace(t)
	table := rows(t, "omb_drivers.txt")
	driver := p.driverFile(table[len(table)-1])
	n := 0
	for _, row := range rows(t, "omb_workloads.txt") {
		n++
		all, err := read([]string{driver}, []string{p.workloadFile(row)})
		var topics, each, consumers, partitions int
		_, _ = fmt.Sscan(row[1], &topics)
		_, _ = fmt.Sscan(row[2], &partitions)
		_, _ = fmt.Sscan(row[5], &each)
		_, _ = fmt.Sscan(row[6], &consumers)
		if topics > plan.MaxTopics {
			must.Err(t, "topics: a load of kt has 100000 topics at most", err, "%s", row[0])
			continue
		}
		must.Do(t, err)
		must.Match(t, row[7] == "0", all[0].Find, "%s: searches", row[0])
		if topics > 1000 { // their names take a while
			must.Has(t, row[0], all[0].Loads[0].String(), "--topics "+row[1]+" --topic-distribution own --partitions "+row[2]+" --producers 1000")
			continue
		}
		made := planOf(t, all[0]).Plan
		must.Match(t, topics, len(made.Topic.Names()), "%s: topics", row[0])
		must.Match(t, int32(partitions), made.Topic.Partitions, "%s: partitions", row[0])
		for _, count := range []struct{ is, want int }{{made.Producers, topics * each}, {made.Read.Consumers, topics * consumers}} {
			alike := count.is%topics == 0 || topics%count.is == 0
			must.True(t, count.is == count.want || count.want > plan.MaxClients && count.is > plan.MaxClients/2 && alike, "%s: %d clients for %d", row[0], count.is, count.want)
		}
		must.Match(t, row[3], fmt.Sprint(int(payloadSize(t, made))), "%s: bytes of a record", row[0])
	}
	must.True(t, n == 130, "%d workloads", n)
}

// payloadSize returns the size of the values of a plan.
func payloadSize(t testing.TB, made plan.Plan) float64 {
	if made.Payload.Kind == plan.File {
		return float64(must.Have(os.Stat(made.Payload.File))(t).Size())
	}
	return made.Payload.MeanBytes()
}

func TestPublishedDriversOfOMBAreLoads(t *testing.T) {
	p := newPlace(t)
	simple := p.workloadFile(rows(t, "omb_workloads.txt")[1])
	for _, row := range rows(t, "omb_drivers.txt") {
		all, err := read([]string{p.driverFile(row)}, []string{simple})
		must.Do(t, err)
		made := planOf(t, all[0])
		must.Match(t, int16(3), made.Plan.Topic.ReplicationFactor, "%s", row[0])
		must.Match(t, "2", made.Plan.Topic.Configs["min.insync.replicas"], "%s", row[0])
		for _, word := range row[1:] {
			_, property, _ := strings.Cut(word, ":")
			name, value, _ := strings.Cut(property, "=")
			switch name {
			case "flush.messages", "flush.ms":
				must.Match(t, value, made.Plan.Topic.Configs[name], "%s: %s", row[0], name)
			case "max.in.flight.requests.per.connection", "request.timeout.ms", "default.api.timeout.ms":
				must.True(t, name == "default.api.timeout.ms" || slices.ContainsFunc(all[0].Notices, func(n string) bool { return strings.Contains(n, property) }), "%s: %s is told", row[0], property)
			default:
				must.Match(t, value, made.Properties[name].Value, "%s: %s", row[0], name)
			}
		}
	}
}

func TestKeysOfOMBAreHonouredOrRefused(t *testing.T) {
	for _, row := range must.Rows[[]struct {
		Workload, Driver string   // lines that replace those of the same key, or are more
		Set              []string // of --set
		Load             []string // parts of the load's command line
		Without          []string // what is no part of it
		Notice           []string // parts of the notices
		Wrong            []string // lines of the error
		Find             bool
	}](t, "omb") {
		p := newPlace(t)
		w := p.write("w.yaml", with(baseWorkload, row.Workload))
		base := baseDriver
		if strings.Contains(row.Driver, "driverClass") {
			base = ""
		}
		all, err := read([]string{p.write("d.yaml", with(base, row.Driver))}, []string{w}, row.Set...)
		var wrong []string
		if err != nil {
			wrong = strings.Split(strings.ReplaceAll(err.Error(), p.dir+"/", ""), "\n")
		}
		must.Match(t, row.Wrong, wrong, "%s%s%s", row.Workload, row.Driver, row.Set)
		if err != nil {
			continue
		}
		planOf(t, all[0])
		line := strings.ReplaceAll(all[0].Loads[0].String(), p.dir+"/", "") + " "
		for _, part := range row.Load {
			must.Has(t, "load", line, part+" ")
		}
		for _, part := range row.Without {
			must.True(t, !strings.Contains(line, part), "%s in %s", part, line)
		}
		notices := strings.ReplaceAll(strings.Join(all[0].Notices, "\n"), p.dir+"/", "")
		must.Has(t, "notices", notices, row.Notice...)
		must.Match(t, 1+len(row.Notice), len(all[0].Notices), "notices of %s%s: %s", row.Workload, row.Driver, notices)
		must.Match(t, row.Find, all[0].Find, "%s", row.Workload)
	}
}

const baseWorkload = `name: simple
topics: 1
partitionsPerTopic: 10
messageSize: 1024
payloadFile: payload/payload-1Kb.data
subscriptionsPerTopic: 1
producersPerTopic: 1
consumerPerSubscription: 1
producerRate: 10000
consumerBacklogSizeGB: 0
testDurationMinutes: 5
`

const baseDriver = `name: Kafka
driverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver
replicationFactor: 3
commonConfig: |
  bootstrap.servers=localhost:9092
`

// with replaces the lines of keys, each with the lines below it that are indented, and adds those that are not there.
func with(base, lines string) string {
	var keep []string
	isGone := false
	for line := range strings.Lines(base) {
		if key, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") {
			isGone = strings.HasPrefix(lines, key+":") || strings.Contains(lines, "\n"+key+":")
		}
		if !isGone {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "") + lines
}

func TestAllPairsOfOMBAreNamedAfterBothFiles(t *testing.T) {
	p := newPlace(t)
	table := rows(t, "omb_workloads.txt")
	drivers := rows(t, "omb_drivers.txt")
	all, err := read([]string{p.driverFile(drivers[0]), p.driverFile(drivers[4])}, []string{p.workloadFile(table[0]), p.workloadFile(table[1])})
	must.Do(t, err)
	var names []string
	for _, w := range all {
		names = append(names, w.Name)
		must.Match(t, "1-topic-1-partition-1", w.Loads[0].Name[:21], "load")
	}
	must.Match(t, []string{
		"1-topic-1-partition-100b-kafka-big-batches-gzip", "1-topic-1-partition-100b-kafka-big-batches",
		"1-topic-1-partition-1kb-kafka-big-batches-gzip", "1-topic-1-partition-1kb-kafka-big-batches",
	}, names, "names")
}
