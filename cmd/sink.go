package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/kafka"
)

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
