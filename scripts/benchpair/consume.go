package main

import (
	"fmt"
	"strconv"
	"strings"
)

// consume compares reading the same records, which are in the page cache.
func (s *settings) consume() error {
	fmt.Printf("%d pairs after %d that do not count, %d records of %d bytes, %d partitions, one consumer, rate from the first record on, ABBA order\n\n",
		s.pairs, warmUps, s.records, s.size, s.partitions)
	return s.withTopic(fmt.Sprintf("read-%d", s.size), func(topic string) error {
		if _, err := s.write("kt", topic); err != nil {
			return fmt.Errorf("fill topic %s: %w", topic, err)
		}
		return s.compare("ConsumerPerformance", func(tool string, _ int) (figures, error) { return s.read(tool, topic) })
	})
}

// The columns of Kafka's own row: data.consumed.in.nMsg and fetch.nMsg.sec.
const (
	columnRecords = 4
	columnRate    = 9
)

func (s *settings) read(tool, topic string) (figures, error) {
	c := s.tool(tool, []string{"consume"},
		"--topic", topic, "--num-records", strconv.Itoa(s.records), "--bootstrap-server", s.bootstrap,
		"--timeout", "30000", "--hide-header")
	out, err := c.Output()
	if err != nil {
		return figures{}, fmt.Errorf("%w: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	row := strings.Split(lines[len(lines)-1], ", ")
	if len(row) <= columnRate || row[columnRecords] != strconv.Itoa(s.records) {
		return figures{}, fmt.Errorf("no row of %d records in: %s", s.records, out)
	}
	rate, err := strconv.ParseFloat(row[columnRate], 64)
	return s.measured(rate, c.ProcessState), err
}
