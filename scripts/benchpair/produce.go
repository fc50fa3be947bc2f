package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// produce compares writing, each run into a topic of its own.
func (s *settings) produce() error {
	fmt.Printf("%d pairs after %d that do not count, %d records of %d bytes, %d partitions, acks %s, batch.size 16384, linger.ms 5, ABBA order\n\n",
		s.pairs, warmUps, s.records, s.size, s.partitions, s.acks)
	return s.compare("ProducerPerformance", func(tool string, pair int) (f figures, err error) {
		err = s.withTopic(strings.ReplaceAll(fmt.Sprintf("%s-%d", tool, pair), " ", "-"), func(topic string) error {
			f, err = s.write(tool, topic)
			return err
		})
		return f, err
	})
}

var producedLine = regexp.MustCompile(`(\d+) records sent, ([0-9.]+) records/sec .* 99\.9th\.`)

func (s *settings) write(tool, topic string) (figures, error) {
	c := s.tool(tool, []string{"produce"},
		"--topic", topic, "--num-records", strconv.Itoa(s.records), "--record-size", strconv.Itoa(s.size),
		"--throughput", "-1", "--bootstrap-server", s.bootstrap,
		"--command-property", "acks="+s.acks, "batch.size=16384", "linger.ms=5")
	out, err := c.Output()
	if err != nil {
		return figures{}, fmt.Errorf("%w: %s", err, out)
	}
	m := producedLine.FindStringSubmatch(string(out))
	if m == nil || m[1] != strconv.Itoa(s.records) {
		return figures{}, fmt.Errorf("no summary of %d records in: %s", s.records, out)
	}
	rate, err := strconv.ParseFloat(m[2], 64)
	return s.measured(rate, c.ProcessState), err
}
