package reading

import (
	"encoding/binary"
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/must"
)

// record returns a record with a value and some headers, which hold nothing.
func record(value, headers int) []byte {
	b := binary.AppendVarint([]byte{0, 0, 0, 1}, int64(value))
	b = append(b, make([]byte, value)...)
	b = append(binary.AppendVarint(b, int64(headers)), make([]byte, 2*headers)...)
	return append(binary.AppendVarint(nil, int64(len(b))), b...)
}

func clientDecompressorOf(m *Memory) *clientDecompressor {
	d := &clientDecompressor{memory: m}
	d.rooms.New = func() any { return m.NewRoom() }
	return d
}

var codecs = map[kgo.CompressionCodecType]*codec.Codec{
	kgo.CodecGzip: codec.Gzip(1), kgo.CodecSnappy: codec.Snappy(), kgo.CodecLz4: codec.LZ4(9), kgo.CodecZstd: codec.Zstd(1),
}

func TestAQuarterOfTheMemoryIsThere(t *testing.T) {
	for usable, want := range map[int64]int64{0: 256 << 20, 256 << 20: 64 << 20, 64 << 30: 256 << 20} {
		must.Match(t, want, NewMemory(usable).Most, "of %d bytes,", usable)
	}
}

func TestABatchIsDecompressedWithinTheMemory(t *testing.T) {
	for kind, c := range codecs {
		for size, want := range map[int]error{1000: nil, 3 << 20: nil, 5 << 20: kgo.ErrMaxDecompress} {
			src := c.Append(nil, record(size, 0))
			m := NewMemory(16 << 20)
			for name, d := range map[string]kgo.Decompressor{"wire": m.NewRoom(), "client": clientDecompressorOf(m)} {
				out, err := d.Decompress(src, kind)
				must.True(t, errors.Is(err, want) && (err != nil || len(out) == len(record(size, 0))),
					"%s, %s: %d bytes: %d (%v), want %v", name, c, size, len(out), err, want)
				runtime.GC() // the next one needs the memory
			}
		}
	}
}

// Records take more memory in franz-go than in a batch, and their headers do.
func TestRecordsAndHeadersCount(t *testing.T) {
	var many []byte
	for range 100_000 {
		many = append(many, record(0, 0)...)
	}
	got, least := weigh(many), 100_000*int64(unsafe.Sizeof(kgo.Record{}))
	must.True(t, got >= least, "%d bytes of records, want %d", got, least)
	for name, b := range map[string][]byte{"records": many, "headers": record(0, 400_000)} {
		_, err := clientDecompressorOf(NewMemory(32<<20)).Decompress(codec.Zstd(1).Append(nil, b), kgo.CodecZstd)
		must.True(t, errors.Is(err, kgo.ErrMaxDecompress), "%s of %d bytes: %v, want that they are too large", name, len(b), err)
	}
}

func TestMemoryThatOthersHaveIsBusyUntilItIsCollected(t *testing.T) {
	m := NewMemory(16 << 20)
	src := codec.Zstd(1).Append(nil, record(3<<20, 0))
	held := must.Have(m.NewRoom().Decompress(src, kgo.CodecZstd))(t)
	_, err := m.NewRoom().Decompress(src, kgo.CodecZstd)
	must.True(t, errors.Is(err, ErrBusy), "while the memory is held: %v, want busy", err)
	runtime.KeepAlive(held)
	_, err = m.NewRoom().Decompress(src, kgo.CodecZstd)
	must.True(t, err == nil, "when it is free again: %v", err)
}

// However long a busy machine takes for a batch.
func TestABatchThatIsDecompressedIsProgress(t *testing.T) {
	m, ended := NewMemory(16<<20), make(chan error)
	m.large.Lock()
	go func() {
		_, err := m.NewRoom().Decompress(codec.Zstd(1).Append(nil, record(3<<20, 0)), kgo.CodecZstd)
		ended <- err
	}()
	for began := m.progress(); m.progress() < began+3; {
		runtime.Gosched()
	}
	m.large.Unlock()
	must.Do(t, <-ended)
	must.Match(t, m.progress(), m.progress(), "progress of nothing")
}
