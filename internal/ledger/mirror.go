package ledger

import (
	"maps"
	"slices"
	"time"
)

// OfMirror makes b the book of copies of its topics, which have these names. Offsets, leaders and timestamps of the source say nothing
// there. With repartitioned, a record may lie in any partition of the copies, in any order.
func (b *Book) OfMirror(names []string, repartitioned bool) {
	b.Mirror, b.Repartitioned, b.Start, b.StartEpochs = true, repartitioned, nil, nil
	for i, name := range names {
		b.Topics[i].Name, b.Topics[i].ID = name, ""
	}
	for i := range b.Lanes {
		b.Lanes[i].LastOffset = -1
	}
}

// Mirror is what became of a run's records in copies of its topics.
type Mirror struct {
	Partitions   []MirrorPartition `json:"partitions"`              // of the source, by number
	Measured     int64             `json:"lag_measured"`            // records whose lag is known
	Lag          []Lag             `json:"lag,omitempty"`           // over time; slices without records are not in it
	SliceSeconds float64           `json:"slice_seconds,omitempty"` // how long each slice is
	lags         lags
}

// MirrorPartition is what became of the records of a partition.
type MirrorPartition struct {
	Topic      string    `json:"topic"` // the copy
	Partition  int32     `json:"partition"`
	Read       int64     `json:"acknowledged_read"`
	Lost       int64     `json:"lost"`
	Duplicated int64     `json:"duplicated"`
	Reordered  int64     `json:"reordered"`
	NotCopied  int64     `json:"not_copied"`
	LastDue    time.Time `json:"last_due,omitzero"` // of the newest record that was copied
	Lag        *Lag      `json:"lag,omitempty"`     // the largest; nil: none is known
}

// Lag is the largest time from when a record was due to when it was in the copy, of the records due in a slice of time. The clocks of two
// hosts are in it.
type Lag struct {
	Due     time.Time `json:"due"` // where the slice begins
	Seconds float64   `json:"seconds"`
}

// mirror returns the account of a mirror, without records; nil: the book is of no mirror.
func (b *Book) mirror() *Mirror {
	if !b.Mirror {
		return nil
	}
	m := new(Mirror)
	for _, t := range b.Topics {
		for id := range int32(t.Partitions) {
			m.Partitions = append(m.Partitions, MirrorPartition{Topic: t.Name, Partition: id})
		}
	}
	return m
}

// addLane adds the findings of a lane; rl may be nil.
func (p *MirrorPartition) addLane(f *Verdict, rl *readLane) {
	p.Read, p.Lost, p.NotCopied = p.Read+f.AcknowledgedRead, p.Lost+f.Lost, p.NotCopied+f.NotCopied
	if rl != nil && time.Unix(0, rl.due).After(p.LastDue) {
		p.LastDue = time.Unix(0, rl.due).UTC()
	}
}

// addLog adds the findings of a log that need no book.
func (m *Mirror) addLog(l *Log) {
	if int(l.partition) >= len(m.Partitions) { // it is no partition of the source
		return
	}
	p := &m.Partitions[l.partition]
	p.Duplicated, p.Reordered, m.Measured = p.Duplicated+l.counts.Duplicated, p.Reordered+l.counts.Reordered, m.Measured+l.lags.records
	for _, lag := range l.lags.list() {
		if p.Lag == nil || p.Lag.Seconds < lag.Seconds {
			p.Lag = &lag
		}
		m.lags.put(lag.Due.UnixNano(), int64(lag.Seconds*1e9), l.lags.width)
	}
	m.Lag, m.SliceSeconds = m.lags.list(), time.Duration(m.lags.width).Seconds()
}

// maxSlices bounds the memory for lag over time.
const maxSlices = 30

// lags is the largest lag over the time when records were due, in nanoseconds.
type lags struct {
	records int64
	width   int64           // of a slice: a second, or twice as long whenever there are too many
	most    map[int64]int64 // of each slice that has records, by due/width
}

// put notes the lag of a record. It is that of a slice where width is above a second.
func (s *lags) put(due, lag, width int64) {
	if s.most == nil {
		s.most, s.width = make(map[int64]int64), width
	}
	if most, ok := s.most[due/s.width]; !ok || lag > most {
		s.most[due/s.width] = lag
	}
	for old := *s; s.width < width || len(s.most) > maxSlices; old = *s {
		s.most = nil
		for slice, most := range old.most {
			s.put(slice*old.width, most, 2*old.width)
		}
	}
}

func (s *lags) list() (all []Lag) {
	for _, slice := range slices.Sorted(maps.Keys(s.most)) {
		all = append(all, Lag{time.Unix(0, slice*s.width).UTC(), time.Duration(s.most[slice]).Seconds()})
	}
	return all
}

// maxHeaders is how many headers a record of a mirror may have if some were added. A record with more is corrupted.
const maxHeaders = 64

// withoutAdded is ReadStamp for a record to which headers may have been added, before those that were sent or behind them.
func withoutAdded(r *Record, s *Stamp) StampStatus {
	var keys, values [][]byte
	for key, value := range r.EachHeader {
		keys, values = append(keys, key), append(values, value)
	}
	for added := 1; added <= len(keys) && len(keys) <= maxHeaders; added++ {
		for _, first := range []int{0, added} {
			around := Around{Key: r.Key}
			for i := first; i < first+len(keys)-added; i++ {
				around.Headers = AddHeader(around.Headers, string(keys[i]), values[i])
			}
			if ReadStamp(r.Value, around, s) == Stamped {
				return Stamped
			}
		}
	}
	return Corrupted
}

// settle notes in the homes of a repartitioned mirror's records whether all logs were read whole: a missing record may be in any of them.
func (r *Reader) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	whole, held := true, true
	for _, l := range r.logs {
		l.Lock()
		whole = whole && l.begin == 0 && l.skipped < 0 && !l.unfinished && l.end >= 0 && l.nextOffset() >= l.end
		held = held && !l.unconfirmed && !l.twice
		l.Unlock()
	}
	for _, h := range r.homes {
		h.Lock()
		h.begin, h.end, h.unfinished, h.unconfirmed = 0, 0, !whole, !held
		h.Unlock()
	}
}
