//go:build !race

package ledger

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// ten is a book of one lane: ten records, acknowledged at offsets 100 to 109.
func ten() *Book {
	return &Book{
		Run: 1, Start: []int64{100}, Idempotent: true, Acks: "all", Retries: true,
		Lanes: []Lane{{Issued: 10, Acknowledged: Ranges{{0, 10, 0}}, LastOffset: 109}},
	}
}

// reading reads those of the ten records that are given.
func reading(begin int64, seqs ...int64) *Reader {
	r := NewReader(&Book{Run: 1})
	r.Begin(0, begin)
	for _, seq := range seqs {
		add(r, 100+seq, put(0, 0, seq))
	}
	return r
}

func TestAcknowledgedRecordsAreReadLostOrUnchecked(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name                  string
		Begin                 int64
		Seqs                  []int64
		Next, End             int64
		Read, Lost, Unchecked int64
	}](t, "ledger") {
		r := reading(tc.Begin, tc.Seqs...)
		r.ReadTo(0, tc.Next, tc.End)
		v := ten().Verify(r)
		addsUp(t, v)
		must.Match(t, []int64{tc.Read, tc.Lost, tc.Unchecked}, []int64{v.AcknowledgedRead, v.Lost, v.Unchecked}, "%s: read, lost and unchecked", tc.Name)
	}
}

// What a reading proves depends on what happened meanwhile, and on the settings.
func TestOnlyWhatIsProvedIsReadOrLost(t *testing.T) {
	all := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	then := func(r *Reader, shift int64, seqs ...int64) {
		for _, seq := range seqs {
			add(r, 100+shift+seq, put(0, 0, seq))
		}
	}
	again := func(r *Reader, from, begin, want int64) {
		must.Match(t, want, r.Log(0).Again(from, begin), "it is to be read from offset")
	}
	for _, tc := range []struct {
		name                  string
		seqs                  []int64 // that are read from offset 100 on
		then                  func(r *Reader, b *Book)
		read, lost, unchecked int64
	}{
		{"some is deleted while the reader reads", []int64{0, 1, 3}, func(r *Reader, _ *Book) {
			r.Begin(0, 107)
			then(r, 0, 7, 9)
			r.ReadTo(0, 110, 110)
		}, 5, 2, 3},
		{"the client may send again, behind what was read", []int64{0, 1, 2, 5}, func(r *Reader, b *Book) { b.Idempotent = false; r.ReadTo(0, 106, 200) }, 4, 0, 6},
		{"the client sends nothing again", []int64{0, 1, 2, 5}, func(r *Reader, b *Book) { b.Idempotent, b.Retries = false, false; r.ReadTo(0, 106, 200) }, 4, 2, 4},
		{"what is missing may have been in what was skipped", []int64{0, 1, 3}, func(r *Reader, b *Book) {
			b.Idempotent = false
			r.Begin(0, 105)
			then(r, 3, 4, 5, 6, 7, 8, 9)
		}, 9, 0, 1},
		{"the last was aborted, and proves nothing", nil, func(r *Reader, b *Book) {
			b.Lanes[0].Aborted = Ranges{{9, 10, 0}}
			r.Begin(0, 103)
			r.ReadTo(0, 110, 110)
		}, 0, 0, 9},
		{"cut off below what was read, and written on", all, func(r *Reader, b *Book) {
			again(r, 100, 40, 100)
			then(r, 0, 0, 1, 2, 3, 4, 5)
			add(r, 106, put(0, 0, 10)) // never answered
			b.Lanes[0].Issued = 11
			r.ReadTo(0, 107, 107)
		}, 6, 4, 0},
		{"cut off, and not read again to its end", all, func(r *Reader, _ *Book) {
			again(r, 100, 40, 100)
			then(r, 0, 0, 1, 2, 3, 4, 5)
			r.ReadTo(0, 106, 200)
		}, 6, 0, 4},
		{"cut off below the start of the run", []int64{0, 1, 2}, func(r *Reader, _ *Book) {
			again(r, 40, 0, 40)
			then(r, -60, 3, 4, 5, 6, 7, 8, 9)
			r.ReadTo(0, 50, 50)
		}, 7, 3, 0},
		{"deleted before it is read again", all, func(r *Reader, _ *Book) {
			again(r, 100, 104, 104)
			then(r, 0, 4, 5, 6, 7, 8)
			r.ReadTo(0, 110, 110)
		}, 5, 1, 4},
		{"perhaps cut off since, and the end is not known", all, func(r *Reader, _ *Book) { r.ReadTo(0, 110, -1); r.Log(0).Unconfirmed() }, 0, 0, 10},
		{"perhaps cut off since, and the log is long enough", all, func(r *Reader, _ *Book) { r.ReadTo(0, 110, 200); r.Log(0).Unconfirmed() }, 0, 0, 10},
		{"perhaps cut off since, and the log ends before the last", all, func(r *Reader, _ *Book) { r.ReadTo(0, 110, 109); r.Log(0).Unconfirmed() }, 0, 1, 9},
		{"the same, and some were read", []int64{0, 1, 2}, func(r *Reader, _ *Book) { r.ReadTo(0, 103, 103); r.Log(0).Unconfirmed() }, 0, 7, 3},
		{"a queue may still give back what is missing", []int64{0, 1, 4, 9}, func(r *Reader, _ *Book) { r.ReadTo(0, 110, 110); r.Unfinished(0) }, 4, 0, 6},
	} {
		b, r := ten(), reading(100, tc.seqs...)
		tc.then(r, b)
		v := b.Verify(r)
		addsUp(t, v)
		must.True(t, v.AcknowledgedRead == tc.read && v.Lost == tc.lost && v.Unchecked == tc.unchecked, "%s: read %d, lost %d, unchecked %d; want %d, %d, %d", tc.name, v.AcknowledgedRead, v.Lost, v.Unchecked, tc.read, tc.lost, tc.unchecked)
	}
	r := NewReader(&Book{Run: 1})
	r.ReadTo(0, 0, 105) // it was never begun, and its end is known
	if v := ten().Verify(r); v.Lost != 1 || v.Unchecked != 9 {
		t.Errorf("the log ends before the last: %+v", v)
	}
}

func TestEachOutcomeIsCompared(t *testing.T) {
	b := ten()
	b.Lanes[0] = Lane{Issued: 12, Acknowledged: Ranges{{0, 4, 0}, {6, 8, 0}}, Failed: Ranges{{4, 6, 0}, {8, 10, 0}}, Aborted: Ranges{{6, 9, 0}}, LastOffset: 107}
	r := reading(100, 0, 1, 3, 5, 6, 9, 10, 10+2, 10+3) // 12 and 13 were never issued
	r.ReadTo(0, 200, 200)
	got := b.Verify(r)
	addsUp(t, got)
	got.Gaps, got.Blame = nil, nil
	must.Match(t, Verdict{
		Readers: 1, Issued: 12, Acknowledged: 6, Failed: 4, Unknown: 2,
		Checked: 9, AcknowledgedRead: 3, Lost: 1, Aborted: 2, AbortedRead: 1,
		Resurrected: 2, UnknownRead: 1, Unissued: 2,
	}, got, "verdict")
}

func TestWhatIsForgottenIsUndecided(t *testing.T) {
	read := func() *Reader { // 0 and 2 become one gap with 1 as a hole, and then 1 comes again
		r := NewReader(&Book{Run: 1})
		r.limit = 3
		r.Begin(0, 100)
		for i, seq := range []int64{1, 3, 5, 7, 1} {
			add(r, 100+int64(i), put(0, 0, seq))
		}
		return r
	}
	b := ten()
	b.Lanes[0] = Lane{Issued: 8, Acknowledged: Ranges{{0, 8, 0}}, LastOffset: 104}
	r := read()
	v := b.Verify(r)
	addsUp(t, v)
	must.True(t, v.AcknowledgedRead == 4 && v.Lost == 3 && v.Undecided == 1 && v.LateUndecided == 1 && v.Inexact, "%+v: 3, 5, 7 and one more are read, 4, 6 and one more lost", v)
	g := v.Gaps[len(v.Gaps)-1]
	must.True(t, g.First == 0 && g.Last == 2 && g.Count == 1 && g.OffsetBefore == -1 && g.OffsetAfter == 101, "gap %+v", g)
	b.Lanes[0] = Lane{Issued: 8, Failed: Ranges{{0, 8, 0}}, LastOffset: -1}
	if v := b.Verify(r); v.Resurrected != 4 {
		t.Errorf("%+v: 3, 5, 7 and one more failed and are there", v)
	}
	b.Lanes[0] = Lane{Issued: 8, LastOffset: -1}
	if v := b.Verify(r); v.UnknownRead != 4 {
		t.Errorf("%+v: 3, 5, 7 and one more were never answered and are there", v)
	}
}

func TestAGapThatWasSkippedStaysSoWhenItIsForgotten(t *testing.T) {
	r := reading(100, 1)
	r.limit, r.Log(0).limit = 3, 3
	r.Begin(0, 103)
	for _, seq := range []int64{3, 5, 7} { // 0 is lost, 2 was deleted unread
		add(r, 100+seq, put(0, 0, seq))
	}
	r.ReadTo(0, 110, 110)
	v := ten().Verify(r)
	addsUp(t, v)
	if v.Lost != 4 || v.Undecided != 2 || !v.Inexact { // 4, 6, 8 and 9
		t.Errorf("%+v", v)
	}
}

func TestEveryReaderIsComparedByItself(t *testing.T) {
	all := reading(100, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	some := reading(100, 0, 1, 2, 3, 4, 5, 6, 7, 9)
	some.ReadTo(0, 110, 110)
	v := ten().Verify(all, some, NewReader(&Book{Run: 1}))
	addsUp(t, v)
	must.True(t, v.Acknowledged == 10 && v.AcknowledgedRead == 19 && v.Lost == 1 && v.Unchecked == 10 && v.Gaps[0].Reader == 1, "%+v", v)
	if v := ten().Verify(); v.Acknowledged != 10 || v.Lost != 0 || v.Readers != 0 {
		t.Errorf("without readers: %+v", v)
	}
}

func TestAGapSaysWhereAndWhen(t *testing.T) {
	at := func(seq int64) time.Time { return time.Unix(0, 1000*seq).UTC() }
	b := ten()
	b.Lanes[0].Acknowledged = Ranges{{0, 4, 0}, {5, 10, 0}}
	r := reading(100, 2, 6, 7)
	r.ReadTo(0, 110, 110)
	want := []Gap{
		{First: 0, Last: 1, Count: 2, OffsetBefore: -1, OffsetAfter: 102, DueAfter: at(2)},
		{First: 3, Last: 5, Count: 2, OffsetBefore: 102, OffsetAfter: 106, DueBefore: at(2), DueAfter: at(6)}, // 4 was not acknowledged
		{First: 8, Last: 9, Count: 2, OffsetBefore: 107, OffsetAfter: -1, DueBefore: at(7)},
	}
	must.Match(t, want, b.Verify(r).Gaps, "")
}

func TestTheListOfGapsIsBoundedAndSaysSo(t *testing.T) {
	b := &Book{Run: 1}
	r := NewReader(&Book{Run: 1})
	for p := range int32(maxGaps + 20) {
		b.Lanes = append(b.Lanes, Lane{Partition: p, Issued: 1, Acknowledged: Ranges{{0, 1, 0}}})
		r.Begin(p, 0)
		r.ReadTo(p, 1, 1)
	}
	v := b.Verify(r)
	must.True(t, v.Lost == maxGaps+20 && len(v.Gaps) == maxGaps && v.GapsBeyond == 20, "%d lost, %d gaps and %d beyond", v.Lost, len(v.Gaps), v.GapsBeyond)
	long := Verdict{Gaps: make([]Gap, maxGaps+1)} // of a file that no kt wrote
	long.Add(&Verdict{Gaps: make([]Gap, 2)})
	must.True(t, len(long.Gaps) == maxGaps+1 && long.GapsBeyond == 2, "%d gaps and %d beyond", len(long.Gaps), long.GapsBeyond)
}

func TestALedgerOfAnotherRunIsRecognised(t *testing.T) {
	r := NewReader(&Book{Run: 1})
	r.Begin(0, 0)
	for i, run := range []uint64{7, 8, 8, 7, 7, 9, 7} {
		value := make([]byte, StampSize)
		(&Stamp{Run: run}).Put(value, Around{})
		add(r, int64(i), value)
	}
	r.ReadTo(0, 500, 500)
	one := NewReader(&Book{Run: 1})
	value := make([]byte, StampSize)
	(&Stamp{Run: 3}).Put(value, Around{})
	add(one, 0, value)
	v := ten().Verify(one, r)
	must.True(t, v.OfAnotherRun && v.OtherRun == "0000000000000007" && v.Foreign == 8, "%+v", v)
	add(r, 100, put(0, 0, 0))
	if v := ten().Verify(r); v.OfAnotherRun || v.Lost != 9 {
		t.Errorf("%+v: a record of this run is there", v)
	}
}

func TestATotalLossIsNotTakenForTheLedgerOfAnotherRun(t *testing.T) {
	foreign := make([]byte, StampSize)
	(&Stamp{Run: 7}).Put(foreign, Around{})
	for _, tc := range must.Rows[[]struct {
		Name               string
		Same               bool // the topic is
		Foreign, Unstamped int
		Of                 bool
	}](t, "ledger") {
		r := NewReader(&Book{Run: 1})
		r.Begin(0, 100)
		for i := range tc.Foreign + tc.Unstamped {
			value := foreign
			if i >= tc.Foreign {
				value = nil
			}
			add(r, 100+int64(i), value)
		}
		r.ReadTo(0, 110, 110)
		b := ten()
		b.SameTopic = tc.Same
		v := b.Verify(r)
		must.True(t, v.OfAnotherRun == tc.Of && v.Lost == 10 && (len(v.Blame) == 0) == tc.Of, "%s: %+v; of another run: want %t", tc.Name, v, tc.Of)
	}
}

func TestTheSettingsTellWhoIsToBlame(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name                string
		Idempotent, Retries bool
		Acks                string
		Seqs                []int64
		Say                 []string
	}](t, "ledger") {
		b, r := ten(), NewReader(&Book{Run: 1})
		b.Idempotent, b.Retries, b.Acks = tc.Idempotent, tc.Retries, tc.Acks
		r.Begin(0, 0)
		for i, seq := range tc.Seqs {
			add(r, int64(i), put(0, 0, seq))
		}
		r.ReadTo(0, 500, 500)
		v := b.Verify(r)
		must.Match(t, tc.Retries && !tc.Idempotent, v.RepeatsAllowed, "%s: repeats allowed", tc.Name)
		must.Match(t, len(tc.Say), len(v.Blame), "%s: says %q, want %q", tc.Name, v.Blame, tc.Say)
		must.Has(t, tc.Name, strings.Join(v.Blame, "; "), tc.Say...)
	}
}

func TestAVerdictTravelsAsJSON(t *testing.T) {
	r := reading(100, 2, 6, 6)
	r.ReadTo(0, 110, 110)
	want := ten().Verify(r)
	b := must.Have(json.Marshal(want))(t)
	var got Verdict
	must.Do(t, json.Unmarshal(b, &got))
	must.Match(t, want, got, "verdict")
	for _, key := range []string{`"acknowledged_read":2`, `"lost":8`, `"offset_before":-1`, `"due_after":"1970-01-01T00:00:00.000002Z"`} {
		must.True(t, strings.Contains(string(b), key), "%s is not in %s", key, b)
	}
	must.True(t, !strings.Contains(string(b), "inexact"), "inexact is in %s", b)
	b = must.Have(json.Marshal(Verdict{}))(t)
	for _, key := range []string{"checked", "lost", "duplicated", "reordered", "corrupted", "unknown", "resurrected", "unstamped"} {
		must.True(t, strings.Contains(string(b), `"`+key+`":0`), "%s is not in %s", key, b)
	}
}

// Of messages that a queue deals out in turn, each reader's come together.
func TestReadersThatShareAPartitionOvertakeEachOther(t *testing.T) {
	const n = 10_000
	r := NewReader(&Book{Run: 1})
	r.Begin(0, 0)
	r.Log(0).Shared(false)
	offset := int64(0)
	for _, first := range []int64{1, 0} {
		for seq := first; seq < n; seq += 2 {
			add(r, offset, put(0, 0, seq))
			offset++
		}
	}
	add(r, offset, put(0, 0, 7))
	r.ReadTo(0, offset+1, offset+1)
	v := (&Book{Run: 1, SameTopic: true, Lanes: []Lane{{Issued: n, Acknowledged: Ranges{{0, n, 0}}, LastOffset: -1}}}).Verify(r)
	addsUp(t, v)
	must.True(t, v.AcknowledgedRead == n && v.Reordered == 0 && v.Duplicated == 1 && v.AnyOrder && !v.Inexact, "%+v, want all read, one of them twice", v)
}

func TestWhatASystemThatCountsDeliveriesGivesOutAgainIsTheSameRecord(t *testing.T) {
	const n = 100
	for counted, want := range map[bool][2]int64{true: {2, 1}, false: {3, 0}} { // duplicated, redelivered
		r := NewReader(&Book{Run: 1})
		r.Begin(0, 0)
		r.Log(0).Shared(counted)
		offset := int64(0)
		deliver := func(seq int64, again, archived bool) {
			var s Stamp
			r.Log(0).Add(&Record{Offset: offset, Epoch: -1, Value: put(0, 0, seq), Millis: -1, Again: again, Archived: archived}, &s)
			offset++
		}
		for seq := range int64(n) {
			deliver(seq, seq%10 == 0, seq%50 == 0) // one in ten was released before
		}
		deliver(7, false, false) // two in the log
		deliver(7, false, false)
		deliver(8, true, false) // a lock ran out
		r.ReadTo(0, offset, offset)
		v := (&Book{Run: 1, SameTopic: true, Lanes: []Lane{{Issued: n, Acknowledged: Ranges{{0, n, 0}}, LastOffset: -1}}}).Verify(r)
		addsUp(t, v)
		must.Match(t, []int64{n, want[0], want[1], 2, 0}, []int64{v.AcknowledgedRead, v.Duplicated, v.Redelivered, v.Archived, v.Lost}, "counted %t: %+v", counted, v)
	}
}
