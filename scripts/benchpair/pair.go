package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// settings are what all rows are run with.
type settings struct {
	load

	bootstrap  string
	rounds     int
	partitions int
	acks       string
	against    string // another kt to compare with; "": the rows
	admin      string // the broker without security
	security   string // of the broker; "": none
	clientFile string // client.properties for it
	rows       []string
	rdkafka    string // path of rdkafka_performance
}

// warmUps is the number of rounds before those that count. The JVM of a new broker compiles in the
// meantime. Without them the first runs are the slowest, and which tool they hit decides the ratio.
const warmUps = 2

func (s *settings) turns() string {
	return fmt.Sprintf("%d rounds after %d that do not count, the order turns round with each", s.rounds, warmUps)
}

// inTurns calls one for all rows of each round, and turns their order round from round to round. The
// rounds of the warm-up have numbers below 0.
func (s *settings) inTurns(rows []string, one func(row string, round int) error) error {
	order := slices.Clone(rows)
	for round := -warmUps; round < s.rounds; round++ {
		for _, row := range order {
			if err := one(row, round); err != nil {
				return fmt.Errorf("%s, round %d: %w", row, round+1, err)
			}
		}
		slices.Reverse(order)
	}
	return nil
}

// compare runs all rows in turns and prints the figures of each run that counts, the medians
// and their ratios.
func (s *settings) compare(one func(row string, round int) (figures, error)) error {
	head := func(what string) {
		fmt.Printf("%-26s %12s %18s %12s %9s\n", what, "records/s", "CPU s per million", "share of CPU", "peak MiB")
	}
	line := func(name string, f figures) {
		fmt.Printf("%-26s %12.0f %18.4f %12.3f %9.0f\n", name, f.rate, f.cpu, f.share, f.memory)
	}
	head("run")
	runs := make(map[string][]figures)
	err := s.inTurns(s.rows, func(row string, round int) error {
		f, err := one(row, round)
		if err != nil || round < 0 {
			return err
		}
		line(fmt.Sprintf("%d %s", round+1, row), f)
		runs[row] = append(runs[row], f)
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Println()
	head("median")
	middle := make(map[string]figures)
	for _, row := range s.rows {
		middle[row] = medians(runs[row])
		line(row, middle[row])
	}
	fmt.Println()
	head("ratio")
	for _, row := range s.rows {
		for _, base := range s.bases(row) {
			a, b := middle[row], middle[base]
			fmt.Printf("%-26s %11.2fx %17.3fx %11.2fx %8.2fx\n", row+" / "+base, a.rate/b.rate, a.cpu/b.cpu, a.share/b.share, a.memory/b.memory)
		}
	}
	fmt.Println()
	return nil
}

// bases are the rows that a row is held against: Kafka's own tool, and for kt's the others.
func (s *settings) bases(row string) []string {
	candidates := []string{kafka}
	if row == kt || row == ktWire {
		candidates = []string{other + row, kafka, bare, librdkafka, socket}
	}
	return slices.DeleteFunc(candidates, func(base string) bool { return base == row || !slices.Contains(s.rows, base) })
}

// withTopic calls f with a new topic, which is gone afterwards.
func (s *settings) withTopic(name string, f func(topic string) error) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(cmp.Or(s.admin, s.bootstrap), ",")...))
	if err != nil {
		return err
	}
	defer client.Close()
	admin, ctx := kadm.NewClient(client), context.Background()
	topic := fmt.Sprintf("bench-%s-%d", name, os.Getpid())
	if _, err := admin.CreateTopic(ctx, int32(s.partitions), -1, nil, topic); err != nil {
		return fmt.Errorf("create topic: %w", err)
	}
	err = f(topic)
	if _, gone := admin.DeleteTopic(ctx, topic); gone != nil {
		err = errors.Join(err, fmt.Errorf("topic %s stays: %w", topic, gone))
	}
	return err
}
