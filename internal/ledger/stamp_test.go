//go:build !race

package ledger

import (
	"bytes"
	"encoding/hex"
	"math"
	"testing"
)

func TestTheStampLiesInTheValueAsDocumented(t *testing.T) {
	s := Stamp{Run: 0x1122334455667788, Seq: 0x0102030405060708, Due: 0x1112131415161718, Producer: 0x2122, Partition: 0x31323334, Warmup: true}
	value := append(make([]byte, StampSize), "123456789"...)
	s.Put(value, Around{})
	want := "6b74b102" + "00000000" + "1122334455667788" + "0102030405060708" + "1112131415161718" + "2122" + "0001" + "31323334" + hex.EncodeToString([]byte("123456789"))
	sum := hex.EncodeToString(value[4:8])
	if got := hex.EncodeToString(value); got != want[:8]+sum+want[16:] {
		t.Errorf("got  %s\nwant %s, with any checksum", got, want)
	}
	if sum != "e7b7eb3c" {
		t.Errorf("checksum %s; another program computes e7b7eb3c", sum)
	}
	headers := AddHeader(AddHeader(0, "trace", []byte("abc")), "none", nil)
	s.Put(value, Around{Key: []byte("key-1"), Headers: headers})
	if sum := hex.EncodeToString(value[4:8]); sum != "b741e505" {
		t.Errorf("checksum %s with a key and headers; another program computes b741e505", sum)
	}
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
			if got := ReadStamp(value, b, new(Stamp)); got != want {
				t.Errorf("sent with %s, and read with %s: %v, want %v", sent, read, got, want)
			}
		}
	}
	short := make([]byte, 59) // the key is one byte longer: the value's last
	copy(short, value)
	s.Put(value, around(nil))
	copy(short, value)
	if got := ReadStamp(short, around([]byte{value[59]}), new(Stamp)); got != Corrupted {
		t.Errorf("with a byte that went from the value to the key: %v", got)
	}
}

func TestAChangedTimestampIsFoundWhereItIsTheProducers(t *testing.T) {
	value := make([]byte, 60)
	s := Stamp{Run: 1, Due: 1_700_000_000_123_999_999}
	s.Put(value, Around{})
	sent := s.Time().UnixMilli()
	if sent != 1_700_000_000_123 {
		t.Errorf("the timestamp is %d, want that of the millisecond in which the record was due", sent)
	}
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
		if got := l.Add(&Record{Value: value, Millis: tc.millis}, new(Stamp)); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
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
			if status := ReadStamp(value, Around{}, &got); status != Stamped || got != s {
				t.Errorf("ReadStamp gives %v %+v, want %+v", status, got, s)
			}
			if !PeekStamp(value, &peeked) || peeked != s {
				t.Errorf("PeekStamp gives %+v, want %+v", peeked, s)
			}
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
		if got := ReadStamp(value, Around{}, new(Stamp)); got != want {
			t.Errorf("with bit %d changed: %v, want %v", bit, got, want)
		}
		value[bit/8] ^= 1 << (bit % 8)
	}
	if got := ReadStamp(value[:59], Around{}, new(Stamp)); got != Corrupted {
		t.Errorf("with its end cut off: %v, want %v", got, Corrupted)
	}
}

func TestWhatIsNoStampIsUnstampedAndLeavesTheStampAlone(t *testing.T) {
	stamped := make([]byte, StampSize)
	new(Stamp).Put(stamped, Around{})
	for name, value := range map[string][]byte{
		"nothing": nil, "one byte short": stamped[:StampSize-1], "letters": bytes.Repeat([]byte("kt"), 100),
	} {
		s := Stamp{Seq: 5}
		if status := ReadStamp(value, Around{}, &s); status != Unstamped || PeekStamp(value, &s) || s.Seq != 5 {
			t.Errorf("%s: %v, and the stamp is %+v", name, status, s)
		}
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
		if !bytes.Equal(before, value) {
			t.Fatal("reading changed the value")
		}
		if PeekStamp(value, &peeked) != (status != Unstamped) || peeked != s {
			t.Fatalf("%v: %+v, and peeked %+v", status, s, peeked)
		}
		if status != Stamped || value[atFlags] != 0 || value[atFlags+1]&^warmupFlag != 0 {
			return
		}
		s.Put(value, Around{})
		if !bytes.Equal(before, value) {
			t.Fatalf("%+v is written as %x, and was read from %x", s, value, before)
		}
	})
}
