package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
)

// trip is what one run of one record at a time gave, in milliseconds. Kafka's tool
// cuts its percentiles down to whole ones.
type trip struct{ mean, p50, p99 float64 }

// roundtrip compares kt roundtrip --one-at-a-time with Kafka's EndToEndLatency, on one
// topic with one partition.
func (s *settings) roundtrip() error {
	const java = "EndToEndLatency"
	s.partitions = 1 // as EndToEndLatency makes it
	fmt.Printf("%d records of %d bytes, one in flight, acks %s; %s\n\n%-22s %14s %14s %14s\n",
		s.records, s.size, s.acks, s.turns(), "run", "mean ms", "p50 ms", "p99 ms")
	return s.withTopic("trip", func(topic string) error {
		trips := make(map[string][]trip)
		err := s.inTurns([]string{kt, java}, func(tool string, round int) error {
			t, err := s.trip(tool, topic)
			if err != nil || round < 0 {
				return err
			}
			fmt.Printf("%-22s %14.3f %14.3f %14.3f\n", fmt.Sprintf("%d %s", round+1, tool), t.mean, t.p50, t.p99)
			trips[tool] = append(trips[tool], t)
			return nil
		})
		if err != nil {
			return err
		}
		mean := func(tool string) float64 { return median(trips[tool], func(t trip) float64 { return t.mean }) }
		fmt.Printf("\nmedian of the means: kt %.3f ms, %s %.3f ms, kt / Java %.2fx\n", mean(kt), java, mean(java), mean(kt)/mean(java))
		return nil
	})
}

// trip runs one tool once. kt tells microseconds in its document; Kafka's tool prints
// whole milliseconds, but for the mean.
func (s *settings) trip(tool, topic string) (trip, error) {
	args := []string{"--topic", topic, "--num-records", strconv.Itoa(s.records), "--record-size", strconv.Itoa(s.size), "--bootstrap-server", s.bootstrap}
	if tool != kt {
		out, err := s.tool(tool, "", tool, append(args, "--producer-acks", s.acks)...).Output()
		if err != nil {
			return trip{}, fmt.Errorf("%w: %s", err, out)
		}
		return javaTrip(string(out))
	}
	c := exec.Command("bin/kt", append(args, "--acks", s.acks, "--output", "json", "--result", "none", "--quiet")...)
	c.Args = slices.Insert(c.Args, 1, "roundtrip", "--one-at-a-time")
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return trip{}, fmt.Errorf("%w: %s", err, out)
	}
	var doc struct {
		Latency struct {
			EndToEnd struct{ Mean, P50, P99 float64 } `json:"end_to_end"`
		} `json:"latency_us"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return trip{}, err
	}
	l := doc.Latency.EndToEnd
	return trip{l.Mean / 1000, l.P50 / 1000, l.P99 / 1000}, nil
}

var tripLines = regexp.MustCompile(`Avg latency: ([0-9.]+) ms\s+Percentiles: 50th = ([0-9.]+), 99th = ([0-9.]+),`)

func javaTrip(out string) (t trip, err error) {
	m := tripLines.FindStringSubmatch(out)
	if m == nil {
		return t, fmt.Errorf("no latencies in: %s", out)
	}
	for i, field := range []*float64{&t.mean, &t.p50, &t.p99} {
		if *field, err = strconv.ParseFloat(m[i+1], 64); err != nil {
			return t, err
		}
	}
	return t, nil
}
