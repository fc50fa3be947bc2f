package config

import (
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Flags are the flags of a command that makes a load, before they are loaded. What
// a command has no flag for is zero.
type Flags struct {
	set     *pflag.FlagSet
	command plan.Command

	run Run // what is taken as it was given

	// target
	bootstrap, brokerList, topicConfig []string
	url, include, cluster              string

	// load
	records, messages, warmupRecords   int64
	rate, throughput, duration, warmup string
	arrivals, engine                   string
	producers, consumers               int
	transactionMS                      int64
	oneAtATime                         bool
	stopAtDisk                         string
	untilFull                          bool

	// records
	size, payloadFile, delimiter string
	monotonic                    bool
	compressibility              float64
	keys                         string
	keyRange                     int64
	headers                      []string

	// reading
	group, commit, start string
	groups               int
	noGroup, fromLatest  bool
	allowGaps            bool
	processing, timeout  string

	// producer
	acks, producerAcks, batch, linger         string
	compression, idempotence, transactionalID string
	inFlight                                  int
	producerProps                             []string
	producerFile                              string

	// consumer
	fetchSize, socketBuffer            string
	maxMessage                         string
	isolation, groupProtocol, instance string
	noCheckCRCs                        bool
	consumerFile                       string

	// both clients
	properties   []string
	propertyFile string

	// verification and events
	verify, stamp bool
	at, exec      []string

	// output and configuration
	output, interval string
	config, profile  string
}

// NewProduce defines the flags of `kt produce` on a set.
func NewProduce(set *pflag.FlagSet) *Flags { return newFlags(set, plan.Produce) }

// NewConsume defines the flags of `kt consume` on a set.
func NewConsume(set *pflag.FlagSet) *Flags { return newFlags(set, plan.Consume) }

// NewRoundtrip defines the flags of `kt roundtrip` on a set.
func NewRoundtrip(set *pflag.FlagSet) *Flags { return newFlags(set, plan.Roundtrip) }

// commands are those that make a load.
var commands = []plan.Command{plan.Produce, plan.Consume, plan.Roundtrip}

// LoadCommands returns the names of the commands that make a load.
func LoadCommands() (names []string) {
	for _, c := range commands {
		names = append(names, string(c))
	}
	return names
}

func newFlags(set *pflag.FlagSet, command plan.Command) *Flags {
	f := &Flags{set: set, command: command}
	set.SortFlags = false
	group(set, groupTarget, f.defineTarget)
	group(set, groupLoad, f.defineLoad)
	if f.writes() {
		group(set, groupPayload, f.definePayload)
	}
	if f.reads() {
		group(set, groupReading, f.defineReading)
	}
	if f.writes() {
		group(set, groupProducer, f.defineProducer)
	}
	if f.reads() {
		group(set, groupConsumer, f.defineConsumer)
	}
	group(set, groupClient, f.defineClient)
	group(set, groupVerify, f.defineVerify)
	group(set, groupEvents, f.defineEvents)
	group(set, groupChecks, f.defineLimits)
	group(set, groupHosts, f.defineHosts)
	group(set, groupOutput, f.defineOutput)
	group(set, groupConfig, f.defineConfig)
	return f
}

// writes and reads report whether the command writes and reads records.
func (f *Flags) writes() bool { return f.command != plan.Consume }

func (f *Flags) reads() bool { return f.command != plan.Produce }
