package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
)

// produce compares writing, each run into a topic of its own.
func (s *settings) produce() error {
	fmt.Printf("load %s: %d records of %d bytes, rate %d (0: unlimited), %d partitions, acks %s, batch.size %d, linger.ms 5; %s\n\n",
		s.name, s.records, s.size, s.rate, s.partitions, s.acks, s.batch, s.turns())
	if s.rate > 0 && slices.Contains(s.rows, librdkafka) {
		fmt.Println("librdkafka is left out: with a rate its tool asks the clock until the next record is due")
		all := s.rows
		defer func() { s.rows = all }()
		s.rows = slices.DeleteFunc(slices.Clone(all), func(row string) bool { return row == librdkafka })
	}
	return s.compare(func(row string, round int) (f figures, err error) {
		err = s.withTopic(fmt.Sprintf("%d", round+warmUps), func(topic string) error {
			f, err = s.write(row, topic)
			return err
		})
		return f, err
	})
}

func (s *settings) write(row, topic string) (figures, error) {
	n := s.records
	switch {
	case row == socket:
		return s.move("send", n*s.swift())
	case row == librdkafka:
		return s.measure(exec.Command(s.rdkafka, "-P", "-t", topic, "-b", s.bootstrap, "-c", strconv.Itoa(n), "-s", strconv.Itoa(s.size),
			"-a", s.acks, "-X", fmt.Sprint("batch.size=", s.batch), "-X", "linger.ms=5", "-X", "batch.num.messages=1000000"), n, rdkafkaRate)
	case row == bare:
		return s.measure(exec.Command("bin/bare", "write", s.bootstrap, topic, s.acks, strconv.Itoa(n), strconv.Itoa(s.size),
			strconv.Itoa(s.batch), strconv.Itoa(s.rate)), n, toldRate)
	case isWire(row):
		n *= s.swift()
	}
	return s.measure(s.writer(row, topic, n), n, toldRate)
}

// swift is how many times the records of a load the fastest rows move, so that their runs take seconds too.
func (s *settings) swift() int {
	if s.rate > 0 {
		return 1
	}
	return 3
}

// writer is kt, or Kafka's own tool, that writes n records. The send buffer is that of the operating system, as for the
// other rows.
func (s *settings) writer(row, topic string, n int) *exec.Cmd {
	throughput := s.rate
	if throughput == 0 {
		throughput = -1
	}
	args := []string{
		"--topic", topic, "--num-records", strconv.Itoa(n), "--record-size", strconv.Itoa(s.size),
		"--throughput", strconv.Itoa(throughput), "--bootstrap-server", s.bootstrap,
		"--command-property", "acks=" + s.acks, fmt.Sprint("batch.size=", s.batch), "linger.ms=5", "send.buffer.bytes=-1",
	}
	if s.clientFile != "" {
		args = append([]string{"--command-config", s.clientFile}, args...)
	}
	return s.tool(row, "produce", "ProducerPerformance", args...)
}

var (
	toldLine    = regexp.MustCompile(`(\d+) records sent, ([0-9.]+) records/sec`)
	rdkafkaLine = regexp.MustCompile(`(\d+) messages .*ms: (\d+) msgs/s`)
)

// toldRate is the rate in the last line of Kafka's producer, and of all that print as it does.
func toldRate(out string, records int) (float64, error) { return rateIn(toldLine, out, records) }

func rdkafkaRate(out string, records int) (float64, error) { return rateIn(rdkafkaLine, out, records) }

func rateIn(line *regexp.Regexp, out string, records int) (float64, error) {
	found := line.FindAllStringSubmatch(out, -1)
	if found == nil {
		return 0, fmt.Errorf("no rate in: %s", out)
	}
	last := found[len(found)-1]
	if n, err := strconv.Atoi(last[1]); err != nil || n < records {
		return 0, fmt.Errorf("not %d records in: %s", records, out)
	}
	return strconv.ParseFloat(last[2], 64)
}
