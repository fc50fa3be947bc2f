//go:build !race

package ledger

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/must"
)

// began is when the books of these tests begin.
var began = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// grown is a ledger of several seconds, and the book and the size of its file at each mark.
type grown struct {
	file  *File
	disk  *memory
	book  *Book
	books []*Book
	sizes []int64
}

func grow(t *testing.T) *grown {
	t.Helper()
	g := &grown{disk: new(memory)}
	header := sample()
	header.Lanes = nil
	g.file, g.book = &File{written: written{file: g.disk}}, header
	for second := range 4 {
		must.Do(t, g.mark(second))
		at := *header
		at.Lanes, at.CutAt = lanesOf(second), began.Add(time.Duration(second)*time.Second)
		g.books, g.sizes = append(g.books, &at), append(g.sizes, g.file.size)
	}
	return g
}

func (g *grown) mark(second int) error {
	g.file.next = time.Time{}
	return g.file.Mark(g.book, began.Add(time.Duration(second)*time.Second), func() []Lane { return lanesOf(second) })
}

// lanesOf is the lanes of a second: the second one comes later, and the first has a second in which nothing happens.
func lanesOf(second int) []Lane {
	var lanes []Lane
	if n := int64(min(second, 2)); n > 0 {
		lanes = append(lanes, Lane{Issued: 10 * n, Acknowledged: Ranges{{0, 5 * n, 0}, {6 * n, 9 * n, 0}}, Aborted: Ranges{{8 * n, 10 * n, 0}}, LastOffset: 9*n - 1})
	}
	if n := int64(second); n > 1 {
		lanes = append(lanes, Lane{Partition: 1, Issued: n, Failed: Ranges{{0, n, 0}}, LastOffset: -1, Origins: []Origin{{7, 0, 0, 0}}})
	}
	return lanes
}

// last returns the book of the newest mark within so many bytes; nil: there is none.
func (g *grown) last(size int) *Book {
	var book *Book
	for i, end := range g.sizes {
		if int64(size) >= end {
			book = g.books[i]
		}
	}
	return book
}

func alike(t *testing.T, want, got *Book, what string, args ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", fmt.Sprintf(what, args...), diff)
	}
}

func TestALedgerThatWasCutOffAnywhereHasItsLastWholeSecond(t *testing.T) {
	g := grow(t)
	for size := range len(g.disk.text) + 1 {
		for _, rest := range []string{"", "\x00\x00\x00", `{"lane":{"producer":1,"issued":4,"last_offset":-1}}` + "\n", `{"lane":{"iss`} {
			got, err := Read(bytes.NewReader(append(bytes.Clone(g.disk.text[:size]), rest...)))
			want := g.last(size)
			if want == nil {
				must.True(t, err != nil, "cut off at %d bytes, before the first mark, and read: %+v", size, got)
				continue
			}
			must.Do(t, err)
			whole := *got
			whole.LedgerDamaged = false // where half a line ends in a whole one
			alike(t, want, &whole, "cut off at %d bytes, with %q behind", size, rest)
		}
	}
}

func TestAChangedByteIsFoundOrLiesBehindWhatCounts(t *testing.T) {
	g := grow(t)
	for at := range g.disk.text {
		changed := bytes.Clone(g.disk.text)
		changed[at] ^= 1 << rand.N(8)
		got, err := Read(bytes.NewReader(changed))
		if err != nil {
			must.True(t, g.last(at) == nil, "byte %d changed: %v", at, err)
			continue
		}
		damaged := got.LedgerDamaged
		got.LedgerDamaged = false
		// The last mark that could be read is the one before the change, or that with the change: names of JSON have no case, and 0 needs none.
		second := int(got.CutAt.Sub(began) / time.Second)
		must.True(t, second == 0 || g.sizes[second-1] <= int64(at), "byte %d changed, and all up to second %d counts", at, second)
		must.True(t, damaged || second == 3 || !bytes.HasSuffix(changed, []byte("\n")), "the change of byte %d was not found", at)
		alike(t, g.books[second], got, "byte %d changed", at)
	}
	whole := encoded(t, sample())
	for at := range whole {
		changed := bytes.Clone(whole)
		changed[at] ^= 1 << rand.N(8)
		if got, err := Read(bytes.NewReader(changed)); err == nil {
			must.True(t, bytes.EqualFold(whole, changed), "byte %d of a whole ledger was changed", at)
			alike(t, sample(), got, "byte %d", at)
		}
	}
}

func TestADiskThatIsFullForAWhileCostsNoSecond(t *testing.T) {
	failures := 0
	for room := 1; room < 400; room++ {
		g := grow(t)
		g.disk.room = len(g.disk.text) + room
		failed := g.mark(5) != nil
		got := must.Have(Read(bytes.NewReader(g.disk.text)))(t)
		if failed {
			failures++
			alike(t, g.books[3], got, "with room for %d bytes", room)
		}
		g.disk.room = 0
		must.Do(t, g.mark(6))
		got = must.Have(Read(bytes.NewReader(g.disk.text)))(t)
		must.Match(t, lanesOf(6), got.Lanes, "with room again")
		must.Match(t, began.Add(6*time.Second), got.CutAt, "the end of the ledger")
	}
	must.True(t, failures > 100 && failures < 300, "%d marks failed", failures)
}

func TestAGrowingLedgerIsBounded(t *testing.T) {
	path := t.TempDir() + "/run.ledger"
	f := must.Have(Create(path, true))(t)
	book := sample()
	must.Do(t, f.Mark(book, began, func() []Lane { return nil }))
	lanes := make([]Lane, 2000)
	most, anew := int64(0), 0
	for second := range int64(60) {
		for i := range lanes {
			lanes[i] = Lane{Producer: uint16(i / 100), Partition: int32(i % 2), Issued: 1000 * second, Acknowledged: Ranges{{0, 900 * second, second}}, LastOffset: 1 << 40}
			lanes[i].Producer = uint16(i / 2)
		}
		before := f.size
		f.next = time.Time{}
		must.Do(t, f.Mark(book, began.Add(time.Duration(second)*time.Second), func() []Lane { return append([]Lane(nil), lanes...) }))
		if f.size < before {
			anew++
		}
		most = max(most, f.size)
		if second%20 == 7 {
			got := must.Have(readFile(path))(t)
			must.Match(t, lanes, got.Lanes, "second %d", second)
		}
	}
	must.True(t, anew >= 2 && most < maxGrown+(maxStates+2)*f.least, "%d bytes at most, written anew %d times with %d", most, anew, f.least)
	book.Lanes = lanes
	must.Do(t, f.End(book))
	got := must.Have(readFile(path))(t)
	must.True(t, got.CutAt.IsZero() && f.size < f.least+1, "%d bytes, cut off at %v", f.size, got.CutAt)
	must.Match(t, lanes, got.Lanes, "at the end")
	alone(t, path)
}

func TestALongMarkPutsTheNextOneOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := grow(t)
		g.file.next = time.Time{}
		slow := func() []Lane { time.Sleep(20 * time.Millisecond); return lanesOf(3) }
		must.Do(t, g.file.Mark(g.book, began, slow))
		must.True(t, time.Until(g.file.next) < 300*time.Millisecond, "one long mark puts the next one off")
		g.file.next = time.Time{}
		must.Do(t, g.file.Mark(g.book, began, slow))
		must.Match(t, 400*time.Millisecond, time.Until(g.file.next), "until the next mark, after two long ones")
		size := g.file.size
		must.Do(t, g.file.Mark(g.book, began, func() []Lane { t.Error("the lanes were asked for"); return nil }))
		must.Match(t, size, g.file.size, "the size of the file")
	})
}

// An open transaction promises nothing, and a committed one everything.
func TestTheRecordsOfAnOpenTransactionCountAsAborted(t *testing.T) {
	p := NewProducer(0)
	p.Transactional()
	aborted := func() Ranges { return p.Lanes(new(sync.Mutex))[0].Aborted }
	p.Next(0, 5)
	must.Match(t, Ranges{{0, 5, 0}}, aborted(), "in the first transaction")
	p.EndTransaction(true)
	must.Match(t, 0, aborted().Count(), "behind it")
	p.Next(0, 3)
	must.Match(t, Ranges{{5, 8, 0}}, aborted(), "in the second transaction")
	p.EndTransaction(false)
	p.Next(0, 2)
	must.Match(t, Ranges{{5, 10, 0}}, aborted(), "in the third one, behind one that was aborted")
	p.EndTransaction(true)
	must.Match(t, Ranges{{5, 8, 0}}, aborted(), "behind all")
}

// What a run wrote behind the end of its ledger is counted and no fault, also by producers that the ledger does not know.
func TestWhatComesBehindTheEndOfALedgerIsNoFault(t *testing.T) {
	book := &Book{
		Run: 1, Topics: []BookTopic{{Name: "t", Partitions: 2}}, Idempotent: true, Acks: "all", CutAt: began,
		Lanes: []Lane{{Issued: 6, Acknowledged: Ranges{{0, 4, 0}}, Aborted: Ranges{{3, 6, 0}}, LastOffset: 3}},
	}
	r := NewReader(book)
	r.Begin(0, 0)
	for i, value := range [][]byte{put(0, 0, 0), put(0, 0, 1), put(0, 0, 2), put(0, 0, 4), put(0, 0, 5), put(0, 0, 6), put(0, 0, 7), put(1, 0, 0)} {
		r.Log(0).Add(at(int64(i), 0, value), new(Stamp))
	}
	r.ReadTo(0, 8, 8)
	v := book.Verify(r)
	got := []int64{v.AcknowledgedRead, v.Aborted, v.Lost, v.Unchecked, v.UnknownRead, v.Unissued, v.Duplicated, v.Reordered}
	must.Match(t, []int64{3, 1, 0, 0, 2, 3, 0, 0}, got, "%+v", v)
	must.Match(t, began, v.CutAt, "the end of the ledger")

	r = NewReader(book) // one of those that the ledger has is gone
	r.Begin(0, 0)
	for i, value := range [][]byte{put(0, 0, 0), put(0, 0, 2), put(0, 0, 9)} {
		r.Log(0).Add(at(int64(i), 0, value), new(Stamp))
	}
	r.ReadTo(0, 3, 3)
	v = book.Verify(r)
	must.Match(t, []int64{1, 2, 1}, []int64{v.Lost, v.AcknowledgedRead, v.Unissued}, "%+v", v)
}

// A producer id that came behind the end of a ledger has the run's own values: that makes no copies of them.
func TestANewProducerIDBehindTheEndOfALedgerMakesNoCopies(t *testing.T) {
	for _, cut := range []time.Time{{}, began} {
		book := &Book{
			Run: 1, Topics: []BookTopic{{Name: "t", Partitions: 1}}, Headers: true, OwnValues: true, Idempotent: true, CutAt: cut,
			Lanes: []Lane{{Issued: 2, Acknowledged: Ranges{{0, 2, 0}}, LastOffset: 1, Origins: []Origin{{ID: 7}}}},
		}
		r := NewReader(book)
		r.Begin(0, 0)
		for i, b := range []Batch{{ProducerID: 7}, {ProducerID: 7, Sequence: 2}, {ProducerID: 8}} {
			b.Offset, b.Records, b.Whole, b.Intact = int64(2*i), 2, true, true
			r.Log(0).AddBatch(&b, b.Offset, b.Offset+2)
			r.Log(0).AddValues(&b, b.Offset, func(yield func(int64, []byte) bool) {
				_ = yield(b.Offset, []byte("one")) && yield(b.Offset+1, []byte("two"))
			})
		}
		r.ReadTo(0, 6, 6)
		v := book.Verify(r)
		copies := map[bool]int64{true: 2, false: 0}[cut.IsZero()]
		must.Match(t, []int64{2, 0, copies, 2}, []int64{v.AcknowledgedRead, v.Lost, v.Copied, v.Unissued}, "cut off at %v: %+v", cut, v)
	}
}
