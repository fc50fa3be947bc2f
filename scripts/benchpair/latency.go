package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
)

// delays are medians and 99th percentiles in microseconds, and the CPU of the process in cores.
type delays struct{ p50, p99, own50, own99, cores float64 }

// latency compares the latency from due to acknowledged with that of a bare loop around franz-go which sends each record when
// it is due: the difference is what the client adds.
func (s *settings) latency() error {
	s.rows = slices.DeleteFunc(s.rows, func(row string) bool {
		return row != kt && row != ktWire && row != bare && row != other+kt && row != other+ktWire
	})
	fmt.Printf("%d records of %d bytes at %d/s, %d partitions, acks %s, linger.ms 1; %s\n\n", s.records, s.size, s.rate, s.partitions, s.acks, s.turns())
	line := func(name string, d delays) {
		fmt.Printf("%-16s %10.0f %10.0f %14.0f %14.0f %8.3f\n", name, d.p50, d.p99, d.own50, d.own99, d.cores)
	}
	fmt.Printf("%-16s %10s %10s %14s %14s %8s\n", "run, us", "p50", "p99", "own delay p50", "own delay p99", "cores")
	runs := make(map[string][]delays)
	err := s.inTurns(s.rows, func(row string, round int) error {
		return s.withTopic(fmt.Sprintf("%d", round+warmUps), func(topic string) error {
			d, err := s.delay(row, topic)
			if err != nil || round < 0 {
				return err
			}
			line(fmt.Sprintf("%d %s", round+1, row), d)
			runs[row] = append(runs[row], d)
			return nil
		})
	})
	if err != nil {
		return err
	}
	fmt.Println()
	middle := func(row string, of func(delays) float64) float64 { return median(runs[row], of) }
	p50 := func(d delays) float64 { return d.p50 }
	for _, row := range s.rows {
		line(row, delays{
			middle(row, p50), middle(row, func(d delays) float64 { return d.p99 }), middle(row, func(d delays) float64 { return d.own50 }),
			middle(row, func(d delays) float64 { return d.own99 }), middle(row, func(d delays) float64 { return d.cores }),
		})
	}
	for _, row := range s.rows {
		if base := middle(bare, p50); row != bare && base > 0 {
			fmt.Printf("p50 added by the client: %s %.0f us, %.2fx of %s\n", row, middle(row, p50)-base, middle(row, p50)/base, bare)
		}
	}
	return nil
}

// delay makes one run. The first fifth of it is the warm-up.
func (s *settings) delay(row, topic string) (d delays, err error) {
	c := exec.Command("bin/bare", "due", s.bootstrap, topic, s.acks, strconv.Itoa(s.records), strconv.Itoa(s.size), strconv.Itoa(s.batch), strconv.Itoa(s.rate))
	if row != bare {
		c = s.tool(row, "produce", "", "--topic", topic, "--num-records", strconv.Itoa(s.records), "--warmup-records", strconv.Itoa(s.records/5),
			"--record-size", strconv.Itoa(s.size), "--rate", strconv.Itoa(s.rate), "--bootstrap-server", s.bootstrap,
			"--command-property", "acks="+s.acks, fmt.Sprint("batch.size=", s.batch), "linger.ms=1")
		c.Args[slices.Index(c.Args, "perf-test")] = "json"
	}
	out, err := c.Output()
	const notValid = 4 // the exit code of a run that a busy machine disturbed: its figures show that
	if err != nil && c.ProcessState.ExitCode() != notValid {
		return d, fmt.Errorf("%w: %.300s", err, out)
	}
	d.cores = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds() / (float64(s.records) / float64(s.rate))
	if row == bare {
		_, err = fmt.Sscanf(string(out), "50th = %g, 99th = %g us", &d.p50, &d.p99)
		return d, err
	}
	var doc struct {
		Latency map[string]struct{ P50, P99 float64 } `json:"latency_us"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return d, err
	}
	response, own := doc.Latency["response"], doc.Latency["own_send_delay"]
	d.p50, d.p99, d.own50, d.own99 = response.P50, response.P99, own.P50, own.P99
	return d, nil
}
