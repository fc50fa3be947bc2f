package main

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// consume compares reading the same records, which are in the page cache.
func (s *settings) consume() error {
	fmt.Printf("load %s: %d records of %d bytes, %d partitions, one consumer, rate from the first record on; %s\n\n",
		s.name, s.records, s.size, s.partitions, s.turns())
	return s.withTopic("read-"+s.name, func(topic string) error {
		fill := s.writer("kt", topic, s.records)
		if _, err := fill.Output(); err != nil {
			return fmt.Errorf("fill topic %s: %w", topic, err)
		}
		return s.compare(func(row string, _ int) (figures, error) { return s.read(row, topic) })
	})
}

func (s *settings) read(row, topic string) (figures, error) {
	n := s.records
	switch row {
	case bare:
		return s.measure(exec.Command("bin/bare", "read", s.bootstrap, topic, strconv.Itoa(n)), n, toldRate)
	case librdkafka:
		c := exec.Command(s.rdkafka, "-C", "-t", topic, "-b", s.bootstrap, "-c", strconv.Itoa(n), "-o", "beginning", "-X", "check.crcs=true")
		for p := range s.partitions {
			c.Args = append(c.Args, "-p", strconv.Itoa(p))
		}
		return s.measure(c, n, rdkafkaRate)
	case socket:
		return s.move("receive", n)
	}
	c := s.tool(row, "consume", "ConsumerPerformance",
		"--topic", topic, "--num-records", strconv.Itoa(n), "--bootstrap-server", s.bootstrap,
		"--timeout", "30000", "--hide-header")
	return s.measure(c, n, fetchRate)
}

// The columns of Kafka's own row: data.consumed.in.nMsg and fetch.nMsg.sec.
const (
	columnRecords = 4
	columnRate    = 9
)

// fetchRate is the rate in the row of Kafka's consumer.
func fetchRate(out string, records int) (float64, error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	row := strings.Split(lines[len(lines)-1], ", ")
	if len(row) <= columnRate {
		return 0, fmt.Errorf("no row in: %s", out)
	}
	if n, err := strconv.Atoi(row[columnRecords]); err != nil || n < records {
		return 0, fmt.Errorf("not %d records in: %s", records, out)
	}
	return strconv.ParseFloat(row[columnRate], 64)
}
