package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
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
	against    string // another kt to compare with; "": Kafka's own tool
}

// other is the name of the second kt, where two are compared.
const other = "other kt"

// figures are what one run gave.
type figures struct {
	rate   float64 // records a second, as the tool itself printed it
	cpu    float64 // seconds, user and system, per million records, start-up included
	memory float64 // MiB, peak resident
}

// warmUps is the number of pairs before those that count. The JVM of a new broker compiles in the
// meantime. Without them the first runs are the slowest, and which tool they hit decides the ratio.
const warmUps = 2

// inTurns calls one for both tools of each pair, and changes their order from pair to pair. The pairs of
// the warm-up have numbers below 0.
func (s *settings) inTurns(kt, rival string, one func(tool string, pair int) error) error {
	order := []string{kt, rival}
	for pair := -warmUps; pair < s.pairs; pair++ {
		for _, tool := range order {
			if err := one(tool, pair); err != nil {
				return fmt.Errorf("%s, pair %d: %w", tool, pair+1, err)
			}
		}
		slices.Reverse(order)
	}
	return nil
}

// compare runs both tools in turns and prints the figures of each run that counts, the medians
// and their ratios.
func (s *settings) compare(javaTool string, one func(tool string, pair int) (figures, error)) error {
	rival, ratio := javaTool, "kt / Java"
	if s.against != "" {
		rival, ratio = other, "kt / "+other
	}
	fmt.Printf("%-22s %14s %20s %14s\n", "run", "records/s", "CPU s per million", "peak MiB")
	runs := make(map[string][]figures)
	err := s.inTurns("kt", rival, func(tool string, pair int) error {
		f, err := one(tool, pair)
		if err != nil || pair < 0 {
			return err
		}
		fmt.Printf("%-22s %14.0f %20.3f %14.0f\n", fmt.Sprintf("%d %s", pair+1, tool), f.rate, f.cpu, f.memory)
		runs[tool] = append(runs[tool], f)
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Printf("\n%-22s %14s %20s %14s\n", "median", "records/s", "CPU s per million", "peak MiB")
	a, b := row("kt", runs["kt"]), row(rival, runs[rival])
	fmt.Printf("%-22s %13.2fx %19.2fx %13.2fx\n\n", ratio, a.rate/b.rate, a.cpu/b.cpu, a.memory/b.memory)
	return nil
}

// row prints and returns the medians of some runs.
func row(name string, fs []figures) figures {
	m := figures{
		rate:   median(fs, func(f figures) float64 { return f.rate }),
		cpu:    median(fs, func(f figures) float64 { return f.cpu }),
		memory: median(fs, func(f figures) float64 { return f.memory }),
	}
	fmt.Printf("%-22s %14.0f %20.3f %14.0f\n", name, m.rate, m.cpu, m.memory)
	return m
}

func median[T any](fs []T, of func(T) float64) float64 {
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

// tool is a command line of kt, or of Kafka's tool of that name.
func (s *settings) tool(name string, kt []string, args ...string) *exec.Cmd {
	var c *exec.Cmd
	kt = append(append(kt, "--output", "perf-test", "--result", "none", "--quiet"), args...)
	switch name {
	case "kt":
		c = exec.Command("bin/kt", kt...)
	case other:
		c = exec.Command(s.against, kt...)
	default:
		c = exec.Command("scripts/kafka", append([]string{"tool", name}, args...)...)
	}
	c.Stderr = os.Stderr
	return c
}

// measured is the figures of a process that has ended, but for the rate.
func (s *settings) measured(rate float64, state *os.ProcessState) figures {
	cpu := state.UserTime() + state.SystemTime()
	return figures{
		rate:   rate,
		cpu:    cpu.Seconds() / float64(s.records) * 1e6,
		memory: float64(state.SysUsage().(*syscall.Rusage).Maxrss) / 1024, // kilobytes on Linux
	}
}

// withTopic calls f with a new topic, which is gone afterwards.
func (s *settings) withTopic(name string, f func(topic string) error) error {
	topic := fmt.Sprintf("bench-%s-%d", name, os.Getpid())
	admin := []string{"tool", "TopicCommand", "--bootstrap-server", s.bootstrap, "--topic", topic}
	if out, err := exec.Command("scripts/kafka", append(admin, "--create", "--partitions", strconv.Itoa(s.partitions))...).CombinedOutput(); err != nil {
		return fmt.Errorf("create topic: %w: %s", err, out)
	}
	err := f(topic)
	if out, gone := exec.Command("scripts/kafka", append(admin, "--delete")...).CombinedOutput(); gone != nil {
		err = errors.Join(err, fmt.Errorf("topic %s stays: %w: %s", topic, gone, out))
	}
	return err
}
