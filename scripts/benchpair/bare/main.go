// Command bare is what the rows of scripts/bench are held against: a plain loop around
// franz-go, and a loopback socket that moves the same bytes and does nothing else.
//
//	bare write BOOTSTRAP TOPIC ACKS RECORDS SIZE BATCH RATE
//	bare due BOOTSTRAP TOPIC ACKS RECORDS SIZE BATCH RATE
//	bare read BOOTSTRAP TOPIC RECORDS
//	bare send|receive ADDRESS BYTES CHUNK CHUNKS_PER_SECOND
//	bare peer send|receive CHUNK
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	args := append(os.Args[1:], make([]string, 8)...)
	run := map[string]func([]string) error{"write": write, "due": due, "read": read, "send": move, "receive": move, "peer": peer}[args[0]]
	if run == nil {
		run = func([]string) error { return errors.New("write, due, read, send, receive or peer") }
	}
	if err := run(args); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// pace sleeps until done of rate a second are due; 0 is no rate.
func pace(began time.Time, done, rate int) {
	if rate > 0 {
		time.Sleep(time.Until(began.Add(time.Duration(done) * time.Second / time.Duration(rate))))
	}
}

// tell prints a rate as Kafka's tool does.
func tell(records int, began time.Time) {
	fmt.Printf("%d records sent, %f records/sec\n", records, float64(records)/time.Since(began).Seconds())
}

// producer returns a client for what write and due send.
func producer(args []string, linger time.Duration) (*kgo.Client, error) {
	size, batch := number(args[5]), number(args[6])
	acks := map[string]kgo.Acks{"0": kgo.NoAck(), "1": kgo.LeaderAck(), "all": kgo.AllISRAcks()}[args[3]]
	return kgo.NewClient(kgo.SeedBrokers(args[1]), kgo.DefaultProduceTopic(args[2]), kgo.RequiredAcks(acks),
		kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(5), kgo.ProducerBatchMaxBytes(int32(batch)),
		kgo.ProducerLinger(linger), kgo.MaxBufferedRecords(32<<20/size), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RecordPartitioner(kgo.UniformBytesPartitioner(batch, true, true, nil)))
}

func write(args []string) error {
	client, err := producer(args, 5*time.Millisecond)
	if err != nil {
		return err
	}
	defer client.Close()
	var failed error
	answered := func(_ *kgo.Record, err error) { failed = errors.Join(failed, err) }
	records, rate := number(args[4]), number(args[7])
	ctx, value, began := context.Background(), make([]byte, number(args[5])), time.Now()
	for i := range records {
		if i%50 == 0 {
			pace(began, i, rate)
		}
		client.Produce(ctx, &kgo.Record{Value: value}, answered)
	}
	err = client.Flush(ctx)
	tell(records, began)
	return errors.Join(err, failed)
}

func read(args []string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(args[1]), kgo.ConsumeTopics(args[2]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	var began time.Time
	n := 0
	for records := number(args[3]); n < records; {
		fetches := client.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			return err
		}
		if n == 0 {
			began = time.Now()
		}
		fetches.EachRecord(func(*kgo.Record) { n++ })
	}
	tell(n, began)
	return nil
}

// move sends or receives so many bytes, as "records" of one byte.
func move(args []string) error {
	conn, err := net.Dial("tcp", args[1])
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	total, buf, rate := number(args[2]), make([]byte, number(args[3])), number(args[4])
	began := time.Now()
	for moved := 0; moved < total; {
		n := 0
		if args[0] == "send" {
			pace(began, moved/len(buf), rate)
			n, err = conn.Write(buf[:min(len(buf), total-moved)])
		} else {
			n, err = conn.Read(buf)
		}
		if err != nil {
			return err
		}
		moved += n
	}
	tell(total, began)
	return nil
}

// peer is the other end of one connection, until it is closed.
func peer(args []string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	buf := make([]byte, number(args[2]))
	for err == nil {
		if args[1] == "send" {
			_, err = conn.Write(buf)
		} else {
			_, err = io.ReadFull(conn, buf)
		}
	}
	return nil
}
