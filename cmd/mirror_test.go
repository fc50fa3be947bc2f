package cmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// mirror copies a topic as a mirror does, with faults of mirrors: mirror FROM TO [KEY=VALUE…]
//
//	lose=3,4       records of partition 0 that are left out, by their places; 0 is the first
//	twice=5        records of it that are copied twice
//	swap=7         the record there comes behind the next one
//	change=9       its value is changed
//	upto=50        so many records of each partition are copied
//	front=2        so many headers are added before the others
//	behind=1       the same, behind the others
//	partitions=N   of the copy: records go there in turn
func mirror(ts *testscript.TestScript, args []string) {
	given := make(map[string]string)
	for _, arg := range args[2:] {
		key, value, _ := strings.Cut(arg, "=")
		given[key] = value
	}
	number := func(key string) int {
		n, _ := strconv.Atoi(given[key]) // 0: it was not given
		return n
	}
	is := func(key string, partition int32, place int) bool {
		return partition == 0 && slices.Contains(strings.Split(given[key], ","), strconv.Itoa(place))
	}
	client := broker(ts)
	admin := kadm.NewClient(client)
	all, partitions := readWhole(ts, client, args[0])
	made := number("partitions")
	if made == 0 {
		made = partitions
	}
	if answers, err := admin.CreateTopics(context.Background(), int32(made), 1, nil, args[1]); err != nil || answers.Error() != nil && !strings.Contains(answers.Error().Error(), "EXISTS") {
		ts.Fatalf("create %s: %v, %v", args[1], err, answers)
	}
	for partition, records := range all {
		if n := number("upto"); given["upto"] != "" && n < len(records) {
			records = records[:n]
		}
		var copies []*kgo.Record
		for place, r := range records {
			switch {
			case is("lose", partition, place):
				continue
			case is("twice", partition, place):
				copies = append(copies, r)
			case is("change", partition, place):
				r.Value = append(slices.Clone(r.Value[:len(r.Value)-1]), '!')
			}
			copies = append(copies, r)
			if n := len(copies); is("swap", partition, place-1) && n > 1 {
				copies[n-1], copies[n-2] = copies[n-2], copies[n-1]
			}
		}
		for i, r := range copies {
			headers := make([]kgo.RecordHeader, 0)
			for n := range number("front") {
				headers = append(headers, kgo.RecordHeader{Key: fmt.Sprint("from", n), Value: []byte("A")})
			}
			headers = append(headers, r.Headers...)
			for n := range number("behind") {
				headers = append(headers, kgo.RecordHeader{Key: fmt.Sprint("offset", n), Value: []byte(strconv.FormatInt(r.Offset, 10))})
			}
			to := &kgo.Record{Topic: args[1], Partition: partition, Key: r.Key, Value: r.Value, Headers: headers, Timestamp: r.Timestamp.Add(1)}
			if made != partitions {
				to.Partition = int32(i % made)
			}
			ts.Check(client.ProduceSync(context.Background(), to).FirstErr())
		}
	}
}

// readWhole returns the records of a topic by partition, and the number of its partitions.
func readWhole(ts *testscript.TestScript, client *kgo.Client, topic string) (all map[int32][]*kgo.Record, partitions int) {
	ends, err := kadm.NewClient(client).ListEndOffsets(context.Background(), topic)
	ts.Check(err)
	all, left := make(map[int32][]*kgo.Record), int64(0)
	ends.Each(func(o kadm.ListedOffset) { left, partitions = left+o.Offset, partitions+1 })
	client.AddConsumeTopics(topic)
	defer client.PurgeTopicsFromConsuming(topic)
	for left > 0 {
		fetches := client.PollFetches(context.Background())
		ts.Check(fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			if left--; r.Topic == topic {
				all[r.Partition] = append(all[r.Partition], r)
			}
		})
	}
	return all, partitions
}
