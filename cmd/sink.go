package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/plan"
)

// sinkTopic is the topic of a sink.
const sinkTopic = "kt-calibrate"

// newSink returns the command that kt calibrate starts: a broker that takes every record and keeps none, and gives the
// same batch to every fetch. It ends with its standard input.
func newSink(env *Env) *cobra.Command {
	return command[none]{run: runSink}.of(env, &cobra.Command{Use: "sink", Short: "Take all records and keep none, for kt calibrate", Hidden: true})
}

func runSink(_ context.Context, env *Env, _ none, _ []string) (*finding, error) {
	var s kafka.Sink
	in := bufio.NewReader(env.Stdin)
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s)
	}
	if err != nil {
		return nil, usageError(fmt.Errorf("kt sink is for kt calibrate, which says on standard input what records are like: %w", err))
	}
	debug.SetGCPercent(sinkGC)
	c, err := kafka.StartSink(s)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err = fmt.Fprintln(env.Stdout, strings.Join(c.Addrs(), ",")); err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	return nil, err
}

// sinkGC is the GOGC of a sink: all that it reads is garbage at once, and what it needs of the CPU the load cannot have.
const sinkGC = 400

// sinkStart is how long a sink may take to start.
const sinkStart = 20 * time.Second

// sinkOf returns the sink for a load of so many clients at most. Each has a partition, for a consumer without one reads
// nothing.
func sinkOf(l *load, clients int) kafka.Sink {
	s := kafka.Sink{Topic: sinkTopic, Partitions: int32(max(minSinkPartitions, clients)), RecordBytes: plan.DefaultRecordSize}
	if l.Plan.Writes() {
		s.RecordBytes = l.Plan.Payload.MaxBytes()
	}
	return s
}

// minSinkPartitions is a number of partitions that topics often have.
const minSinkPartitions = 12

// sinkProcess is a sink in a process of its own.
type sinkProcess struct {
	addr string
	pid  int
	end  func()
}

// startSink starts a sink.
func startSink(ctx context.Context, s kafka.Sink) (*sinkProcess, error) {
	c, err := spawn(ctx, "sink")
	if err != nil {
		return nil, err
	}
	late := time.AfterFunc(sinkStart, func() { _ = c.Process.Kill() })
	defer late.Stop()
	line := ""
	if err = json.NewEncoder(c.in).Encode(s); err == nil {
		line, err = bufio.NewReader(c.out).ReadString('\n')
	}
	if err != nil {
		return nil, fmt.Errorf("start a sink: %w", errors.Join(err, c.in.Close(), c.end()))
	}
	return &sinkProcess{addr: strings.TrimSpace(line), pid: c.Process.Pid, end: func() {
		_ = c.in.Close() // it ends with its input
		_ = c.end()
	}}, nil
}
