package queue

import "github.com/kt-bench/kt/internal/ledger"

// Held is the newest messages of one queue that a reader counted on one connection. If that is lost, the system gives out
// again those whose acknowledgement it has not got.
type Held struct {
	Most   int // how many messages the system sends without an acknowledgement; 0: none comes back
	newest []ledger.Number
	at     int // of the oldest, once there are Most
}

// Add notes that a message was counted.
func (h *Held) Add(m *Message) {
	switch {
	case len(h.newest) < h.Most:
		h.newest = append(h.newest, m.number)
	case h.Most > 0:
		h.newest[h.at] = m.number
		h.at = (h.at + 1) % h.Most
	}
}

// Lost notes that a reader of a group lost its connection, on which it counted messages of a queue. unread more had come. So
// many messages at most had no acknowledgement, those counted last before the unread ones.
func (a *Arrivals) Lost(group int, queue int32, h *Held, unread int) {
	if a.books == nil || h.Most == 0 {
		return
	}
	var last []ledger.Number
	for i := max(0, unread+len(h.newest)-h.Most); i < len(h.newest); i++ {
		if n := h.newest[(h.at+i)%len(h.newest)]; n.Seq >= 0 {
			last = append(last, n)
		}
	}
	a.books[group].Log(queue).Returned(last, h.Most)
}
