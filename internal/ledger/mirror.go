package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// OfMirror makes b the book of copies of its topics, on another cluster or under other names. Offsets, leaders and timestamps of the
// source say nothing there. names are those of the copies, as many as b has topics. With repartitioned, the records of a partition
// may lie in any partition of the copies, in any order.
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
	Repartitioned bool              `json:"repartitioned,omitempty"`
	Partitions    []MirrorPartition `json:"partitions"`              // of the source, by number
	Measured      int64             `json:"lag_measured"`            // records whose lag is known
	Lag           []Lag             `json:"lag,omitempty"`           // the largest of each slice of time, from the first due on; slices without records are not in it
	SliceSeconds  float64           `json:"slice_seconds,omitempty"` // how long each slice is

	lags lags
}

// MirrorPartition is the part of a partition of the source.
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

// Lag is the time from when a record was due to when it was in the copy. The clocks of two hosts are in it.
type Lag struct {
	Due     time.Time `json:"due"` // of the record, or of the first one that a slice may hold
	Seconds float64   `json:"seconds"`
}

// mirror returns the account of a mirror, without records; nil: the book is of no mirror.
func (b *Book) mirror() *Mirror {
	if !b.Mirror {
		return nil
	}
	m := &Mirror{Repartitioned: b.Repartitioned}
	for _, t := range b.Topics {
		for id := range int32(t.Partitions) {
			m.Partitions = append(m.Partitions, MirrorPartition{Topic: t.Name, Partition: id})
		}
	}
	return m
}

// addLane adds the findings of a lane; rl may be nil.
func (m *Mirror) addLane(partition int32, f *Verdict, rl *readLane) {
	p := &m.Partitions[partition]
	p.Read, p.Lost, p.NotCopied = p.Read+f.AcknowledgedRead, p.Lost+f.Lost, p.NotCopied+f.NotCopied
	if rl != nil && time.Unix(0, rl.due).After(p.LastDue) {
		p.LastDue = time.Unix(0, rl.due).UTC()
	}
}

// addLog adds the findings of a log that need no book.
func (m *Mirror) addLog(l *Log) {
	if m.Repartitioned && l.homes != nil || int(l.partition) >= len(m.Partitions) {
		return
	}
	p := &m.Partitions[l.partition]
	p.Duplicated, p.Reordered = p.Duplicated+l.counts.Duplicated, p.Reordered+l.counts.Reordered
	m.Measured += l.lags.records
	if w := l.lags.worst; w != nil && (p.Lag == nil || p.Lag.Seconds < w.Seconds) {
		p.Lag = w
	}
	m.lags.widen(l.lags.width)
	for slice, most := range l.lags.most {
		m.lags.put(slice*l.lags.width, most)
	}
	m.Lag, m.SliceSeconds = nil, time.Duration(m.lags.width).Seconds()
	for _, slice := range slices.Sorted(maps.Keys(m.lags.most)) {
		m.Lag = append(m.Lag, lagOf(slice*m.lags.width, m.lags.most[slice]))
	}
}

func lagOf(due, lag int64) Lag { return Lag{time.Unix(0, due).UTC(), time.Duration(lag).Seconds()} }

// maxSlices bounds the memory for lag over time.
const maxSlices = 30

// lags is the lag of records over the time when they were due, in nanoseconds.
type lags struct {
	records int64
	worst   *Lag
	width   int64           // of a slice
	most    map[int64]int64 // the largest of each slice that has records, by due/width
}

// add notes the lag of a record.
func (s *lags) add(due, lag int64) {
	s.records++
	if at := lagOf(due, lag); s.worst == nil || at.Seconds > s.worst.Seconds {
		s.worst = &at
	}
	s.put(due, lag)
}

// put notes a lag in its slice. Slices are a second long, and twice as long whenever there are too many.
func (s *lags) put(due, lag int64) {
	if s.most == nil {
		s.most, s.width = make(map[int64]int64), cmp.Or(s.width, int64(time.Second))
	}
	at := due / s.width
	if most, ok := s.most[at]; !ok || lag > most {
		s.most[at] = lag
	}
	for len(s.most) > maxSlices {
		s.widen(2 * s.width)
	}
}

// widen makes slices at least so long, which is a power of two of a second.
func (s *lags) widen(width int64) {
	old := *s
	if s.width >= width {
		return
	}
	s.width, s.most = width, nil
	for slice, most := range old.most {
		s.put(slice*old.width, most)
	}
}

// maxHeaders is how many headers a record of a mirror may have whose checksum does not fit. Others are corrupted.
const maxHeaders = 64

// withoutAdded is ReadStamp for a record to which headers may have been added, before those that were sent or behind them. It first
// leaves out as many as of the record before.
func (l *Log) withoutAdded(r *Record, s *Stamp) StampStatus {
	type header struct {
		key   string
		value []byte
	}
	var all []header
	for key, value := range r.EachHeader {
		if all = append(all, header{string(key), value}); len(all) > maxHeaders {
			return Corrupted
		}
	}
	fits := func(front, behind int) bool {
		around := Around{Key: r.Key}
		for i := front; i < len(all)-behind; i++ {
			around.Headers = AddHeader(around.Headers, all[i].key, all[i].value)
		}
		if ReadStamp(r.Value, around, s) != Stamped {
			return false
		}
		l.front, l.behind = front, behind
		return true
	}
	if fits(l.front, l.behind) {
		return Stamped
	}
	for n := 1; n <= len(all); n++ {
		if fits(0, n) || fits(n, 0) {
			return Stamped
		}
	}
	return Corrupted
}

// settle tells the homes of a repartitioned mirror's records what became of the logs that these were read in. Any record may have
// been where a reader could not look.
func (r *Reader) settle() {
	ended := int64(0)
	var unfinished, unconfirmed bool
	for _, l := range r.logs {
		l.Lock()
		unfinished = unfinished || l.begin != 0 || l.skipped >= 0 || l.unfinished
		unconfirmed = unconfirmed || l.unconfirmed || l.deaf
		if l.end < 0 || l.nextOffset() < l.end {
			ended = -1
		}
		l.Unlock()
	}
	for _, h := range r.homes {
		h.Lock()
		h.begin, h.end, h.unfinished, h.unconfirmed = 0, ended, unfinished, unconfirmed
		h.Unlock()
	}
}
