package reading

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/codec"
)

// Room is where batches are decompressed, one after the other. Memory.NewRoom makes it.
type Room struct {
	memory *Memory
	inner  kgo.Decompressor
	spare  []byte // for small batches
	dst    []byte // for the batch that is being decompressed
	shared bool   // the last one lies in spare
}

const (
	small = 2 << 20 // the most bytes of a batch for which memory is used again
	slack = 1 << 10 // for decoders, which write behind the end
)

var (
	_ kgo.Decompressor        = (*Room)(nil)
	_ kgo.PoolDecompressBytes = (*Room)(nil)
)

// NewRoom returns an empty room.
func (m *Memory) NewRoom() *Room {
	r := &Room{memory: m}
	r.inner = kgo.DefaultDecompressor(r)
	return r
}

// GetDecompressBytes returns the memory for a batch.
func (r *Room) GetDecompressBytes([]byte, kgo.CompressionCodecType) []byte { return r.dst[:0] }

// PutDecompressBytes is for memory that a decompressor has given up.
func (r *Room) PutDecompressBytes([]byte) {}

// Decompress returns ErrBusy, or kgo.ErrMaxDecompress, if there is not enough memory for a batch. What it returns may be overwritten by the next
// batch.
func (r *Room) Decompress(src []byte, c kgo.CompressionCodecType) (out []byte, err error) {
	defer func() { r.dst = nil }()
	n, most := 0, int(r.memory.Most)-slack
	switch c {
	case kgo.CodecNone:
		return src, nil
	case kgo.CodecGzip:
		return r.gunzip(src, most)
	case kgo.CodecSnappy:
		n, err = codec.SnappySize(src, most)
	case kgo.CodecLz4:
		n, err = codec.LZ4Size(src, most)
	case kgo.CodecZstd:
		n, err = codec.ZstdSize(src, most)
	}
	if err == nil {
		err = r.reserve(n, most)
	}
	if err != nil {
		return nil, err
	}
	return r.inner.Decompress(src, c)
}

// gunzip tries the size that the data announces, and then the one that it has.
func (r *Room) gunzip(src []byte, most int) ([]byte, error) {
	for n := min(codec.GzipSize(src), most); ; {
		if err := r.reserve(n, most); err != nil {
			return nil, err
		}
		size, err := codec.Gunzip(r.dst[:n], src, most)
		if err != nil || size <= n {
			return r.dst[:size], err
		}
		n = size
	}
}

// reserve makes room for n bytes.
func (r *Room) reserve(n, most int) error {
	r.shared = n <= small
	switch {
	case n > most:
		return kgo.ErrMaxDecompress
	case r.shared && n+slack > len(r.spare):
		r.spare = make([]byte, max(n, min(2*len(r.spare), small))+slack)
		fallthrough
	case r.shared:
		r.dst = r.spare
		return nil
	}
	if r.dst = nil; !r.memory.take(int64(n + slack)) {
		return ErrBusy
	}
	r.dst = make([]byte, n+slack)
	r.memory.hold(r.dst, int64(len(r.dst)))
	return nil
}
