package reading

import (
	"bytes"
	"errors"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/kafka"
)

// Room is where batches are decompressed, one after the other. Memory.NewRoom makes it.
type Room struct {
	memory  *Memory
	inner   [3]kgo.Decompressor // up to small, middle and all of the memory
	spare   []byte              // for small batches
	dst     []byte              // for the batch that is being decompressed
	shared  bool                // the last one lies in spare
	counted int64               // bytes of the memory that the last one takes
}

const (
	small  = 2 << 20   // the most bytes of a batch for which each room has memory
	middle = 32 << 20  // the most bytes of a batch for which all have memory together
	slack  = 256 << 10 // for decoders, which look at the bound behind each block: those of zstd have 128 KiB
)

var (
	_ kgo.Decompressor        = (*Room)(nil)
	_ kgo.PoolDecompressBytes = (*Room)(nil)
)

// NewRoom returns an empty room.
func (m *Memory) NewRoom() *Room {
	r := &Room{memory: m}
	for i, most := range []int64{small, middle, m.Most} {
		most = min(most, m.Most)
		r.inner[i] = kafka.Decompressor(int(most-min(slack, most/2)), r)
	}
	return r
}

// GetDecompressBytes returns the memory for a batch.
func (r *Room) GetDecompressBytes([]byte, kgo.CompressionCodecType) []byte { return r.dst[:0] }

// PutDecompressBytes is for memory that a decompressor has given up.
func (r *Room) PutDecompressBytes([]byte) {}

// Decompress returns ErrBusy, or kgo.ErrMaxDecompress, if there is not enough memory for a batch. What it returns may be overwritten
// by the next batch. A batch that is not small is decompressed while no other is, first into the memory of all rooms.
func (r *Room) Decompress(src []byte, c kgo.CompressionCodecType) (out []byte, err error) {
	if c == kgo.CodecNone {
		return src, nil
	}
	r.memory.working.Add(1)
	defer func() {
		if r.memory.working.Add(-1); err == nil { // one that is tried again is no progress
			r.memory.steps.Add(1)
		}
	}()
	if r.spare == nil {
		r.spare = make([]byte, small)
	}
	r.counted = 0
	out, err = r.into(r.spare, 0, src, c)
	if r.shared = !errors.Is(err, kgo.ErrMaxDecompress); r.shared {
		return out, err
	}
	m := r.memory
	m.large.Lock()
	defer m.large.Unlock()
	if m.scratch == nil {
		m.scratch = make([]byte, min(middle, m.Most))
	}
	switch out, err = r.into(m.scratch, 1, src, c); {
	case errors.Is(err, kgo.ErrMaxDecompress): // all of the memory may be enough
	case err != nil:
		return nil, err
	case !m.take(int64(len(out))):
		return nil, ErrBusy
	default:
		r.counted = int64(len(out))
		return m.keep(bytes.Clone(out), len(out)), nil
	}
	if !m.take(m.Most) {
		return nil, ErrBusy
	}
	r.counted = m.Most // what the batch leaves of it is memory too
	return r.into(m.keep(make([]byte, m.Most), int(m.Most)), 2, src, c)
}

// into decompresses a batch with one of the bounds.
func (r *Room) into(dst []byte, bound int, src []byte, c kgo.CompressionCodecType) ([]byte, error) {
	r.dst = dst
	defer func() { r.dst = nil }()
	out, err := r.inner[bound].Decompress(src, c)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) { // a decoder needs as much memory
		err = kgo.ErrMaxDecompress
	}
	return out, err
}
