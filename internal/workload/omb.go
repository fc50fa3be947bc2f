package workload

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/study"
)

// OMB is one workload of OpenMessaging Benchmark with one of its drivers: one load, which needs topics of its own.
type OMB struct {
	Workload

	Find    bool     // the highest rate is searched for, as kt find does: the load has no rate and no end
	Notices []string // what kt does in another way, each with its place in a file if it has one
}

// OMBOptions are what is beside the files of OpenMessaging Benchmark.
type OMBOptions struct {
	Set   []string               // workload.KEY=VALUE, driver.KEY=VALUE and driver.BLOCK.KEY=VALUE, instead of a value in the files; others are passed over
	Given func(flag string) bool // reports whether the command line gives a flag to all loads
	Kafka config.Kafka           // the properties of Kafka's clients
}

// measuredOtherwise is the notice of every load.
const measuredOtherwise = "latency counts from when a record was due here, and from when it was sent in OpenMessaging Benchmark: " +
	"a producer that cannot keep its rate shows in kt's figures, and service is the one to compare"

// ReadOMB reads workloads and drivers of OpenMessaging Benchmark, and returns all pairs of them, the drivers of one workload one after
// the other. The error has every problem, each on a line of its own with its place. Nothing but files is touched.
func ReadOMB(drivers, workloads []string, o OMBOptions) (all []OMB, err error) {
	for _, path := range workloads {
		for _, driver := range drivers {
			w := &omb{OMBOptions: o, path: path, OMB: OMB{Notices: []string{measuredOtherwise}}}
			w.Name, w.load.Name = baseName(path)+"-"+baseName(driver), baseName(path)
			w.OMB.Places = map[string]string{"load " + w.load.Name: path + ":1:1"}
			if wrong := w.read(driver); wrong != nil {
				err = errors.Join(err, wrong)
				continue
			}
			w.load.Typed = slices.DeleteFunc(slices.Clone(w.load.Flags), func(f study.Flag) bool { // who names a file answers for it, but for its addresses
				return !w.logsIn && (f.Name == "bootstrap-server" || f.Name == "url")
			})
			w.OMB.Loads = []study.Load{w.load}
			all = append(all, w.OMB)
		}
	}
	return all, err
}

// notOfNames matches what is in no name of a load, or does not begin one.
var notOfNames = regexp.MustCompile(`^[^a-zA-Z0-9]+|[^a-zA-Z0-9_-]`)

// baseName returns the name of a file without its ending, as the name of a load, which has 64 letters at most.
func baseName(path string) string {
	name := strings.TrimPrefix(notOfNames.ReplaceAllString(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), "-"), "-")
	return cmp.Or(name[:min(len(name), 64)], "load")
}

// omb is a pair of files while it is translated.
type omb struct {
	OMB
	OMBOptions
	*study.Parser // of the file that is read

	path  string // of that file
	root  *yaml.Node
	lines []string
	load  study.Load

	title, keys, payload                                         string
	topics, partitions, size, pool, groups, producers, consumers int
	random, logsIn                                               bool // logsIn: at addresses and with credentials of the driver
	randomShare, rate, backlogGB, drain, minutes, warmup         float64
}

func (w *omb) add(flag string, value any) {
	if n, ok := value.(float64); ok {
		value = strconv.FormatFloat(n, 'f', -1, 64)
	}
	w.load.Flags = append(w.load.Flags, study.Flag{Name: flag, Value: fmt.Sprint(value)})
}
func (w *omb) property(name string, value any) {
	w.add("command-property", fmt.Sprint(name, "=", value))
}

// at returns the node of a key, or the whole file.
func (w *omb) at(key string) *yaml.Node { return cmp.Or(w.Place(key), w.root) }

// refuse adds a problem of a key if it has one.
func (w *omb) refuse(wrong bool, key, format string, args ...any) {
	if wrong {
		w.Bad(w.at(key), key+": "+format, args...)
	}
}

// notice tells what kt does in another way than a key says.
func (w *omb) notice(n *yaml.Node, format string, args ...any) {
	w.Notices = append(w.Notices, fmt.Sprintf("%s:%d:%d: %s", w.path, n.Line, n.Column, fmt.Sprintf(format, args...)))
}

// open reads a file, and puts the values of --set that are of it in their places. what is workload or driver.
func (w *omb) open(path, what string) error {
	text, err := input.Read(path, input.Settings)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	w.path, w.lines, w.Parser = path, strings.Split(string(text), "\n"), study.NewParser(path, nil)
	w.root, err = input.YAML(text, func(line int) string { return path + ":" + strconv.Itoa(line) })
	if err == nil && (w.root == nil || w.root.Kind != yaml.MappingNode) {
		err = fmt.Errorf("%s:1: it is no %s of OpenMessaging Benchmark: write KEY: VALUE lines", path, what)
	}
	for _, text := range w.Set {
		of, rest, _ := strings.Cut(text, ".")
		if key, value, ok := strings.Cut(rest, "="); err == nil && of == what && ok {
			put(w.root, key, value)
		}
	}
	return err
}

// put sets the value of a key of a mapping, which may have parts: of a mapping below, or of a block of Java properties.
func put(n *yaml.Node, key, value string) {
	name, rest, isPart := strings.Cut(key, ".")
	for i := 0; i < len(n.Content); i += 2 {
		switch old := n.Content[i+1]; {
		case n.Content[i].Value != name:
			continue
		case !isPart:
			n.Content[i+1] = &yaml.Node{Kind: yaml.ScalarNode, Value: value, Line: old.Line, Column: old.Column}
		case old.Kind == yaml.MappingNode:
			put(old, rest, value)
		default:
			old.Value, old.Style = strings.TrimRight(old.Value, "\n")+"\n"+rest+"="+value, yaml.LiteralStyle
		}
		return
	}
	at := yaml.Node{Kind: yaml.ScalarNode, Value: name, Line: n.Line, Column: n.Column}
	under := at
	if under.Value = value; isPart { // only blocks may be missing
		under.Value, under.Style = rest+"="+value, yaml.LiteralStyle
	}
	n.Content = append(n.Content, &at, &under)
}

func (w *omb) read(driver string) error {
	if err := w.open(w.path, "workload"); err != nil {
		return err
	}
	w.keys, w.drain, w.warmup = "NO_KEY", 1, 1
	w.Mapping(w.root, "workload", map[string]any{
		"name": &w.title, "topics": &w.topics, "partitionsPerTopic": &w.partitions, "keyDistributor": &w.keys, "messageSize": &w.size,
		"useRandomizedPayloads": &w.random, "randomBytesRatio": &w.randomShare, "randomizedPayloadPoolSize": &w.pool, "payloadFile": &w.payload,
		"subscriptionsPerTopic": &w.groups, "producersPerTopic": &w.producers, "consumerPerSubscription": &w.consumers, "producerRate": &w.rate,
		"consumerBacklogSizeGB": &w.backlogGB, "backlogDrainRatio": &w.drain, "testDurationMinutes": &w.minutes, "warmupDurationMinutes": &w.warmup,
	})
	if err := w.Err(); err != nil {
		return err
	}
	w.load.Command = string(plan.Roundtrip)
	if w.groups == 0 {
		w.load.Command = string(plan.Produce)
	}
	w.clients()
	w.records()
	w.time()
	if err := w.Err(); err != nil {
		return err
	}
	return w.driver(driver)
}

// clients translates the topics, and the clients of each.
func (w *omb) clients() {
	w.refuse(w.topics < 1, "topics", "it must be 1 or more")
	w.refuse(w.partitions < 1, "partitionsPerTopic", "it must be 1 or more")
	w.refuse(w.producers < 1, "producersPerTopic", "it must be 1 or more")
	w.refuse(w.groups < 0, "subscriptionsPerTopic", "it must be 0 or more")
	w.refuse(w.groups > 0 && w.consumers < 1, "consumerPerSubscription", "it must be 1 or more, for nobody would read the subscriptions")
	w.refuse(w.topics > plan.MaxTopics, "topics", "a load of kt has %d topics at most: --set workload.topics=%d", plan.MaxTopics, plan.MaxTopics)
	if w.topics > 1 {
		w.add("topics", w.topics)
		w.add("topic-distribution", plan.OwnTopics)
	}
	w.add("partitions", w.partitions)
	w.count("producers", "producersPerTopic", w.producers)
	if w.groups > 0 {
		w.count("consumers", "consumerPerSubscription", w.consumers)
	}
}

// count gives a load its clients, so many for each topic. If those are too many, each topic has as many as any other.
func (w *omb) count(flag, key string, each int) {
	n := w.topics * each
	if n > plan.MaxClients {
		for n = plan.MaxClients; n%w.topics != 0 && w.topics%n != 0; n-- {
		}
		w.notice(w.at(key), "%d %s for %d topics: kt has %d at most, and takes %d, each with as many topics as any other", w.topics*each, flag, w.topics, plan.MaxClients, n)
	}
	w.add(flag, n)
}

// keyCount is the number of different keys that OpenMessaging Benchmark has.
const keyCount = 10_000

// records translates what the records hold.
func (w *omb) records() {
	w.refuse(w.size < 1, "messageSize", "it must be 1 or more")
	w.refuse(w.groups > 0 && w.size < plan.StampBytes, "messageSize", "kt finds its records again by a stamp of %d bytes in each: --set workload.messageSize=%d", plan.StampBytes, plan.StampBytes)
	switch {
	case w.random:
		w.refuse(w.randomShare < 0 || w.randomShare > 1, "randomBytesRatio", "it must be from 0 to 1")
		w.refuse(w.pool < 1, "randomizedPayloadPoolSize", "it must be 1 or more, for nothing would be there to send")
		w.add("record-size", w.size)
		w.add("compressibility", 1-w.randomShare)
		if 2*w.pool*w.size < 1<<20 {
			w.notice(w.at("randomizedPayloadPoolSize"), "%d values of %d B: kt cuts its values from 1 MiB, so that a batch has less that is there twice", w.pool, w.size)
		}
		if w.payload != "" {
			w.notice(w.at("payloadFile"), "payloadFile has no effect beside useRandomizedPayloads, as in OpenMessaging Benchmark")
		}
	case w.payload == "":
		w.refuse(true, "messageSize", "give a payloadFile of that size, or useRandomizedPayloads: true")
	default:
		w.file()
	}
	switch w.keys {
	case "NO_KEY":
	case "KEY_ROUND_ROBIN", "RANDOM_NANO":
		w.add("key-distribution", map[string]plan.KeyDistribution{"KEY_ROUND_ROBIN": plan.RangeKeys, "RANDOM_NANO": plan.RandomKeys}[w.keys])
		w.add("record-key-range", keyCount)
		w.notice(w.at("keyDistributor"), "kt's keys are the numbers below %d, and not as many random texts of 10 letters", keyCount)
	default:
		w.refuse(true, "keyDistributor", "%q: it must be NO_KEY, KEY_ROUND_ROBIN or RANDOM_NANO", w.keys)
	}
}

// file looks for the payload file: beside the workload, as it is named, and beside the folder of the workload, as in a checkout.
func (w *omb) file() {
	dir := filepath.Dir(w.path)
	for _, path := range []string{filepath.Join(dir, w.payload), w.payload, filepath.Join(dir, "..", w.payload)} {
		if filepath.IsAbs(w.payload) {
			path = w.payload
		}
		if info, err := os.Stat(path); err == nil {
			w.refuse(info.Size() != int64(w.size), "payloadFile", "%s has %d bytes, and messageSize is %d", path, info.Size(), w.size)
			w.add("payload-file", path)
			w.add("payload-whole", true)
			return
		}
	}
	w.refuse(true, "payloadFile", "%s is neither beside the workload nor in the folder that kt runs in", w.payload)
}

// asFastAsItGoes is the rate in the published files that no producer reaches.
const asFastAsItGoes = 10e6

// time translates the rate, the backlog and how long it all takes.
func (w *omb) time() {
	w.refuse(w.rate < 0, "producerRate", "it must be 0 or more")
	w.refuse(w.warmup < 0, "warmupDurationMinutes", "it must be 0 or more")
	w.refuse(w.backlogGB < 0, "consumerBacklogSizeGB", "it must be 0 or more")
	w.refuse(w.drain < 0 || w.drain > 1, "backlogDrainRatio", "it must be from 0 to 1")
	if w.Find = w.rate == 0; w.Find {
		w.refuse(w.backlogGB > 0, "producerRate", "0 searches the highest rate, which cannot go with consumerBacklogSizeGB: --set workload.producerRate=100000")
		w.notice(w.at("producerRate"), "0: kt searches the highest rate that holds, in runs of 30s or of --run-time, so that testDurationMinutes and warmupDurationMinutes have no effect")
		return
	}
	if w.rate >= asFastAsItGoes {
		w.rate = -1
		w.notice(w.at("producerRate"), "kt takes this rate for as fast as it goes; --set workload.producerRate=0 searches the highest rate that holds")
	}
	w.add("rate", w.rate)
	minutes := func(n float64) time.Duration { return time.Duration(n * float64(time.Minute)) }
	warmup, test := minutes(w.warmup), minutes(w.minutes)
	w.refuse(test < 0, "testDurationMinutes", "it must be 0 or more")
	if warmup > 0 {
		w.add("warmup", warmup)
	}
	if test > 0 {
		test += warmup
	}
	w.add("duration", test)
	if w.backlogGB > 0 {
		w.refuse(w.groups == 0, "consumerBacklogSizeGB", "nobody would read it: subscriptionsPerTopic is 0")
		w.add("backlog", int64(w.backlogGB*(1<<30)))
		w.add("backlog-left", 1-w.drain)
	}
}
