//go:build !race

package ledger

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kt-bench/kt/internal/must"
)

func TestTheStampLiesInTheValueAsDocumented(t *testing.T) {
	s := Stamp{Run: 0x1122334455667788, Seq: 0x0102030405060708, Due: 0x1112131415161718, Producer: 0x2122, Partition: 0x31323334, Warmup: true}
	value := append(make([]byte, StampSize), "123456789"...)
	s.Put(value, Around{})
	want := "6b74b102" + "00000000" + "1122334455667788" + "0102030405060708" + "1112131415161718" + "2122" + "0001" + "31323334" + hex.EncodeToString([]byte("123456789"))
	sum := hex.EncodeToString(value[4:8])
	got := hex.EncodeToString(value)
	must.True(t, got == want[:8]+sum+want[16:], "got  %s\nwant %s, with any checksum", got, want)
	must.Match(t, "e7b7eb3c", sum, "checksum …; another program computes e7b7eb3c")
	headers := AddHeader(AddHeader(0, "trace", []byte("abc")), "none", nil)
	s.Put(value, Around{Key: []byte("key-1"), Headers: headers})
	must.Match(t, "b741e505", hex.EncodeToString(value[4:8]), "checksum … with a key and headers; another program computes b741e505")
}

// The checksum covers the record as a whole: a key that was exchanged is a record in
// the wrong place, and a header that is gone a trace that ends.
func TestAChangedKeyOrHeaderIsFound(t *testing.T) {
	type header struct {
		key   string
		value []byte
	}
	around := func(key []byte, headers ...header) Around {
		a := Around{Key: key}
		for _, h := range headers {
			a.Headers = AddHeader(a.Headers, h.key, h.value)
		}
		return a
	}
	one, two := header{"a", []byte("1")}, header{"b", []byte("2")}
	value := make([]byte, 60)
	s := Stamp{Run: 9, Seq: 8, Due: 7, Producer: 6, Partition: 5}
	all := map[string]Around{
		"no key, no headers":     around(nil),
		"an empty key":           around([]byte{}),
		"a key":                  around([]byte("k")),
		"another key":            around([]byte("l")),
		"a key that goes on":     around([]byte("k\x00")),
		"a header":               around(nil, one),
		"another header":         around(nil, two),
		"a header without value": around(nil, header{"a", nil}),
		"an empty header":        around(nil, header{}),
		"the key as value":       around(nil, header{"", []byte("a1")}),
		"the value as key":       around(nil, header{"a1", []byte{}}),
		"two headers":            around(nil, one, two),
		"in the other order":     around(nil, two, one),
		"twice the same":         around(nil, one, one),
		"key and header":         around([]byte("k"), one),
	}
	for sent, a := range all {
		s.Put(value, a)
		for read, b := range all {
			want := Corrupted
			if sent == read {
				want = Stamped
			}
			must.Match(t, want, ReadStamp(value, b, new(Stamp)), "sent with %s, and read with %s", sent, read)
		}
	}
	short := make([]byte, 59) // the key is one byte longer: the value's last
	copy(short, value)
	s.Put(value, around(nil))
	copy(short, value)
	must.Match(t, Corrupted, ReadStamp(short, around([]byte{value[59]}), new(Stamp)), "with a byte that went from the value to the key")
}

func TestAChangedTimestampIsFoundWhereItIsTheProducers(t *testing.T) {
	value := make([]byte, 60)
	s := Stamp{Run: 1, Due: 1_700_000_000_123_999_999}
	s.Put(value, Around{})
	sent := s.Time().UnixMilli()
	must.True(t, sent == 1_700_000_000_123, "the timestamp is %d, want that of the millisecond in which the record was due", sent)
	for name, tc := range map[string]struct {
		millis int64
		want   StampStatus
	}{
		"as sent":         {sent, Stamped},
		"a millisecond":   {sent + 1, Corrupted},
		"an hour":         {sent - 3_600_000, Corrupted},
		"of the broker's": {-1, Stamped},
	} {
		l := NewReader(&Book{Run: 1}).Log(0)
		must.Match(t, tc.want, l.Add(&Record{Value: value, Millis: tc.millis}, new(Stamp)), "%s", name)
	}
}

func TestAStampIsReadBackAsItWas(t *testing.T) {
	for _, s := range []Stamp{
		{},
		{Run: 1, Seq: 2, Due: 3, Producer: 4, Partition: 5, Warmup: true},
		{Run: math.MaxUint64, Seq: math.MaxInt64, Due: math.MinInt64, Producer: math.MaxUint16, Partition: math.MinInt32},
	} {
		for _, size := range []int{StampSize, StampSize + 1, 1000} {
			value := bytes.Repeat([]byte{7}, size)
			s.Put(value, Around{})
			var got, peeked Stamp
			status := ReadStamp(value, Around{}, &got)
			must.True(t, status == Stamped && got == s, "ReadStamp gives %v %+v, want %+v", status, got, s)
			must.True(t, PeekStamp(value, &peeked) && peeked == s, "PeekStamp gives %+v, want %+v", peeked, s)
		}
	}
}

func TestAnyChangedBitIsFound(t *testing.T) {
	value := make([]byte, 60)
	s := Stamp{Run: 9, Seq: 8, Due: 7, Producer: 6, Partition: 5}
	s.Put(value, Around{})
	for bit := range 8 * len(value) {
		value[bit/8] ^= 1 << (bit % 8)
		want := Corrupted
		if bit < 8*atSum {
			want = Unstamped
		}
		must.Match(t, want, ReadStamp(value, Around{}, new(Stamp)), "with bit %d changed", bit)
		value[bit/8] ^= 1 << (bit % 8)
	}
	must.Match(t, Corrupted, ReadStamp(value[:59], Around{}, new(Stamp)), "with its end cut off")
}

func TestWhatIsNoStampIsUnstampedAndLeavesTheStampAlone(t *testing.T) {
	stamped := make([]byte, StampSize)
	new(Stamp).Put(stamped, Around{})
	for name, value := range map[string][]byte{
		"nothing": nil, "one byte short": stamped[:StampSize-1], "letters": bytes.Repeat([]byte("kt"), 100),
	} {
		s := Stamp{Seq: 5}
		status := ReadStamp(value, Around{}, &s)
		must.True(t, status == Unstamped && !PeekStamp(value, &s) && s.Seq == 5, "%s: %v, and the stamp is %+v", name, status, s)
	}
}

func TestStampingDoesNotAllocate(t *testing.T) {
	value := make([]byte, 100)
	var s Stamp
	a := Around{Key: []byte("key")}
	if n := testing.AllocsPerRun(100, func() {
		a.Headers = AddHeader(0, "header", a.Key)
		s.Put(value, a)
		ReadStamp(value, a, &s)
		PeekStamp(value, &s)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzReadStamp: whatever is Stamped is what Put writes for that stamp, but for the
// flags that are not looked at.
func FuzzReadStamp(f *testing.F) {
	value := make([]byte, 50)
	(&Stamp{Run: 1, Seq: 2, Due: 3, Producer: 4, Partition: 5, Warmup: true}).Put(value, Around{})
	f.Add(value)
	f.Add(value[:45])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		before := bytes.Clone(value)
		var s, peeked Stamp
		status := ReadStamp(value, Around{}, &s)
		must.Hold(t, bytes.Equal(before, value), "reading changed the value")
		must.Hold(t, PeekStamp(value, &peeked) == (status != Unstamped) && peeked == s, "%v: %+v, and peeked %+v", status, s, peeked)
		if status != Stamped || value[atFlags] != 0 || value[atFlags+1]&^warmupFlag != 0 {
			return
		}
		s.Put(value, Around{})
		must.Hold(t, bytes.Equal(before, value), "%+v is written as %x, and was read from %x", s, value, before)
	})
}

func TestNumbersBecomeRanges(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name string
		Add  []int64
		Want Ranges
	}](t, "ledger") {
		var rs Ranges
		for _, n := range tc.Add {
			rs.add(n, n+1, 4)
		}
		must.Match(t, tc.Want, rs, "%s", tc.Name)
	}
}

func TestSetsAreThoseOfTheirNumbers(t *testing.T) {
	const n = 40
	rng := rand.New(rand.NewPCG(1, 1))
	random := func() (rs Ranges, in [n]bool) {
		for range rng.IntN(n) {
			i := rng.Int64N(n)
			rs.add(i, i+1, n)
			in[i] = true
		}
		return rs, in
	}
	numbers := func(rs Ranges) (in [n]bool) {
		for i, r := range rs {
			must.Hold(t, r.From < r.To && r.Holes == 0 && (i <= 0 || r.From >= rs[i-1].To), "no set: %v", rs)
			for k := r.From; k < r.To; k++ {
				in[k] = true
			}
		}
		return in
	}
	for range 2000 {
		a, inA := random()
		b, inB := random()
		var both, only, either [n]bool
		for i := range n {
			both[i], only[i], either[i] = inA[i] && inB[i], inA[i] && !inB[i], inA[i] || inB[i]
		}
		if numbers(a) != inA || numbers(intersect(a, b)) != both || numbers(subtract(a, b)) != only || numbers(union(append(append(Ranges{}, a...), b...))) != either {
			t.Fatalf("of %v and %v: both %v, only the first %v", a, b, intersect(a, b), subtract(a, b))
		}
	}
}

func TestARangeIsAShortListInJSON(t *testing.T) {
	in := Ranges{{0, 10, 0}, {12, 20, 3}}
	b, err := json.Marshal(in)
	must.Hold(t, err == nil && string(b) == "[[0,10],[12,20,3]]", "%s, %v", b, err)
	var got Ranges
	if err := json.Unmarshal(b, &got); err != nil || !cmp.Equal(in, got) {
		t.Errorf("read back as %v, %v", got, err)
	}
	for _, bad := range []string{"[[1]]", "[[1,2,3,4]]", `[["a","b"]]`, "[{}]", "[[1.5,2]]"} {
		must.True(t, json.Unmarshal([]byte(bad), &got) != nil, "%s is read as %v", bad, got)
	}
}

func TestAnOriginIsNotedWhereTheSequencesChange(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name      string
		Limit     int
		All, Want []Origin
		Forgotten int64
	}](t, "ledger") {
		p := NewProducer(0)
		p.limit = tc.Limit
		p.Next(0, 100)
		for _, o := range tc.All {
			p.Originate(0, o)
		}
		l := p.Lanes(new(sync.Mutex))[0]
		must.Match(t, tc.Want, l.Origins, "%s", tc.Name)
		must.Match(t, tc.Forgotten, l.Forgotten, "%s: forgotten", tc.Name)
		must.Err(t, "", l.check(1), "%s", tc.Name)
	}
}

func TestASequenceIsThatOfTheNearestNumber(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name          string
		Origins       []Origin
		Forgotten     bool
		Sequence      int32
		N, Next, Want int64 // Want below 0: none
	}](t, "ledger") {
		track := track{origins: tc.Origins, forgotten: tc.Forgotten}
		got, ok := track.number(tc.Sequence, tc.N, tc.Next)
		must.True(t, ok == (tc.Want >= 0) && (!ok || got == tc.Want), "%s: number %d, %t; want %d", tc.Name, got, ok, tc.Want)
	}
}

// FuzzSequences: a record whose number is within 2^30 of the one that is expected has that number, wherever its sequence
// is counted.
func FuzzSequences(f *testing.F) {
	f.Add(int64(0), int64(0), int64(100), int64(-100))
	f.Add(int64(math.MaxInt32-3), int64(7), int64(5), int64(0))
	f.Add(int64(1<<40), int64(1<<41), int64(1<<42), int64(1<<30-1))
	f.Fuzz(func(t *testing.T, sequence, first, behind, away int64) {
		const far = 1 << 60
		sequence, first, behind, away = abs(sequence)%far, abs(first)%far, abs(behind)%far, away%(sequences/2)
		track := track{origins: []Origin{{1, 0, sequence, first}}}
		next, want := first+behind, first+behind+away
		if want < first {
			want = next
		}
		got, ok := track.number(int32((sequence+want-first)&math.MaxInt32), 1, next)
		must.True(t, ok && got == want, "number %d, %t; want %d, where %d is expected", got, ok, want, next)
	})
}

func abs(n int64) int64 { return max(n, -(n + 1)) }
