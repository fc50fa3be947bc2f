package run

import (
	"context"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/watch"
	"github.com/kt-bench/kt/internal/stats"
)

// mapsEvery is the time between two looks at the memory mappings of brokers on this host.
const mapsEvery = 10 * time.Second

// brokerMaps is the source of events of brokers on this host that are near vm.max_map_count.
type brokerMaps struct {
	engine.Events
	tree    host.FS
	looking sync.WaitGroup
	told    map[int]bool // by process
}

var _ engine.Source = (*brokerMaps)(nil)

// Start looks until ctx ends.
func (b *brokerMaps) Start(ctx context.Context, now func() time.Duration) {
	b.looking.Go(func() {
		ticker := time.NewTicker(mapsEvery)
		defer ticker.Stop()
		for {
			b.look(now())
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
}

// look keeps an event for each process that is near the limit, once.
func (b *brokerMaps) look(at time.Duration) {
	for _, m := range watch.BrokerMaps(b.tree) {
		if !m.Near() || b.told[m.PID] {
			continue
		}
		b.told[m.PID] = true
		b.Add(stats.Event{At: at, Kind: stats.MapsNear, Broker: -1, To: -1, Text: m.String()})
	}
}

// Wait returns when nothing is looked at.
func (b *brokerMaps) Wait() { b.looking.Wait() }
