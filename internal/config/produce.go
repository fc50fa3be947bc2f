package config

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Given is a Java property as the user gave it, and where.
type Given struct{ Value, Source string }

// Produce is what `kt produce` was asked to do.
type Produce struct {
	Plan       plan.Plan
	Properties map[string]Given // Java properties, from files, flags and kt's own flags
	Output     string           // "" means: the screen when there is a terminal, text when not
	ResultFile string           // "": the state folder; "none": no file
	Interval   time.Duration    // between progress lines
	FPS        int
	Quiet      bool
	NoColor    bool
	ASCII      bool

	PrintConfig  bool
	PrintMetrics bool
	Lenient      bool

	Warnings []string          // to be shown before the run
	Flags    map[string]string // flag → its value
	Sources  map[string]string // flag → where that came from
}

// Outputs are the forms of output of a load command.
var Outputs = []string{"tui", "text", "json", "jsonl", "csv", "perf-test"}

// Groups of flags, in the order in which the help shows them.
const (
	GroupTarget  = "Target"
	GroupLoad    = "Load"
	GroupPayload = "Records"
	GroupClient  = "Client"
	GroupOutput  = "Output"
	GroupConfig  = "Configuration"
)

// Groups lists them.
var Groups = []string{GroupTarget, GroupLoad, GroupPayload, GroupClient, GroupOutput, GroupConfig}

// GroupOf is the group of a flag; "" for one that belongs to no group.
func GroupOf(f *pflag.Flag) string {
	if g := f.Annotations[groupKey]; len(g) > 0 {
		return g[0]
	}
	return ""
}

const groupKey = "kt_group"

// ProduceFlags are the flags of `kt produce` before they are loaded.
type ProduceFlags struct {
	set *pflag.FlagSet

	bootstrap, topicConfig             []string
	topic                              string
	partitions                         int32
	replication                        int16
	deleteTopic                        bool
	records                            int64
	rate, throughput, duration, warmup string
	warmupRecords                      int64
	arrivals                           string
	producers                          int
	transactionMS                      int64
	size, payloadFile, delimiter       string
	monotonic                          bool
	compressibility                    float64
	keys                               string
	keyRange                           int64
	headers                            []string
	seed                               int64
	acks, batch, linger, compression   string
	inFlight                           int
	idempotence, transactionalID       string
	properties, oldProperties          []string
	propertyFile, oldPropertyFile      string
	output, resultFile, interval       string
	fps                                int
	quiet, noColor, ascii              bool
	printConfig, printMetrics, lenient bool
	config, profile                    string
}

// NewProduce defines the flags of `kt produce` on a set.
func NewProduce(set *pflag.FlagSet) *ProduceFlags {
	f := &ProduceFlags{set: set}
	set.SortFlags = false
	f.group(GroupTarget, func() {
		set.StringSliceVar(&f.bootstrap, "bootstrap-server", nil, "`BROKERS` to connect to first, as HOST:PORT,HOST:PORT; none anywhere: a broker inside kt")
		set.StringVar(&f.topic, "topic", "kt-bench", "produce to the topic of this `NAME`")
		set.Int32Var(&f.partitions, "partitions", 0, "create the topic with `N` partitions, or insist that it has them")
		set.Int16Var(&f.replication, "replication-factor", 0, "create the topic with `N` replicas, or insist that it has them")
		set.StringArrayVar(&f.topicConfig, "topic-config", nil, "settings `K=V` of the topic that is created")
		set.BoolVar(&f.deleteTopic, "delete-topic", false, "delete the topic at the end, if this run created it")
	})
	f.group(GroupLoad, func() {
		set.StringVar(&f.rate, "rate", "", "target `RATE`: records a second (50000), bytes a second (100MiB/s), -1: no limit (default -1)")
		set.StringVar(&f.throughput, "throughput", "", "target `RATE`, by the name that Kafka's tool has for it")
		set.Int64Var(&f.records, "num-records", 0, "stop after `N` records")
		set.StringVar(&f.duration, "duration", "", "stop after this `TIME`; 0: never (default 1m when --num-records is not given)")
		set.StringVar(&f.warmup, "warmup", "", "leave the first `TIME|RECORDS` out of the measurement (10s, 100000)")
		set.Int64Var(&f.warmupRecords, "warmup-records", 0, "leave the first `N` records out, by the name that Kafka's tool has for it")
		set.StringVar(&f.arrivals, "arrivals", string(plan.Uniform), "`HOW` records arrive at a target rate: uniform (equal intervals) or poisson (independent)")
		set.IntVar(&f.producers, "producers", 1, "`N` producers in this process, each with connections of its own")
		set.Int64Var(&f.transactionMS, "transaction-duration-ms", 0, "commit a transaction every `MS` (default 3000 with a transactional id)")
	})
	f.group(GroupPayload, func() {
		set.StringVar(&f.size, "record-size", "", "`BYTES`, a range (100-2000), normal:MEAN,STDDEV, or weighted (100@80,10KiB@20) (default 512)")
		set.StringVar(&f.payloadFile, "payload-file", "", "take record values from this `FILE`, at random")
		set.StringVar(&f.delimiter, "payload-delimiter", `\n`, "the `TEXT` that separates them there")
		set.BoolVar(&f.monotonic, "payload-monotonic", false, "record values are 0, 1, 2, …")
		set.Float64Var(&f.compressibility, "compressibility", 0, "random bytes of which this `SHARE`, 0 to 1, compresses away (default: letters A to Z)")
		set.StringVar(&f.keys, "key-distribution", string(plan.NoKeys), "`KIND` of record keys: none, range (in turn) or random")
		set.Int64Var(&f.keyRange, "record-key-range", 0, "keys are numbers below `N`")
		set.StringArrayVar(&f.headers, "header", nil, "headers `K=V` of every record")
		set.Int64Var(&f.seed, "seed", 1, "`SEED` of sizes, payloads, keys and Poisson arrivals")
	})
	f.clientFlags()
	f.outputFlags()
	return f
}

func (f *ProduceFlags) clientFlags() {
	set := f.set
	f.group(GroupClient, func() {
		set.StringVar(&f.acks, "acks", "", "`ACKS` to wait for: 0, 1 or all (default all)")
		set.StringVar(&f.batch, "batch-size", "", "batch.size in `BYTES` (default 16384)")
		set.StringVar(&f.linger, "linger", "", "linger.ms, as `TIME` or milliseconds (default 5ms)")
		set.StringVar(&f.compression, "compression", "", "`TYPE[:LEVEL]`: none, gzip, snappy, lz4 or zstd (default none)")
		set.IntVar(&f.inFlight, "max-in-flight", 0, "`N` requests in flight on a connection (default 5)")
		set.StringVar(&f.idempotence, "idempotence", "", "`BOOL`: true or false (default true with acks=all)")
		set.StringVar(&f.transactionalID, "transactional-id", "", "produce in transactions under this `ID`")
		set.StringArrayVar(&f.properties, "command-property", nil, "producer properties `K=V` by their Java names, one or several")
		set.StringVar(&f.propertyFile, "command-config", "", "properties `FILE` of the producer")
		set.StringArrayVar(&f.oldProperties, "producer-props", nil, "deprecated name of --command-property `K=V`")
		set.StringVar(&f.oldPropertyFile, "producer.config", "", "deprecated name of --command-config `FILE`")
		set.BoolVar(&f.lenient, "lenient", false, "warn of unknown properties instead of refusing them")
	})
}

func (f *ProduceFlags) outputFlags() {
	set := f.set
	f.group(GroupOutput, func() {
		set.StringVarP(&f.output, "output", "o", "", "`FORMAT`: tui, text, json, jsonl, csv or perf-test (default tui on a terminal, else text)")
		set.StringVar(&f.resultFile, "result", "", "write the run to this `FILE`; none: nowhere (default: a new file in the state folder)")
		set.StringVar(&f.interval, "reporting-interval", "5000", "between progress lines, as `MS` or time")
		set.BoolVar(&f.printMetrics, "print-metrics", false, "print the client's metrics at the end")
		set.BoolVarP(&f.quiet, "quiet", "q", false, "no progress, only the result")
		set.BoolVar(&f.noColor, "no-color", false, "no colours; NO_COLOR does the same")
		set.BoolVar(&f.ascii, "ascii", false, "only ASCII on the screen")
		set.IntVar(&f.fps, "fps", 4, "`N` frames a second of the screen, 1 to 30")
	})
	f.group(GroupConfig, func() {
		set.StringVar(&f.profile, "profile", "", "start from the profile of this `NAME`")
		set.StringVar(&f.config, "config", "", "configuration `FILE` (default: kt/config.yaml in the user's configuration folder)")
		set.BoolVar(&f.printConfig, "print-config", false, "print every effective setting and where it came from, and stop")
	})
}

// group marks the flags that define adds.
func (f *ProduceFlags) group(name string, define func()) {
	before := make(map[string]bool)
	f.set.VisitAll(func(fl *pflag.Flag) { before[fl.Name] = true })
	define()
	f.set.VisitAll(func(fl *pflag.Flag) {
		if !before[fl.Name] {
			_ = f.set.SetAnnotation(fl.Name, groupKey, []string{name}) // the flag exists
		}
	})
}
