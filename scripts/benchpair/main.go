// Command benchpair runs kt and Kafka's own tool in pairs against one broker and
// prints the medians and ratios of what each needed. The order turns round with
// each pair (ABBA), so that a machine that gets slower or faster favours neither.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// settings are what both tools are run with.
type settings struct {
	bootstrap  string
	pairs      int
	records    int
	size       int
	partitions int
	acks       string
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || args[0] != "produce" {
		return errors.New("usage: scripts/bench produce [--pairs 5] [--records 3000000] [--bootstrap-server HOST:PORT]")
	}
	var s settings
	flags := flag.NewFlagSet("bench produce", flag.ContinueOnError)
	flags.StringVar(&s.bootstrap, "bootstrap-server", "", "broker to use (default: one that scripts/kafka starts and stops)")
	flags.IntVar(&s.pairs, "pairs", 5, "pairs of runs")
	flags.IntVar(&s.records, "records", 3_000_000, "records a run")
	flags.IntVar(&s.size, "record-size", 512, "bytes a record")
	flags.IntVar(&s.partitions, "partitions", 7, "partitions of the topic")
	flags.StringVar(&s.acks, "acks", "1", "acks")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if s.bootstrap == "" {
		address, stop, err := startKafka()
		if err != nil {
			return err
		}
		defer stop()
		s.bootstrap = address
	}
	return s.produce()
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

// figures are what one run gave.
type figures struct {
	rate   float64 // records a second, as the tool itself printed it
	cpu    float64 // seconds, user and system, per million records, start-up included
	memory float64 // MiB, peak resident
}

func (s settings) produce() error {
	fmt.Printf("%d pairs, %d records of %d bytes, %d partitions, acks %s, batch.size 16384, linger.ms 5, ABBA order\n\n",
		s.pairs, s.records, s.size, s.partitions, s.acks)
	fmt.Printf("%-22s %14s %20s %14s\n", "run", "records/s", "CPU s per million", "peak MiB")
	var kt, java []figures
	for pair := range s.pairs {
		order := []string{"kt", "java"}
		if pair%2 == 1 {
			slices.Reverse(order)
		}
		for _, tool := range order {
			f, err := s.one(tool, pair)
			if err != nil {
				return fmt.Errorf("%s, pair %d: %w", tool, pair+1, err)
			}
			fmt.Printf("%-22s %14.0f %20.2f %14.0f\n", fmt.Sprintf("%d %s", pair+1, tool), f.rate, f.cpu, f.memory)
			if tool == "kt" {
				kt = append(kt, f)
			} else {
				java = append(java, f)
			}
		}
	}
	summary(kt, java)
	return nil
}

// one runs one tool on a topic of its own.
func (s settings) one(tool string, pair int) (figures, error) {
	topic := fmt.Sprintf("bench-%s-%d-%d", tool, pair, os.Getpid())
	create := []string{"tool", "TopicCommand", "--bootstrap-server", s.bootstrap, "--topic", topic}
	if out, err := exec.Command("scripts/kafka", append(create, "--create", "--partitions", strconv.Itoa(s.partitions))...).CombinedOutput(); err != nil {
		return figures{}, fmt.Errorf("create topic: %w: %s", err, out)
	}
	defer func() {
		if err := exec.Command("scripts/kafka", append(create, "--delete")...).Run(); err != nil {
			fmt.Fprintf(os.Stderr, "bench: topic %s stays: %v\n", topic, err)
		}
	}()
	args := []string{
		"--topic", topic, "--num-records", strconv.Itoa(s.records), "--record-size", strconv.Itoa(s.size),
		"--throughput", "-1", "--bootstrap-server", s.bootstrap,
		"--command-property", "acks=" + s.acks, "batch.size=16384", "linger.ms=5",
	}
	c := exec.Command("bin/kt", append([]string{"produce", "--output", "perf-test", "--result", "none", "--quiet"}, args...)...)
	if tool == "java" {
		c = exec.Command("scripts/kafka", append([]string{"tool", "ProducerPerformance"}, args...)...)
	}
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return figures{}, fmt.Errorf("%w: %s", err, out)
	}
	return s.figures(string(out), c.ProcessState)
}

var summaryLine = regexp.MustCompile(`(\d+) records sent, ([0-9.]+) records/sec .* 99\.9th\.`)

func (s settings) figures(out string, state *os.ProcessState) (figures, error) {
	m := summaryLine.FindStringSubmatch(out)
	if m == nil || m[1] != strconv.Itoa(s.records) {
		return figures{}, fmt.Errorf("no summary of %d records in: %s", s.records, out)
	}
	rate, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		return figures{}, err
	}
	cpu := state.UserTime() + state.SystemTime()
	return figures{
		rate:   rate,
		cpu:    cpu.Seconds() / float64(s.records) * 1e6,
		memory: float64(state.SysUsage().(*syscall.Rusage).Maxrss) / 1024, // kilobytes on Linux
	}, nil
}

func summary(kt, java []figures) {
	fmt.Printf("\n%-22s %14s %20s %14s\n", "median", "records/s", "CPU s per million", "peak MiB")
	row := func(name string, fs []figures) figures {
		m := figures{
			rate:   median(fs, func(f figures) float64 { return f.rate }),
			cpu:    median(fs, func(f figures) float64 { return f.cpu }),
			memory: median(fs, func(f figures) float64 { return f.memory }),
		}
		fmt.Printf("%-22s %14.0f %20.2f %14.0f\n", name, m.rate, m.cpu, m.memory)
		return m
	}
	a, b := row("kt", kt), row("ProducerPerformance", java)
	fmt.Printf("%-22s %13.2fx %19.2fx %13.2fx\n", "kt / Java", a.rate/b.rate, a.cpu/b.cpu, a.memory/b.memory)
}

func median(fs []figures, of func(figures) float64) float64 {
	values := make([]float64, len(fs))
	for i, f := range fs {
		values[i] = of(f)
	}
	slices.SortFunc(values, cmp.Compare)
	if n := len(values); n%2 == 0 {
		return (values[n/2-1] + values[n/2]) / 2
	}
	return values[len(values)/2]
}
