//go:build !race

package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// mirrored is a reading of a copy of the ten records. Those below 0 lie in another partition of a copy with two.
func mirrored(b *Book, seqs ...int64) *Reader {
	r := NewReader(b)
	offsets := make(map[int32]int64)
	for p := range int32(2) {
		r.Begin(p, 0)
	}
	for _, seq := range seqs {
		p := int32(0)
		if seq < 0 {
			p, seq = 1, -seq
		}
		l := r.Log(p)
		l.Lock()
		rec := at(offsets[p], 0, put(0, 0, seq))
		rec.Millis = 12345 // no timestamp of a mirror is looked at
		l.Add(rec, new(Stamp))
		l.Unlock()
		offsets[p]++
	}
	for p := range int32(2) {
		r.ReadTo(p, offsets[p], offsets[p])
	}
	return r
}

func TestWhatAMirrorDoesToRecords(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name                                                    string
		Seqs                                                    []int64
		Parts, Unordered                                        bool
		Begin                                                   int64
		Then                                                    string // cut: the log was cut off and is read again; deleted: what came behind, before it was read; more: there is more behind
		Read, Lost, Unchecked, NotCopied, Duplicated, Reordered int64
	}](t, "ledger") {
		b := ten()
		b.Topics = []BookTopic{{Name: "t", ID: "x", Partitions: 1}}
		b.Idempotent = !tc.Unordered
		b.OfMirror([]string{"A.t"}, tc.Parts)
		r := mirrored(b, tc.Seqs...)
		r.Log(0).begin = tc.Begin
		switch tc.Then {
		case "more":
			r.ReadTo(0, 0, 100)
		case "deleted":
			r.Begin(0, 20)
			r.ReadTo(0, 20, 20)
		case "cut":
			r.Log(0).Again(0, 0)
			add(r, 0, put(0, 0, 0))
			r.ReadTo(0, 1, 1)
		}
		v := b.Verify(r)
		addsUp(t, v)
		p := v.Mirror.Partitions[0]
		must.Match(t, []int64{tc.Read, tc.Lost, tc.Unchecked, tc.NotCopied, tc.Duplicated, tc.Reordered},
			[]int64{v.AcknowledgedRead, v.Lost, v.Unchecked, v.NotCopied, v.Duplicated, v.Reordered}, "%s: read, lost, unchecked, not copied, duplicated, reordered", tc.Name)
		must.Match(t, []any{"A.t", tc.Read, tc.Lost, tc.NotCopied, tc.Duplicated, tc.Reordered}, []any{p.Topic, p.Read, p.Lost, p.NotCopied, p.Duplicated, p.Reordered}, "%s: the partition", tc.Name)
		must.True(t, v.Lost == 0 || len(v.Gaps) > 0 && (!tc.Parts || v.Gaps[0].OffsetBefore == -1), "%s: gaps %+v", tc.Name, v.Gaps)
		must.True(t, !v.RepeatsAllowed, "%s: a mirror may repeat records", tc.Name)
	}
}

func TestHeadersMayBeAddedToACopyAndNoneTaken(t *testing.T) {
	type header struct{ key, value string }
	sum := func(headers []header) (n uint32) {
		for _, h := range headers {
			n = AddHeader(n, h.key, []byte(h.value))
		}
		return n
	}
	sent := []header{{"a", "1"}, {"b", "2"}}
	many := make([]header, maxHeaders)
	for _, tc := range []struct {
		name string
		read []header
		want StampStatus
	}{
		{"none", sent, Stamped},
		{"behind", append(sent[:2:2], header{"c", "3"}, header{"d", ""}), Stamped},
		{"before", append([]header{{"c", "3"}}, sent...), Stamped},
		{"between", []header{sent[0], {"c", "3"}, sent[1]}, Corrupted},
		{"one is gone", sent[:1], Corrupted},
		{"another order", []header{sent[1], sent[0]}, Corrupted},
		{"another value", []header{sent[0], {"b", "3"}}, Corrupted},
		{"too many", append(sent[:2:2], many...), Corrupted},
	} {
		value := make([]byte, StampSize)
		(&Stamp{Run: 1}).Put(value, Around{Key: []byte("k"), Headers: sum(sent)})
		b := ten()
		b.OfMirror(nil, false)
		l := NewReader(b).Log(0)
		got := l.Add(&Record{Value: value, Around: Around{[]byte("k"), sum(tc.read)}, EachHeader: func(yield func(k, v []byte) bool) {
			for _, h := range tc.read {
				if !yield([]byte(h.key), []byte(h.value)) {
					return
				}
			}
		}}, new(Stamp))
		must.Match(t, tc.want.String(), got.String(), "%s", tc.name)
	}
}

// The slices of time get longer where there are many, and those of two logs are added up.
func TestLagIsKeptOverTime(t *testing.T) {
	second := int64(time.Second)
	b := ten()
	b.Topics = []BookTopic{{Name: "t", Partitions: 2}}
	b.OfMirror([]string{"A.t"}, false)
	r := NewReader(b)
	for p, slices := range []int64{3, maxSlices + 1} {
		l := r.Log(int32(p))
		for i := range slices {
			value := make([]byte, StampSize)
			due := (1000 + i) * second
			(&Stamp{Run: 1, Seq: i, Due: due, Partition: int32(p)}).Put(value, Around{})
			rec := at(2*i, 0, value)
			rec.Arrived = due + (i+1)*second/10 + int64(1-p)*second
			l.Add(rec, new(Stamp))
			rec.Offset, rec.Arrived = rec.Offset+1, rec.Arrived+1000*second // a copy says nothing of the lag
			l.Add(rec, new(Stamp))
		}
	}
	m := b.Verify(r).Mirror
	must.Match(t, []any{int64(maxSlices + 4), 2.0, maxSlices/2 + 1}, []any{m.Measured, m.SliceSeconds, len(m.Lag)}, "measured, slices")
	for i, want := range []float64{1.2, 1.3, 0.6} {
		must.Match(t, Lag{time.Unix(int64(1000+2*i), 0).UTC(), want}, m.Lag[i], "slice %d", i)
	}
	must.Match(t, "1030 3.1, 1002 1.3", fmt.Sprintf("%d %.1f, %d %.1f", m.Partitions[1].Lag.Due.Unix(), m.Partitions[1].Lag.Seconds, m.Partitions[0].Lag.Due.Unix(), m.Partitions[0].Lag.Seconds), "the largest by partition")

	var far lags // whoever wrote the stamps
	for _, due := range []int64{-1 << 63, 1<<63 - 1, 0} {
		for i := range int64(maxSlices) {
			far.put(due/(i+1), i, second)
		}
	}
	must.True(t, len(far.list()) <= maxSlices, "%d slices", len(far.list()))
}
