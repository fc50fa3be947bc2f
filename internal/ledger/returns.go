package ledger

import "maps"

// Number names a record of a run within a queue.
type Number struct {
	Producer uint16
	Seq      int64
}

// returns are the records that a queue may give out again, because readers lost their connections to it. The system's own mark of
// a record is no proof. A copy is excused only if both are so: the first one was read on a connection that was lost, and
// the system may not have had its acknowledgement.
type returns struct {
	owed        map[Number]int64 // records that were read, and the number of the loss
	outstanding int64            // how many records may come behind others, which were on their way when a connection was lost
	lost        int64            // connections
}

// maxOwed bounds the memory for lost connections: some 5 MB for a queue. The records of the oldest losses are forgotten first.
const maxOwed = 100_000

// Returned notes that a reader lost its connection. It had read the records last, and the system may not have had their
// acknowledgements. most is how many the system sends without one: so many at most were on their way, and may come
// behind later ones.
func (l *Log) Returned(last []Number, most int) {
	l.Lock()
	defer l.Unlock()
	if l.owed == nil {
		l.owed = make(map[Number]int64)
	}
	l.lost++
	for _, n := range last {
		l.owed[n] = l.lost
	}
	for oldest := int64(1); len(l.owed) > maxOwed && oldest < l.lost; oldest++ {
		maps.DeleteFunc(l.owed, func(_ Number, loss int64) bool { return loss <= oldest })
	}
	for _, lane := range l.lanes {
		if lane == nil {
			continue
		}
		if lane.given = lane.atLoss; l.lost == 1 {
			lane.given = lane.next
		}
		lane.atLoss = lane.next
	}
	l.outstanding = min(l.outstanding+int64(most), 2*int64(most)) // records of the connection before may still come
}

// cameBack reports whether a record is a copy of one that a lost connection had. Each comes back once.
func (l *Log) cameBack(n Number) bool {
	_, ok := l.owed[n]
	delete(l.owed, n)
	return ok
}

// mayBeLate reports whether a record that came behind later ones may have been on its way when a connection was lost.
func (l *Log) mayBeLate(s *Stamp) bool {
	if l.outstanding == 0 || s.Seq < l.lane(s.Producer).given {
		return false
	}
	l.outstanding--
	return true
}
