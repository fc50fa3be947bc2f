package driver

import (
	"context"
	"fmt"
	"sync"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
)

// Consumer is the driver that reads. NewConsumer makes it.
type Consumer struct {
	*reading.State

	mu      sync.Mutex // guards the rest
	waiting int        // clients without partitions yet
	ready   chan struct{}
}

var _ engine.ReadDriver = (*Consumer)(nil)

// NewConsumer returns the driver that reads from a state on.
func NewConsumer(s *reading.State) *Consumer {
	return &Consumer{State: s, waiting: s.Plan.Read.Clients(), ready: make(chan struct{})}
}

// OpenReader makes a reader. Its client connects with the first Read, so that joining a group is
// part of the run. In a run that also sends, the last reader waits until all have their
// partitions, before the first record is sent.
func (d *Consumer) OpenReader(ctx context.Context, s *engine.Shard) (engine.Reader, error) {
	perGroup := d.Plan.Read.Consumers
	r := &fetcher{driver: d, shard: s, group: s.Index / perGroup, member: s.Index % perGroup, running: ctx}
	r.hooks = &fetchHooks{Hooks: reading.Hooks{Shard: s}, from: make(map[kafka.Place]int32)}
	if !d.Plan.Writes() {
		return r, nil
	}
	if err := r.connect(); err != nil {
		return nil, err
	}
	if s.Index < s.Count-1 || d.Plan.Read.Group == "" {
		return r, nil
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	select {
	case <-d.ready:
		return r, nil
	case <-ctx.Done():
		_ = r.Close()
		return nil, fmt.Errorf("group %s: no partitions yet: %w", d.Plan.Read.Group, context.Cause(ctx))
	}
}

// joined notes that a client has its first partitions.
func (d *Consumer) joined() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting--; d.waiting == 0 {
		close(d.ready)
	}
}
