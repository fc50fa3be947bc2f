// Command benchpair runs kt and Kafka's own tool in pairs against one broker and
// prints the medians and ratios of what each needed. The order turns round with
// each pair (ABBA), so that a machine that gets slower or faster favours neither.
// The first two pairs warm the broker up and do not count.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

const usage = "usage: scripts/bench produce|consume|roundtrip [--pairs 5] [--records N --record-size BYTES] [--bootstrap-server HOST:PORT] [--against KT]"

func run(args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	var s settings
	bench := map[string]func(*settings) error{
		"produce": (*settings).produce, "consume": (*settings).consume, "roundtrip": (*settings).roundtrip,
	}[args[0]]
	if bench == nil {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet("bench "+args[0], flag.ContinueOnError)
	flags.StringVar(&s.bootstrap, "bootstrap-server", "", "broker to use (default: one that scripts/kafka starts and stops)")
	flags.IntVar(&s.pairs, "pairs", 5, fmt.Sprintf("pairs of runs that count, after %d that warm the broker up", warmUps))
	flags.IntVar(&s.records, "records", 0, "records a run (default: 3,000,000 of 512 bytes, for consume 10,000,000 of 100 bytes too, for roundtrip 5,000 of 100)")
	flags.IntVar(&s.size, "record-size", 512, "bytes a record")
	flags.IntVar(&s.partitions, "partitions", 7, "partitions of the topic")
	flags.StringVar(&s.acks, "acks", "1", "acks of what is produced")
	flags.StringVar(&s.against, "against", "", "another kt to compare with, instead of Kafka's own tool (produce, consume)")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if s.against != "" && args[0] == "roundtrip" {
		return errors.New("--against: roundtrip compares with Kafka's own tool only")
	}
	if s.pairs < 1 {
		return fmt.Errorf("--pairs %d: it must be 1 or more", s.pairs)
	}
	if s.bootstrap == "" {
		address, stop, err := startKafka()
		if err != nil {
			return err
		}
		defer stop()
		s.bootstrap = address
	}
	loads := defaultLoads[args[0]]
	if s.records > 0 {
		loads = []load{{s.records, s.size}}
	}
	for _, l := range loads {
		s.records, s.size = l.records, l.size
		if err := bench(&s); err != nil {
			return err
		}
	}
	return nil
}

// load is what a run writes or reads.
type load struct{ records, size int }

// defaultLoads are those of a benchmark without --records.
var defaultLoads = map[string][]load{
	"produce":   {{3_000_000, 512}},
	"consume":   {{3_000_000, 512}, {10_000_000, 100}},
	"roundtrip": {{5_000, 100}},
}

// startKafka starts a broker of the benchmark's own.
func startKafka() (address string, stop func(), err error) {
	up := exec.Command("scripts/kafka", "up", "--name", "bench", "--port", "19592")
	up.Stderr = os.Stderr
	out, err := up.Output()
	lines := strings.Fields(string(out))
	if err != nil || len(lines) == 0 {
		return "", nil, fmt.Errorf("start Kafka: %w", errors.Join(err, errors.New("no address")))
	}
	stop = func() {
		if err := exec.Command("scripts/kafka", "down", "--name", "bench").Run(); err != nil {
			fmt.Fprintln(os.Stderr, "bench: stop Kafka:", err)
		}
	}
	return lines[len(lines)-1], stop, nil
}
