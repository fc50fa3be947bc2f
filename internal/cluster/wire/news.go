package wire

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// quiet is how long the next line about refused connections waits: whoever knocks at the
// port often must not fill a log.
const quiet = time.Minute

// news tells of connections that were refused: the first at once, the others counted.
type news struct {
	log func(string) // may be nil

	mu      sync.Mutex
	last    time.Time
	pending int    // not told yet
	latest  string // of them
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

// flush tells what was only counted.
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
