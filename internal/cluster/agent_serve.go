package cluster

import (
	"context"

	"github.com/kt-bench/kt/internal/cluster/port"
)

// maxRequests bounds the requests at a time on one connection: a coordinator follows the file of
// each process, and the host's vitals.
const maxRequests = maxProcesses + 16

// Serve runs an agent until ctx ends. Then it stops its loads and waits for them. It calls
// listening with its address as soon as others can reach it.
func Serve(ctx context.Context, o AgentOptions, listening func(addr string)) error {
	a, err := newAgent(ctx, o)
	if err != nil {
		return err
	}
	defer a.close()
	l, err := port.Listen(o.Bind, port.Options{Key: o.Key, Log: o.Log, Limits: port.Limits{Streams: maxRequests}})
	if err != nil {
		return err
	}
	a.note = l.Note
	served := make(chan error, 1)
	go func() { served <- l.Serve(a.handler()) }()
	listening(l.Addr().String())
	<-ctx.Done()
	a.stop()
	err = l.Close()
	<-served
	return err
}
