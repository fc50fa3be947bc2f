package reading

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// A batch of a few KB may decompress to gigabytes, and every writer of a topic can write one. So a run bounds all that it has
// decompressed, and passes over a batch that alone is larger. Memory counts until it is collected: garbage takes memory too,
// and franz-go may drop an answer without returning its memory.

// Memory bounds the memory for decompressed batches of a run. NewMemory makes it.
type Memory struct {
	Most int64 // bytes at once

	working atomic.Int64 // batches that are being decompressed
	steps   atomic.Int64 // see progress

	large   sync.Mutex // held while a batch that is not small is decompressed
	scratch []byte     // for such batches

	turn sync.Mutex // held by take: callers wait in order, so that a large batch gets its turn

	mu    sync.Mutex // guards the rest
	used  int64
	freed chan struct{} // closed: some was freed
}

// ErrBusy is the error of a batch for which no memory is free now. It may be fetched again.
var ErrBusy = errors.New("no memory to decompress a batch")

const (
	mostMemory = 256 << 20
	patience   = 100 * time.Millisecond // for others to free memory
	respite    = 20 * time.Millisecond  // in which a client that had none does not wait again: else each batch of an answer would wait
)

// NewMemory returns the memory of a run: a quarter of the usable bytes, and 256 MiB at most. usable is 0 if it is not known.
func NewMemory(usable int64) *Memory {
	m := &Memory{Most: mostMemory, freed: make(chan struct{})}
	if usable > 0 {
		m.Most = min(m.Most, usable/4)
	}
	return m
}

func (m *Memory) take(n int64) bool {
	m.turn.Lock()
	defer m.turn.Unlock()
	for end := time.Now().Add(patience); ; {
		m.mu.Lock()
		freed, ok := m.freed, m.used+n <= m.Most
		if ok {
			m.used += n
		}
		m.mu.Unlock()
		if ok || time.Now().After(end) {
			return ok
		}
		runtime.GC()
		select {
		case <-freed:
		case <-time.After(patience / 5):
		}
	}
}

// progress returns a number that each call raises while a batch is decompressed, which may take longer than a reader waits.
func (m *Memory) progress() int64 {
	if m.working.Load() > 0 {
		m.steps.Add(1)
	}
	return m.steps.Load()
}

// keep counts n bytes that were taken until b is collected.
func (m *Memory) keep(b []byte, n int) []byte {
	if n > 0 {
		runtime.AddCleanup(&b[:1][0], func(n int64) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.used -= n
			close(m.freed)
			m.freed = make(chan struct{})
		}, int64(n))
	}
	return b
}

// ClientOptions returns the options of a client of franz-go that reads.
func (m *Memory) ClientOptions() []kgo.Opt {
	d := &clientDecompressor{memory: m}
	d.rooms.New = func() any { return m.NewRoom() }
	return []kgo.Opt{kgo.WithPools(RecordPool), kgo.WithDecompressor(d)}
}

const maxTooLarge = 16

// PassOver counts a batch that is too large to read, with the records at the offsets [from, to), and names the first ones.
func (d *State) PassOver(s *engine.Shard, topic string, partition int32, from, to int64) {
	s.Record(func(rec *stats.Recorder, phase int) { rec.FetchFailed(phase, "client:BATCH_TOO_LARGE") })
	if n := d.passed.Add(1); n <= maxTooLarge {
		text := fmt.Sprintf("partition %d of topic %s: the batch at offset %d is too large to read (kt decompresses %s at most): reading goes on at offset %d",
			partition, topic, from, theme.Bytes(d.Memory.Most), to)
		if n == maxTooLarge {
			text += "; further ones are only counted"
		}
		s.Event(stats.Event{Kind: stats.TooLarge, Broker: -1, To: -1, Partitions: []int32{partition}, Count: 1, Text: text})
	}
}

// clientDecompressor decompresses for a client, which makes a kgo.Record of each record of a batch at once.
type clientDecompressor struct {
	memory *Memory
	rooms  sync.Pool
	busy   atomic.Int64 // the end of a respite
}

// Decompress returns ErrBusy, or kgo.ErrMaxDecompress, if there is not enough memory for a batch and its records.
func (d *clientDecompressor) Decompress(src []byte, c kgo.CompressionCodecType) (out []byte, err error) {
	if c == kgo.CodecNone {
		return src, nil
	}
	if time.Now().UnixNano() < d.busy.Load() {
		return nil, ErrBusy
	}
	r := d.rooms.Get().(*Room)
	defer d.rooms.Put(r)
	out, err = r.Decompress(src, c)
	if err == nil {
		out, err = d.own(r, out)
	}
	if errors.Is(err, ErrBusy) {
		d.busy.Store(time.Now().Add(respite).UnixNano())
	}
	return out, err
}

// own returns memory of the batch alone, which counts with the records in it.
func (d *clientDecompressor) own(r *Room, b []byte) ([]byte, error) {
	n := weigh(b) + int64(len(b))
	if n > d.memory.Most {
		return nil, kgo.ErrMaxDecompress
	}
	n = max(0, n-r.counted)
	switch {
	case len(b) == 0:
		return nil, nil
	case !d.memory.take(n):
		return nil, ErrBusy
	case r.shared:
		b = bytes.Clone(b)
	}
	return d.memory.keep(b, int(n)), nil
}

// weigh returns the bytes that franz-go takes for the records of a batch.
func weigh(b []byte) (n int64) {
	for len(b) > 0 {
		record, rest := field(b)
		n += int64(unsafe.Sizeof(kgo.Record{}) + unsafe.Sizeof(&kgo.Record{}))
		if len(record) > 0 {
			record = record[1:] // attributes
		}
		_, k := binary.Varint(record)
		record = record[max(k, 0):]
		_, k = binary.Varint(record)
		_, record = field(record[max(k, 0):]) // the key
		_, record = field(record)
		headers, _ := binary.Varint(record)
		n += min(max(headers, 0), int64(len(record))) * int64(unsafe.Sizeof(kgo.RecordHeader{}))
		b = rest
	}
	return n
}

func field(b []byte) (body, rest []byte) {
	n, k := binary.Varint(b)
	if k <= 0 || n > int64(len(b)-k) {
		return nil, nil
	}
	end := k + int(max(n, 0))
	return b[k:end], b[end:]
}

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

func (r *Room) into(dst []byte, bound int, src []byte, c kgo.CompressionCodecType) ([]byte, error) {
	r.dst = dst
	defer func() { r.dst = nil }()
	out, err := r.inner[bound].Decompress(src, c)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) { // a decoder needs as much memory
		err = kgo.ErrMaxDecompress
	}
	return out, err
}
