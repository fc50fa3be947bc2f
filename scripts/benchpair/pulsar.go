package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// pulsarLoop is the row of the loop around Pulsar's Java client.
const pulsarLoop = "java-loop"

// pulsarRun is what one run on Pulsar needed.
type pulsarRun struct {
	rate, cpu float64 // records a second, CPU seconds for a million
	median    float64 // ms from send to receipt
}

// pulsar compares kt with the loop, on a server of the benchmark's own.
func pulsar(args []string) error {
	s := settings{load: load{name: "pulsar"}}
	flags := flag.NewFlagSet("bench pulsar", flag.ContinueOnError)
	flags.IntVar(&s.rounds, "rounds", 5, fmt.Sprintf("rounds that count, after %d that warm the server up", warmUps))
	flags.IntVar(&s.records, "records", 400_000, "records a run")
	flags.IntVar(&s.size, "record-size", 512, "bytes a record")
	flags.IntVar(&s.rate, "rate", 20_000, "records a second; 0: unlimited")
	port := flags.Int("port", 26650, "first port of the server")
	if err := flags.Parse(args); err != nil {
		return err
	}
	jars, err := compilePulsarLoop()
	if err != nil {
		return err
	}
	address, err := exec.Command("scripts/pulsar", "up", "--name", "bench", "--port", strconv.Itoa(*port)).Output()
	if err != nil {
		return fmt.Errorf("start Pulsar: %w", err)
	}
	defer func() {
		if err := exec.Command("scripts/pulsar", "down", "--name", "bench").Run(); err != nil {
			fmt.Fprintln(os.Stderr, "bench: stop Pulsar:", err)
		}
	}()
	s.bootstrap = strings.TrimSpace(string(address))
	return s.comparePulsar(jars)
}

// compilePulsarLoop compiles the loop, and returns the class path to run it.
func compilePulsarLoop() (string, error) {
	fetch := exec.Command("scripts/pulsar", "fetch")
	fetch.Stderr = os.Stderr
	home, err := fetch.Output()
	if err != nil {
		return "", fmt.Errorf("get the jars of Pulsar: %w", err)
	}
	jars := filepath.Join(strings.TrimSpace(string(home)), "*")
	if out, err := exec.Command("javac", "-proc:none", "-cp", jars, "-d", "bin/pulsar-loop", "scripts/benchpair/PulsarLoop.java").CombinedOutput(); err != nil {
		return "", fmt.Errorf("javac: %w: %s", err, out)
	}
	return "bin/pulsar-loop:" + jars, nil
}

// comparePulsar runs both in turns, and prints the figures of each run, the medians and their ratios.
func (s *settings) comparePulsar(jars string) error {
	fmt.Printf("%s records of %d bytes at %d/s, one producer, one partition; %s\n", strconv.Itoa(s.records), s.size, s.rate, s.turns())
	line := func(name string, r pulsarRun) {
		fmt.Printf("%-14s %12.0f %18.3f %14.3f\n", name, r.rate, r.cpu, r.median)
	}
	fmt.Printf("%-14s %12s %18s %14s\n", "run", "records/s", "CPU s per million", "median ms")
	runs := make(map[string][]pulsarRun)
	err := s.inTurns([]string{kt, pulsarLoop}, func(row string, round int) error {
		r, err := s.onPulsar(row, jars, fmt.Sprintf("bench-%d-%s", os.Getpid(), row))
		if err == nil && round >= 0 {
			runs[row] = append(runs[row], r)
			line(fmt.Sprintf("%d %s", round+1, row), r)
		}
		return err
	})
	if err != nil {
		return err
	}
	middle := func(row string, of func(pulsarRun) float64) float64 {
		values := make([]float64, len(runs[row]))
		for i, r := range runs[row] {
			values[i] = of(r)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	medianOf := func(row string) pulsarRun {
		return pulsarRun{
			middle(row, func(r pulsarRun) float64 { return r.rate }), middle(row, func(r pulsarRun) float64 { return r.cpu }),
			middle(row, func(r pulsarRun) float64 { return r.median }),
		}
	}
	ours, theirs := medianOf(kt), medianOf(pulsarLoop)
	line("median "+kt, ours)
	line("median java", theirs)
	fmt.Printf("%-14s %11.2fx %17.2fx %13.2fx\n", "kt / java-loop", ours.rate/theirs.rate, ours.cpu/theirs.cpu, ours.median/theirs.median)
	return nil
}

// onPulsar runs one of them.
func (s *settings) onPulsar(row, jars, topic string) (r pulsarRun, err error) {
	javas, _, _ := strings.Cut(s.bootstrap, "?")
	c := exec.Command("java", "-Xmx512m", "-Dlog4j2.configurationFile=scripts/lib/kafka-log4j2.properties", "-cp", jars, "PulsarLoop", javas, "persistent://public/default/"+topic, strconv.Itoa(s.records), strconv.Itoa(s.rate), strconv.Itoa(s.size))
	if row == kt {
		c = exec.Command("bin/kt", "produce", "--url", s.bootstrap, "--topic", topic, "--num-records", strconv.Itoa(s.records), "--record-size", strconv.Itoa(s.size),
			"--output", "json", "--result", "none", "--quiet")
		if s.rate > 0 {
			c.Args = append(c.Args, "--rate", strconv.Itoa(s.rate))
		}
	}
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && (row != kt || !errors.As(err, &exit) || len(out) == 0) { // kt tells a run that is not valid by its exit code
		return r, fmt.Errorf("%w: %s", err, out)
	}
	r.cpu = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds() / float64(s.records) * 1e6
	if row != kt {
		_, err = fmt.Sscan(string(out), &r.rate, &r.median)
		r.median /= 1000
		return r, err
	}
	var doc struct {
		Throughput struct {
			RecordsPerSecond float64 `json:"records_per_second"`
		} `json:"throughput"`
		Latency struct {
			Service struct {
				P50 float64 `json:"p50"`
			} `json:"service"`
		} `json:"latency_us"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return r, err
	}
	r.rate, r.median = doc.Throughput.RecordsPerSecond, doc.Latency.Service.P50/1000
	return r, nil
}
