// Command benchpair runs kt's engines, Kafka's own tool, a plain loop around franz-go, librdkafka's tool
// and a bare socket in turns against one broker, and prints the medians and ratios of what each needed.
// The order turns round with each round (ABBA), so that a machine that gets slower or faster favours none.
// The first two rounds warm the broker up and do not count.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

const usage = `usage: scripts/bench produce|consume|roundtrip|latency [--rounds 5] [--load NAME,NAME|all] [--rows ROW,ROW]
  [--records N --record-size BYTES --batch-size BYTES --rate N] [--bootstrap-server HOST:PORT] [--against KT]
  [--security KIND]
       scripts/bench pulsar [--rounds 5] [--records N --record-size BYTES --rate N] [--port P]`

// load is what a run writes or reads.
type load struct {
	name    string
	records int // a run of the fastest rows writes more
	size    int
	batch   int
	rate    int // records a second; 0: as fast as can be
}

// loads are those that --load names. A benchmark without it runs the first.
var loads = map[string][]load{
	"produce": {
		{"512x16k", 3_000_000, 512, 16384, 0},
		{"512x200k", 3_000_000, 512, 200_000, 0},
		{"512x1m", 3_000_000, 512, 1_000_000, 0},
		{"100x16k", 6_000_000, 100, 16384, 0},
		{"100x200k", 6_000_000, 100, 200_000, 0},
		{"100x1m", 6_000_000, 100, 1_000_000, 0},
		{"50k", 400_000, 100, 16384, 50_000},
	},
	"consume": {
		{"512", 4_000_000, 512, 16384, 0},
		{"100", 10_000_000, 100, 16384, 0},
	},
	"roundtrip": {{"trip", 5_000, 100, 0, 0}},
	"latency":   {{"20k", 300_000, 1024, 16384, 20_000}, {"5k", 75_000, 1024, 16384, 5_000}},
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	if args[0] == "pulsar" {
		return pulsar(args[1:])
	}
	var s settings
	bench := map[string]func(*settings) error{
		"produce": (*settings).produce, "consume": (*settings).consume, "roundtrip": (*settings).roundtrip, "latency": (*settings).latency,
	}[args[0]]
	if bench == nil {
		return errors.New(usage)
	}
	var names, rows string
	own := load{name: "own"}
	flags := flag.NewFlagSet("bench "+args[0], flag.ContinueOnError)
	flags.StringVar(&s.bootstrap, "bootstrap-server", "", "broker to use (default: one that scripts/kafka starts and stops)")
	flags.IntVar(&s.rounds, "rounds", 5, fmt.Sprintf("rounds that count, after %d that warm the broker up", warmUps))
	flags.StringVar(&names, "load", loads[args[0]][0].name, "named loads, or all: RECORD-SIZExBATCH-SIZE unlimited, and 50k at that rate")
	flags.StringVar(&rows, "rows", strings.Join(allRows, ","), "rows to run; the first two are kt's engines")
	flags.IntVar(&own.records, "records", 0, "records a run, for a load of your own")
	flags.IntVar(&own.size, "record-size", 512, "bytes a record, with --records")
	flags.IntVar(&own.batch, "batch-size", 16384, "bytes a batch, with --records")
	flags.IntVar(&own.rate, "rate", 0, "records a second, with --records (default: unlimited)")
	flags.IntVar(&s.partitions, "partitions", 7, "partitions of the topic")
	flags.StringVar(&s.acks, "acks", "1", "acks of what is produced")
	flags.StringVar(&s.security, "security", "", "kind of security of the broker that is started, as scripts/kafka up --help lists them; kt and Kafka's tool only")
	flags.StringVar(&s.against, "against", "", "another kt to compare with, instead of the other rows (produce, consume)")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if s.against != "" && args[0] == "roundtrip" {
		return errors.New("--against: roundtrip compares with Kafka's own tool only")
	}
	if s.security != "" && (s.bootstrap != "" || args[0] != "produce") {
		return errors.New("--security: it is for produce, with a broker that the benchmark starts")
	}
	if s.rounds < 1 {
		return fmt.Errorf("--rounds %d: it must be 1 or more", s.rounds)
	}
	chosen, err := chooseLoads(names, loads[args[0]])
	if own.records > 0 {
		chosen, err = []load{own}, nil
	}
	if s.security != "" && rows == strings.Join(allRows, ",") {
		rows = strings.Join([]string{kt, ktWire, kafka}, ",") // the others would need settings of their own
	}
	if args[0] != "roundtrip" {
		err = errors.Join(err, s.chooseRows(rows))
	}
	if err != nil {
		return err
	}
	return s.runAll(bench, chosen)
}

func chooseLoads(names string, from []load) (chosen []load, err error) {
	for name := range strings.SplitSeq(names, ",") {
		found := false
		for _, l := range from {
			if name == "all" || name == l.name {
				chosen, found = append(chosen, l), true
			}
		}
		if !found {
			return nil, fmt.Errorf("--load %s: there is no such load", name)
		}
	}
	return chosen, nil
}

func (s *settings) runAll(bench func(*settings) error, chosen []load) error {
	if s.bootstrap == "" {
		stop, err := s.startKafka()
		if err != nil {
			return err
		}
		defer stop()
	}
	for _, s.load = range chosen {
		if err := bench(s); err != nil {
			return err
		}
	}
	return nil
}

// The port of the benchmark's own broker. Its next port but one is a listener without security, where there is any.
const (
	port      = 19592
	plainPort = port + 2
)

// startKafka starts a broker of the benchmark's own.
func (s *settings) startKafka() (stop func(), err error) {
	args := []string{"up", "--name", "bench", "--port", strconv.Itoa(port)}
	if s.security != "" {
		args = append(args, "--security", s.security)
	}
	address, err := script(args...)
	if err != nil {
		return nil, fmt.Errorf("start Kafka: %w", err)
	}
	stop = func() {
		if _, err := script("down", "--name", "bench"); err != nil {
			fmt.Fprintln(os.Stderr, "bench: stop Kafka:", err)
		}
	}
	s.bootstrap, s.admin = address, address
	if s.security != "" {
		s.admin = "127.0.0.1:" + strconv.Itoa(plainPort)
		if s.clientFile, err = script("client-config", "--name", "bench"); err != nil {
			stop()
			return nil, err
		}
	}
	return stop, nil
}

// script runs scripts/kafka, and returns the last word that it prints.
func script(args ...string) (string, error) {
	c := exec.Command("scripts/kafka", args...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) == 0 {
		return "", err
	}
	return words[len(words)-1], nil
}
