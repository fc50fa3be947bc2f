package codec

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"
)

// bounded are the methods whose framing tells how large data may become.
var bounded = []struct {
	codec *Codec
	kind  kgo.CompressionCodecType
	size  func(src []byte, most int) (int, error)
}{
	{Snappy(), kgo.CodecSnappy, SnappySize}, {LZ4(9), kgo.CodecLz4, LZ4Size}, {Zstd(3), kgo.CodecZstd, ZstdSize},
}

func TestFramingBoundsWhatDataDecompressesTo(t *testing.T) {
	for _, s := range append(samples(), sample{"zeros", make([]byte, 3<<20+17)}) {
		for _, m := range bounded {
			got, err := m.size(m.codec.Append(nil, s.records), 1<<30)
			if err != nil || got < len(s.records) || got > len(s.records)+zstdBlock {
				t.Errorf("%s %s: %d bytes (%v), want %d to a block more", m.codec, s.name, got, err, len(s.records))
			}
		}
	}
}

func TestEveryFrameCounts(t *testing.T) {
	one := make([]byte, 1<<20)
	e, err := zstd.NewWriter(nil, zstd.WithSingleSegment(true))
	if err != nil {
		t.Fatal(err)
	}
	skippable := append([]byte{0x50, 0x2a, 0x4d, 0x18}, 3, 0, 0, 0, 1, 2, 3)
	announced := e.EncodeAll(one, nil)
	frame := Zstd(3).Append(nil, one)
	for name, src := range map[string][]byte{
		"announced": bytes.Join([][]byte{announced, skippable, frame, announced}, nil), "lz4": bytes.Repeat(LZ4(9).Append(nil, one), 3),
	} {
		size := ZstdSize
		if name == "lz4" {
			size = LZ4Size
		}
		if n, err := size(src, 1<<30); err != nil || n < 3<<20 || n > 3<<20+zstdBlock {
			t.Errorf("%s: %d bytes (%v), want 3 MiB", name, n, err)
		}
		if n, err := size(src, 2<<20); err != nil || n <= 2<<20 {
			t.Errorf("%s: %d bytes (%v), want more than the most, which is 2 MiB", name, n, err)
		}
	}
}

func TestAnAnnouncedSizeThatTheDataCannotHoldIsNotBelieved(t *testing.T) {
	if n, err := SnappySize(binary.AppendUvarint(nil, 1<<31), 1<<40); err == nil {
		t.Errorf("snappy: %d bytes of 5, want an error", n)
	}
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0} // single segment, and 8 bytes of content size
	frame = append(binary.LittleEndian.AppendUint64(frame, 1<<20), 1|2<<1|0<<3, 0, 0)
	if n, err := ZstdSize(frame, 1<<30); err != nil || n > zstdBlock {
		t.Errorf("zstd: %d bytes (%v), want a block", n, err)
	}
	window := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3, 1, 0, 0} // of 1 GiB
	if n, err := ZstdSize(window, 1<<28); err != nil || n <= 1<<28 {
		t.Errorf("zstd: %d bytes (%v), want a window that is too large", n, err)
	}
	if n := GzipSize([]byte{0xff, 0xff, 0xff, 0xff}); n > 1<<16 {
		t.Errorf("gzip: %d bytes of 4", n)
	}
}

func TestGunzipCountsWhatDoesNotFit(t *testing.T) {
	want := samples()[3].records
	src := Gzip(6).Append(nil, want)
	dst := make([]byte, len(want))
	if n, err := Gunzip(dst, src, 1<<20); err != nil || !bytes.Equal(dst[:n], want) {
		t.Errorf("%d bytes (%v), want what was compressed", n, err)
	}
	twice := append(bytes.Clone(src), src...)
	for _, most := range []int{1 << 20, 10} {
		if n, err := Gunzip(nil, twice, most); err != nil || n != min(2*len(want), most+1) {
			t.Errorf("most %d: %d bytes (%v), want %d, or one more than the most", most, n, err, 2*len(want))
		}
	}
	if _, err := Gunzip(dst, src[:len(src)/2], 1<<20); err == nil {
		t.Error("half of the data: no error")
	}
}

// What the bound says holds for the decoder that reads: it never makes more.
func FuzzFraming(f *testing.F) {
	for i, m := range bounded {
		f.Add(i, m.codec.Append(nil, samples()[0].records))
	}
	f.Fuzz(func(t *testing.T, i int, src []byte) {
		m := bounded[uint(i)%uint(len(bounded))]
		n, err := m.size(src, 1<<24)
		if err != nil || n > 1<<24 {
			return
		}
		if out, err := kgo.DefaultDecompressor().Decompress(src, m.kind); err == nil && len(out) > n {
			t.Fatalf("%s: %d bytes, and the bound was %d", m.codec, len(out), n)
		}
	})
}
