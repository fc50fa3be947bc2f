//go:build !race

package ledger

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// The naive model: it remembers every record, and what the tests call true is read
// off these maps.

type fate int

const (
	unanswered fate = iota
	acknowledged
	failed
)

type recordID struct {
	producer  uint16
	partition int32
	seq       int64
}

type record struct {
	fate    fate
	aborted bool
	written bool // some intact copy is in the log, or was
	read    bool // and the reader saw it
	at      int64
}

// entry is what lies at an offset.
type entry struct {
	offset int64
	value  []byte
	id     recordID
	intact bool
}

// world is a load, its logs and a reading, made at random.
type world struct {
	rng     *rand.Rand
	book    *Book
	records map[recordID]*record
	logs    [][]entry

	disorder bool // records are written in the wrong order
	partial  bool // the reader does not see all of the log
	limit    int
	want     Verdict // what can be counted while it happens
	certain  int64   // lost between two records that were read with nothing skipped between
}

const (
	worldProducers  = 3
	worldPartitions = 3
	worldRun        = 0xfeed
)

func newWorld(seed uint64, disorder, partial, transactions bool, limit int) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 1)), disorder: disorder, partial: partial, limit: limit,
		records: make(map[recordID]*record), logs: make([][]entry, worldPartitions),
	}
	w.book = &Book{Run: worldRun, Topics: []BookTopic{{Name: "t", Partitions: worldPartitions}}, Start: make([]int64, worldPartitions), Acks: "all", Idempotent: !disorder, Retries: true}
	for p := range w.book.Start {
		w.book.Start[p] = w.rng.Int64N(100)
	}
	w.write(transactions)
	return w
}

// write makes records, writes them into the logs and tells producers what became
// of them, in an order that is wrong by a window.
func (w *world) write(transactions bool) {
	offsets := slices.Clone(w.book.Start)
	visible := w.rng.IntN(2) == 0 // of aborted transactions
	for number := range uint16(worldProducers) {
		p := NewProducer(number)
		p.limit = w.limit
		var ids, open []recordID
		for range w.rng.IntN(600) {
			partition := int32(w.rng.IntN(worldPartitions))
			id := recordID{number, partition, p.Next(partition, 1)}
			w.records[id] = &record{}
			ids, open = append(ids, id), append(open, id)
			if transactions && w.rng.IntN(20) == 0 {
				committed := w.rng.IntN(3) > 0
				p.EndTransaction(committed)
				for _, id := range open {
					w.records[id].aborted = !committed
				}
				open = nil
			}
		}
		luck := w.rng.IntN(20)
		for _, id := range ids {
			if w.rng.IntN(10) == 0 { // fates come in runs
				luck = w.rng.IntN(20)
			}
			w.happen(id, luck, offsets, visible)
		}
		w.answer(p, ids)
		w.book.Lanes = append(w.book.Lanes, p.Lanes(new(sync.Mutex))...)
	}
	for i := range w.logs {
		slices.SortStableFunc(w.logs[i], func(a, b entry) int { return int(a.offset - b.offset) })
	}
}

// happen writes one record, or does not.
func (w *world) happen(id recordID, luck int, offsets []int64, visible bool) {
	r := w.records[id]
	offset := &offsets[id.partition]
	*offset += 1 + max(0, w.rng.Int64N(12)-8) // holes are normal
	r.at = *offset
	put := func(intact bool) {
		value := make([]byte, StampSize+w.rng.IntN(20))
		s := Stamp{Run: w.book.Run, Seq: id.seq, Due: *offset * 1000, Producer: id.producer, Partition: id.partition}
		s.Put(value, Around{})
		if !intact {
			value[4+w.rng.IntN(len(value)-4)] ^= 1
		}
		w.logs[id.partition] = append(w.logs[id.partition], entry{*offset, value, id, intact})
		r.written = r.written || intact
	}
	hidden := r.aborted && !visible
	switch {
	case luck < 2:
		r.fate = acknowledged // and lost
	case luck == 2:
		r.fate = failed
	case luck == 3:
	case hidden:
		r.fate = acknowledged
	case luck == 4:
		r.fate = failed
		put(true)
	case luck == 5:
		put(true)
	case luck == 6: // in the log twice
		r.fate = acknowledged
		put(true)
		*offset += w.rng.Int64N(3) + 1
		put(true)
	case luck == 7 && w.rng.IntN(3) == 0:
		r.fate = acknowledged
		put(false)
	case luck == 8 && w.rng.IntN(3) == 0: // something else's
		w.noise(id.partition, offset)
		r.at = *offset
		r.fate = acknowledged
		put(true)
	default:
		r.fate = acknowledged
		put(true)
	}
	if log := w.logs[id.partition]; w.disorder && len(log) > 5 && w.rng.IntN(4) == 0 {
		a, b := &log[len(log)-1], &log[len(log)-1-w.rng.IntN(5)]
		a.offset, b.offset = b.offset, a.offset
		w.move(a)
		w.move(b)
		slices.SortStableFunc(log, func(a, b entry) int { return int(a.offset - b.offset) })
	}
}

// move tells the record of an entry where it lies now.
func (w *world) move(e *entry) {
	if r := w.records[e.id]; r != nil && e.intact {
		r.at = e.offset
	}
}

func (w *world) noise(partition int32, offset *int64) {
	value := make([]byte, StampSize)
	switch w.rng.IntN(3) {
	case 0:
		s := Stamp{Run: 0xbad, Partition: partition}
		s.Put(value, Around{})
	case 1:
		s := Stamp{Run: w.book.Run, Partition: partition + 1}
		s.Put(value, Around{})
	}
	w.logs[partition] = append(w.logs[partition], entry{*offset, value, recordID{producer: 999}, false})
	*offset++
}

// answer reports the fates.
func (w *world) answer(p *Producer, ids []recordID) {
	ids = slices.Clone(ids)
	window := 1 + w.rng.IntN(40)
	for i := range ids {
		j := min(len(ids)-1, i+w.rng.IntN(window))
		ids[i], ids[j] = ids[j], ids[i]
	}
	for _, id := range ids {
		switch r := w.records[id]; r.fate {
		case acknowledged:
			p.Acknowledged(id.partition, id.seq, 1, r.at)
		case failed:
			p.Failed(id.partition, id.seq, 1)
		}
	}
}

// read reads the logs as a consumer would, and counts by the model.
func (w *world) read() *Reader {
	r := NewReader(w.book)
	r.limit = w.limit
	for p, log := range w.logs {
		w.readLog(r, int32(p), log)
	}
	return r
}

func (w *world) readLog(r *Reader, p int32, log []entry) {
	begin, i, stop := w.book.Start[p], 0, len(log)
	if w.partial && len(log) > 0 {
		if w.rng.IntN(2) == 0 {
			i = w.rng.IntN(len(log))
			begin = log[i].offset
		}
		if w.rng.IntN(2) == 0 {
			stop = i + w.rng.IntN(len(log)-i)
		}
	}
	first := i
	r.Begin(p, begin)
	if w.partial && w.rng.IntN(10) == 0 {
		return // told nothing more
	}
	next := begin
	seen := make(map[recordID]bool)
	last := make(map[uint16]recordID) // highest of each producer
	skippedSince := make(map[uint16]bool)
	l := r.Log(p)
	for i < stop {
		if w.partial && w.rng.IntN(200) == 0 { // retention overtakes the reader
			i += w.rng.IntN(stop - i)
			r.Begin(p, log[i].offset)
			for n := range uint16(worldProducers) {
				skippedSince[n] = true
			}
		}
		if i > first && w.rng.IntN(100) == 0 && log[i-1].offset < next { // the reader goes back
			i -= 1 + w.rng.IntN(min(i-first, 30))
		}
		e := log[i]
		i++
		var s Stamp
		l.Lock()
		status := l.Add(at(e.offset, 1, e.value), &s)
		l.Unlock()
		if e.offset < next {
			if status == Redelivered {
				w.want.Redelivered++
			}
			continue
		}
		next = e.offset + 1
		if !e.intact {
			continue
		}
		w.want.Checked++
		w.records[e.id].read = true
		before, any := last[e.id.producer]
		switch {
		case seen[e.id]:
			w.want.Duplicated++
		case any && e.id.seq < before.seq:
			w.want.Reordered++
		default:
			if any && !skippedSince[e.id.producer] {
				w.certain += w.lostBetween(before, e.id)
			}
			last[e.id.producer] = e.id
		}
		skippedSince[e.id.producer] = false
		seen[e.id] = true
	}
	end := int64(-1)
	if stop == len(log) && w.rng.IntN(4) > 0 || !w.partial {
		end = next
	}
	r.ReadTo(p, next, end)
}

func (w *world) lostBetween(a, b recordID) int64 {
	var n int64
	for seq := a.seq + 1; seq < b.seq; seq++ {
		if r := w.records[recordID{a.producer, a.partition, seq}]; r.fate == acknowledged && !r.aborted && !r.written {
			n++
		}
	}
	return n
}

// truth is the verdict of the model: of what was not read, all that is not in the
// log is lost.
func (w *world) truth() Verdict {
	v := w.want
	for _, r := range w.records {
		v.Issued++
		switch {
		case r.fate == acknowledged && r.aborted:
			v.Acknowledged++
			v.Aborted++
			if r.read {
				v.AbortedRead++
			}
		case r.fate == acknowledged:
			v.Acknowledged++
			switch {
			case r.read:
				v.AcknowledgedRead++
			case !r.written:
				v.Lost++
			default:
				v.Unchecked++
			}
		case r.fate == failed:
			v.Failed++
			if r.read {
				v.Resurrected++
			}
		default:
			v.Unknown++
			if r.read {
				v.UnknownRead++
			}
		}
	}
	return v
}

func addsUp(t *testing.T, v Verdict) {
	t.Helper()
	sum := v.AcknowledgedRead + v.Lost + v.Unchecked + v.Undecided + v.Aborted
	must.Hold(t, v.Acknowledged*int64(v.Readers) == sum, "%d acknowledged, and %d accounted for: %+v", v.Acknowledged, sum, v)
	must.Hold(t, v.Failed+v.Unknown+v.Acknowledged == v.Issued && v.Resurrected <= v.Failed*int64(v.Readers) && v.UnknownRead <= v.Unknown*int64(v.Readers), "contradicts itself: %+v", v)
	found := v.AcknowledgedRead + v.Unconfirmed + v.AbortedRead + v.Resurrected + v.UnknownRead + v.Unissued + v.Duplicated
	must.Hold(t, v.Inexact || v.Checked == found, "%d checked, and %d found: %+v", v.Checked, found, v)
	must.Hold(t, v.Inexact || (v.Undecided <= 0 && v.LateUndecided <= 0), "undecided and exact: %+v", v)
	lost := int64(0)
	for _, g := range v.Gaps {
		lost += g.Count
		must.Hold(t, g.Count >= 1 && g.Last-g.First+1 >= g.Count && (g.OffsetAfter < 0 || g.OffsetAfter > g.OffsetBefore), "gap %+v", g)
	}
	must.Hold(t, (v.GapsBeyond != 0 || lost == v.Lost) && lost <= v.Lost, "%d lost, and %d in %d gaps", v.Lost, lost, len(v.Gaps))
	for _, n := range []int64{v.AcknowledgedRead, v.Lost, v.Unchecked, v.Undecided, v.Aborted, v.AbortedRead, v.Resurrected, v.UnknownRead, v.Unissued} {
		must.Hold(t, n >= 0, "a negative count: %+v", v)
	}
}

func TestABookIsReadBackFromItsFileAsItWas(t *testing.T) {
	for seed := range uint64(30) {
		for kind, book := range map[string]*Book{"stamps": newWorld(seed, false, false, true, 3+int(seed)).book, "headers": newHeadersWorld(seed, false, 3+int(seed)).book} {
			path := filepath.Join(t.TempDir(), kind)
			must.Do(t, writeFile(path, book))
			must.Match(t, book, must.Have(readFile(path))(t), "seed %d, %s", seed, kind)
		}
	}
}
