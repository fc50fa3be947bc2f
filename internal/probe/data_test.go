package probe

import (
	"bytes"
	"compress/flate"
	"testing"
	"time"
	"unsafe"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

func TestNoTwoPagesAreEqual(t *testing.T) {
	for _, block := range []int{4 * kib, 64 * kib, mib} {
		p := newPool(block, 16*mib)
		seen := make(map[string]bool)
		for range 3 * len(p.data) / block { // several times round
			b := p.next(block)
			if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%page != 0 {
				t.Fatalf("next(%d) starts in the middle of a page", block)
			}
			for ; len(b) > 0; b = b[page:] {
				if seen[string(b[:page])] {
					t.Fatalf("next(%d) gave a page twice", block)
				}
				seen[string(b[:page])] = true
			}
		}
	}
}

func TestBlocksOfAnySize(t *testing.T) {
	for _, size := range []int{1, 7, 8, 2300, page, page + 1, 3*page + 9, 2 * mib} {
		p := newPool(min(size, 64*kib), leastSize)
		a, b := make([]byte, size), make([]byte, size)
		p.copyTo(a)
		p.copyTo(b)
		if size >= 8 && bytes.Equal(a, b) {
			t.Errorf("copyTo of %d bytes gave the same twice", size)
		}
		must.Match(t, min(size, 64*kib), len(p.next(min(size, 64*kib))), "bytes of next(%d)", size)
	}
}

func TestDataCannotBeCompressed(t *testing.T) {
	var packed bytes.Buffer
	w := must.Have(flate.NewWriter(&packed, flate.BestSpeed))(t)
	data := newPool(mib, 16*mib).next(mib)
	must.Have(w.Write(data))(t)
	w.Close()
	if packed.Len() < len(data) {
		t.Errorf("%d bytes of data were packed into %d", len(data), packed.Len())
	}
}

func TestRecorder(t *testing.T) {
	a, b := newRecorder(), newRecorder()
	for range 99 {
		a.record(20*time.Microsecond, 10)
	}
	b.record(600*time.Millisecond, 10)
	got := merge([]*recorder{a, b})
	l := got.latency()
	if l.Count != 100 || l.P50 != 20.015 && l.P50 != 20 || l.Max != 600_000 || l.P999 != 600_000 {
		t.Errorf("merge(…).latency() = %+v, want 100 values, a median of 20 us and a maximum of 600,000 us", l)
	}
	if want := (Stalls{1, 1, 1}); got.stalls != want || got.bytes != 1000 {
		t.Errorf("merge(…): %+v and %d bytes, want %+v and 1000", got.stalls, got.bytes, want)
	}
	must.Match(t, (Latency{}), newRecorder().latency(), "latency() of nothing")
}

func TestTextOfTheKernel(t *testing.T) {
	const stat = "  65        0     2242        1      634      147   808352      511        0      256      683\n"
	for _, r := range []struct {
		text string
		read bool
		want int64
	}{{stat, false, 808352 * 512}, {stat, true, 2242 * 512}, {"", false, -1}, {"1 2 3", false, -1}, {"a b c d e f g", false, -1}} {
		must.Match(t, r.want, sectors(r.text, r.read), "sectors(%q, %v)", r.text, r.read)
	}
	const pressure = "some avg10=34.34 avg60=7.22 avg300=1.72 total=210\nfull avg10=25.50 avg60=5.43 avg300=1.32 total=81\n"
	must.Match(t, 25.5, must.Have(host.ParsePressure(pressure, "full", "avg10"))(t), "ParsePressure(%q)", pressure)
	if _, err := host.ParsePressure("some avg10=1.00 avg60=1", "full", "avg10"); err == nil {
		t.Error("ParsePressure of a text without it says that it is known")
	}
}
