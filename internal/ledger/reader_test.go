//go:build !race

package ledger

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

func TestEachRecordIsCountedAsWhatItIs(t *testing.T) {
	value := func(text string) []byte {
		switch text {
		case "foreign":
			foreign := make([]byte, StampSize)
			(&Stamp{Run: 2}).Put(foreign, Around{})
			return foreign
		case "broken":
			broken := put(0, 0, 0)
			broken[45] = 1
			return broken
		case "hello":
			return []byte(text)
		case "nothing":
			return nil
		}
		var numbers [3]int64
		parts := strings.Split(text, "/")
		for i, part := range parts {
			numbers[3-len(parts)+i] = must.Have(strconv.ParseInt(part, 10, 64))(t)
		}
		return put(uint16(numbers[0]), int32(numbers[1]), numbers[2])
	}
	for _, tc := range must.Rows[[]struct {
		Name, Values, Status string // the status of the last
		Want                 Verdict
	}](t, "ledger") {
		r := NewReader(&Book{Run: 1})
		var status StampStatus
		for i, text := range strings.Fields(tc.Values) {
			status = add(r, int64(i), value(text))
		}
		must.Match(t, tc.Status, status.String(), "%s: the last", tc.Name)
		got := (&Book{SameTopic: true}).Verify(r)
		got.Readers, got.Unissued, got.Blame = 0, 0, nil // the book is empty
		must.Match(t, tc.Want, got, "%s", tc.Name)
	}
}

// add reads a record of partition 0.
func add(r *Reader, offset int64, value []byte) StampStatus {
	l := r.Log(0)
	l.Lock()
	defer l.Unlock()
	return l.Add(at(offset, 0, value), new(Stamp))
}

func TestWhatWasReadBeforeIsRedeliveredAndNotLookedAt(t *testing.T) {
	r := NewReader(&Book{Run: 1})
	add(r, 10, put(0, 0, 0))
	add(r, 11, put(0, 0, 1))
	for _, value := range [][]byte{put(0, 0, 0), put(0, 0, 1), []byte("?"), nil} {
		must.Match(t, Redelivered, add(r, 11, value), "it")
	}
	add(r, 20, put(0, 0, 2)) // holes are normal
	v := new(Book).Verify(r)
	must.Match(t, []int64{4, 3, 0, 0}, []int64{v.Redelivered, v.Checked, v.Duplicated, v.Unstamped}, "%+v", v)
}

func TestALeaderEpochThatGoesBackIsCounted(t *testing.T) {
	r := NewReader(&Book{Run: 1})
	l := r.Log(0)
	l.Add(at(0, -1, put(0, 0, 0)), new(Stamp))
	must.Match(t, Redelivered, l.Add(at(0, 1, put(0, 0, 0)), new(Stamp)), "with an epoch that was not known the first time it")
	for i, epoch := range []int32{-1, 3, 3, -1, 5, 4, 4, 6, 0} {
		l.Add(at(int64(i)+1, epoch, put(0, 0, int64(i)+1)), new(Stamp))
	}
	must.Match(t, 2, new(Book).Verify(r).EpochRegressions, "times: from 5 to 4 and from 6 to 0")
}

func TestALogThatWasCutOffAndWrittenAgainIsReadAgain(t *testing.T) {
	r := NewReader(&Book{Run: 1})
	l := r.Log(0)
	for i := range int64(10) {
		l.Add(at(i, 1, put(0, 0, i)), new(Stamp))
	}
	for i := int64(6); i < 12; i++ { // 6 to 9 are gone
		must.Match(t, Stamped, l.Add(at(i, 2, put(0, 0, i+4)), new(Stamp)), "offset %d", i)
	}
	must.Match(t, Redelivered, l.Add(at(6, 2, put(0, 0, 10)), new(Stamp)), "offset 6 once more")
	v := new(Book).Verify(r)
	must.True(t, v.Rewritten == 1 && v.Redelivered == 1 && v.Checked == 16 && v.Duplicated+v.Reordered+v.EpochRegressions <= 0, "%+v", v)
}

func TestALogIsFollowedFromLeaderToLeader(t *testing.T) {
	l := NewReader(&Book{Run: 1}).Log(0)
	if tips, cut := l.Tips(); len(tips) != 0 || cut {
		t.Errorf("nothing was read, and the tips are %v, cut %v", tips, cut)
	}
	for i, epoch := range []int32{-1, 3, 3, -1, 3, 5, 5} {
		l.Add(at(int64(i), epoch, put(0, 0, int64(i))), new(Stamp))
	}
	tips, cut := l.Tips()
	if diff := cmp.Diff([]Tip{{Offset: 4, Epoch: 3}, {Offset: 6, Epoch: 5}}, tips); diff != "" || cut {
		t.Errorf("cut %v, tips -want +got:\n%s", cut, diff)
	}
	l.Add(at(2, 6, put(0, 0, 7)), new(Stamp)) // a new leader has cut it off
	if tips, cut = l.Tips(); len(tips) != 3 || !cut {
		t.Errorf("cut %v, tips %v", cut, tips)
	}
	l.Again(0, 0)
	if tips, cut = l.Tips(); len(tips) != 0 || cut {
		t.Errorf("it is to be read again, and the tips are %v, cut %v", tips, cut)
	}
	for i := range int32(2 * maxTips) {
		l.Add(at(int64(i), i, put(0, 0, int64(i))), new(Stamp))
	}
	if tips, cut = l.Tips(); len(tips) != maxTips+1 || !cut {
		t.Errorf("%d tips, cut %v, want no more than can be asked for, and doubt", len(tips), cut)
	}
}

func TestAddingDoesNotAllocate(t *testing.T) {
	r := NewReader(&Book{Run: 1})
	l := r.Log(0)
	value, s, offset := put(0, 0, 0), Stamp{Run: 1}, int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		s.Seq = offset
		s.Put(value, Around{})
		l.Add(at(offset, 0, value), &s)
		offset++
	}); n > 0 {
		t.Errorf("%v allocations a record", n)
	}
}

// FuzzAdd: whatever the values are, every record is counted once, and nothing that
// was acknowledged vanishes from the account.
func FuzzAdd(f *testing.F) {
	f.Add([]byte{1, 2, 3, 3, 2, 9}, []byte("value"), int64(3))
	f.Add([]byte{200, 1, 100, 50, 51, 49}, put(3, 0, 1), int64(-1))
	f.Add([]byte{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9}, put(0, 0, 1<<61), int64(7))
	f.Fuzz(func(t *testing.T, seqs, value []byte, end int64) {
		r := NewReader(&Book{Run: 1})
		r.limit = 3
		r.Begin(0, 0)
		offset := int64(0)
		for _, seq := range seqs {
			add(r, offset, put(uint16(seq%3), 0, int64(seq)))
			add(r, offset+1, value)
			offset += int64(seq) % 3 // sometimes it stands still
		}
		var s Stamp // as if the checksum were right
		if PeekStamp(value, &s) {
			r.Log(0).count(&Record{Offset: offset + 2}, Stamped, &s)
		}
		r.ReadTo(0, end, end)
		book := Book{Run: 1, Lanes: []Lane{
			{Producer: 0, Issued: 300, Acknowledged: Ranges{{0, 100, 30}, {110, 200, 0}}, Failed: Ranges{{105, 110, 0}}, LastOffset: 50},
			{Producer: 1, Issued: 100, Acknowledged: Ranges{{0, 100, 0}}, LastOffset: 40},
			{Producer: 2, Issued: 0, LastOffset: -1},
		}}
		v := book.Verify(r)
		addsUp(t, v)
		var n int64
		for _, l := range r.logs {
			n += l.counts.Checked + l.counts.Corrupted + l.counts.Unstamped + l.counts.Foreign + l.counts.Redelivered
		}
		want := 2 * int64(len(seqs))
		if PeekStamp(value, &s) {
			want++
		}
		must.Hold(t, n == want, "%d records are counted as %d", want, n)
	})
}

func TestOnlyALostConnectionExcusesCopiesAndOrder(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name                               string
		Order                              string
		Lost                               int     // the place before which a connection was lost, on which the system sends 3 without an acknowledgement; -1: none was
		Last                               []int64 // that its reader had read
		Duplicated, Reordered, Redelivered int64
	}](t, "ledger") {
		r := NewReader(&Book{Run: 1})
		l, order := r.Log(0), strings.Fields(tc.Order)
		for i, number := range order {
			if i == tc.Lost {
				var held []Number
				for _, seq := range tc.Last {
					held = append(held, Number{0, seq})
				}
				l.Returned(held, 3)
			}
			seq, marked := strings.CutSuffix(number, "+")
			record := at(int64(i), -1, put(0, 0, must.Have(strconv.ParseInt(seq, 10, 64))(t)))
			record.Again = marked
			l.Add(record, new(Stamp))
		}
		v := (&Book{SameTopic: true}).Verify(r)
		must.Match(t, []int64{tc.Duplicated, tc.Reordered, tc.Redelivered, int64(len(order))}, []int64{v.Duplicated, v.Reordered, v.Redelivered, v.Checked + v.Redelivered}, "%s", tc.Name)
	}
}

func TestManyLostConnectionsDoNotFillTheMemory(t *testing.T) {
	l := NewReader(&Book{Run: 1}).Log(0)
	held := make([]Number, 65_535)
	for loss := range int64(10) {
		for i := range held {
			held[i] = Number{Seq: loss*int64(len(held)) + int64(i)}
		}
		l.Returned(held, len(held))
	}
	n := len(l.owed)
	must.True(t, n <= maxOwed && n >= len(held) && l.outstanding <= 2*int64(len(held)), "%d records are kept, and %d may be late", n, l.outstanding)
}
