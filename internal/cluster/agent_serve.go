package cluster

import (
	"context"
	"errors"
	"sync"

	"github.com/kt-bench/kt/internal/cluster/gossip"
	"github.com/kt-bench/kt/internal/cluster/port"
)

// maxRequests bounds the requests at a time on one connection: a coordinator follows the file of
// each process, and the host's vitals.
const maxRequests = maxProcesses + 16

// Serve runs an agent until ctx ends. Then it stops its loads and waits for them. It calls
// listening with its address as soon as others can reach it.
func Serve(ctx context.Context, o AgentOptions, listening func(addr string)) error {
	log, end := port.Bounded(o.Log)
	defer end()
	o.Log = log
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
	g, err := gossip.Start(gossip.Options{Port: l, Key: o.Key, Advertise: o.Advertise, Join: o.Join, Info: gossip.Info{Name: o.Info.Name, Role: o.Info.Role, Tags: o.Info.Tags}, Log: o.Log})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	a.gossip = g
	var serving sync.WaitGroup
	serving.Go(func() { err = l.Serve(a.handler()) }) // longer than ctx, so that the end of a load is told
	listening(l.Addr().String())
	<-ctx.Done()
	a.stop()
	closed := errors.Join(g.Close(), l.Close())
	serving.Wait()
	return errors.Join(err, closed)
}
