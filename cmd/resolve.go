package cmd

import (
	"context"
	"net"
	"sync"
	"time"
)

// resolveTime is how long kt waits for the addresses of names that may be those of a protected cluster.
const resolveTime = time.Second

// resolver looks up the addresses of hosts, of each host once.
type resolver struct {
	mu    sync.Mutex
	known map[string][]string // guarded by mu
}

// addresses returns the addresses of hosts. A name that does not resolve in time has none.
func (r *resolver) addresses(hosts []string) map[string][]string {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTime)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = make(map[string][]string)
	}
	found := make([][]string, len(hosts))
	var all sync.WaitGroup
	for i, host := range hosts {
		if _, known := r.known[host]; !known {
			all.Go(func() { found[i], _ = net.DefaultResolver.LookupHost(ctx, host) })
		}
	}
	all.Wait()
	out := make(map[string][]string)
	for i, host := range hosts {
		if _, known := r.known[host]; !known {
			r.known[host] = found[i]
		}
		out[host] = r.known[host]
	}
	return out
}
