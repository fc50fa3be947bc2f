package wire

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// quiet is the interval between two lines about refused connections, so that nobody can fill a
// log.
const quiet = time.Minute

// news logs refused connections: the first one at once, later ones as a number.
type news struct {
	log func(string) // may be nil

	mu      sync.Mutex
	last    time.Time
	pending int    // number of connections that were not logged yet
	latest  string // the newest of them
}

func (n *news) tell(from net.Addr, why string) {
	n.mu.Lock()
	n.pending++
	n.latest = fmt.Sprintf("connection from %s: %s", from, why)
	due := time.Since(n.last) >= quiet
	n.mu.Unlock()
	if due {
		n.flush()
	}
}

// flush logs the pending connections.
func (n *news) flush() {
	n.mu.Lock()
	text := n.latest
	if n.pending > 1 {
		text = fmt.Sprintf("%s (and %d more refused since the last line)", text, n.pending-1)
	}
	told := n.pending > 0 && n.log != nil
	n.pending, n.last = 0, time.Now()
	n.mu.Unlock()
	if told {
		n.log(text)
	}
}
