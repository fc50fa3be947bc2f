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
	s.Put(value)
	want := "6b74b101" + "00000000" + "1122334455667788" + "0102030405060708" + "1112131415161718" + "2122" + "0001" + "31323334" + hex.EncodeToString([]byte("123456789"))
	sum := hex.EncodeToString(value[4:8])
	if got := hex.EncodeToString(value); got != want[:8]+sum+want[16:] {
		t.Errorf("got  %s\nwant %s, with any checksum", got, want)
	}
	if sum != "c1e3d3a3" {
		t.Errorf("checksum %s; another program computes c1e3d3a3 as the CRC-32C of what follows it", sum)
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
			s.Put(value)
			var got, peeked Stamp
			if kind := ReadStamp(value, &got); kind != Stamped || got != s {
				t.Errorf("ReadStamp gives %v %+v, want %+v", kind, got, s)
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
	s.Put(value)
	for bit := range 8 * len(value) {
		value[bit/8] ^= 1 << (bit % 8)
		want := Corrupted
		if bit < 8*atSum {
			want = Unstamped
		}
		if got := ReadStamp(value, new(Stamp)); got != want {
			t.Errorf("with bit %d changed: %v, want %v", bit, got, want)
		}
		value[bit/8] ^= 1 << (bit % 8)
	}
	if got := ReadStamp(value[:59], new(Stamp)); got != Corrupted {
		t.Errorf("with its end cut off: %v, want %v", got, Corrupted)
	}
}

func TestWhatIsNoStampIsUnstampedAndLeavesTheStampAlone(t *testing.T) {
	stamped := make([]byte, StampSize)
	new(Stamp).Put(stamped)
	for name, value := range map[string][]byte{
		"nothing": nil, "one byte short": stamped[:StampSize-1], "letters": bytes.Repeat([]byte("kt"), 100),
	} {
		s := Stamp{Seq: 5}
		if kind := ReadStamp(value, &s); kind != Unstamped || PeekStamp(value, &s) || s.Seq != 5 {
			t.Errorf("%s: %v, and the stamp is %+v", name, kind, s)
		}
	}
}

func TestStampingDoesNotAllocate(t *testing.T) {
	value := make([]byte, 100)
	var s Stamp
	if n := testing.AllocsPerRun(100, func() { s.Put(value); ReadStamp(value, &s); PeekStamp(value, &s) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzReadStamp: whatever is Stamped is what Put writes for that stamp, but for the
// flags that are not looked at.
func FuzzReadStamp(f *testing.F) {
	value := make([]byte, 50)
	(&Stamp{Run: 1, Seq: 2, Due: 3, Producer: 4, Partition: 5, Warmup: true}).Put(value)
	f.Add(value)
	f.Add(value[:45])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		before := bytes.Clone(value)
		var s, peeked Stamp
		kind := ReadStamp(value, &s)
		if !bytes.Equal(before, value) {
			t.Fatal("reading changed the value")
		}
		if PeekStamp(value, &peeked) != (kind != Unstamped) || peeked != s {
			t.Fatalf("%v: %+v, and peeked %+v", kind, s, peeked)
		}
		if kind != Stamped || value[atFlags] != 0 || value[atFlags+1]&^warmupFlag != 0 {
			return
		}
		s.Put(value)
		if !bytes.Equal(before, value) {
			t.Fatalf("%+v is written as %x, and was read from %x", s, value, before)
		}
	})
}
