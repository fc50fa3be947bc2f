package payload

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
)

// Values are the contents of a run's records. They are made once, and all producers read
// them.
type Values struct {
	pool  []byte   // random bytes that generated values are cut from
	lines [][]byte // of a payload file, or made by a template
}

const (
	// poolSize is the least size of the pool that values are cut from, one after the
	// other. It is far above batch.size, so that no batch holds the same bytes twice and
	// compresses better than the payload is meant to.
	poolSize = 1 << 20

	// poolRecords is the least number of largest records in the pool.
	poolRecords = 4

	// blockSize is the number of bytes of which a Mixed payload has its share of constant
	// bytes, or one byte more or less, so that all blocks together have it.
	blockSize = 64

	// maxPayloadFile and maxPayloads bound the memory of a payload file: the slices of its
	// payloads take 96 MiB more.
	maxPayloadFile = 256 << 20
	maxPayloads    = 4 << 20
)

// MakeValues makes the contents of the plan's records. For a payload file and a
// template it also completes the plan with their mean and largest payload.
func MakeValues(p *plan.Plan) (*Values, error) {
	rng := rand.New(rand.NewPCG(uint64(p.Seed), 0))
	switch p.Payload.Kind {
	case plan.Monotonic:
		return &Values{}, nil
	case plan.File:
		return readLines(&p.Payload)
	case plan.Template:
		return fillTemplate(&p.Payload, rng)
	}
	pool := make([]byte, max(poolSize, poolRecords*p.Payload.Size.Max()))
	var eight [8]byte // made at once, with one random number
	for at := 0; at < len(pool); at += len(eight) {
		bits := rng.Uint64()
		if p.Payload.Kind == plan.Mixed {
			binary.LittleEndian.PutUint64(eight[:], bits)
		} else { // letters A to Z, as Kafka's own tool has them; a codec compresses them to about 60 %
			for i := range eight {
				eight[i] = byte('A' + bits%26)
				bits /= 26
			}
		}
		copy(pool[at:], eight[:])
	}
	if p.Payload.Kind == plan.Mixed {
		constant := func(blocks int) int { return int(p.Payload.Compressibility*blockSize*float64(blocks) + 0.5) } // bytes of them all
		for i := range (len(pool) + blockSize - 1) / blockSize {
			block := pool[i*blockSize : min((i+1)*blockSize, len(pool))]
			clear(block[:min(constant(i+1)-constant(i), len(block))])
		}
	}
	return &Values{pool: pool}, nil
}

// readFile returns the content of a payload file, unpacked, if neither has more bytes than limit.
func readFile(path string, limit int64) ([]byte, error) {
	data, err := input.Read(path, limit)
	if err != nil {
		return nil, err
	}
	unpacked, how, err := codec.Unpack(data)
	if how == "" {
		return data, nil
	}
	if err == nil {
		defer func() { _ = unpacked.Close() }() // it was only read
		data, err = input.ReadAll(unpacked, limit)
	}
	if err != nil {
		return nil, fmt.Errorf("unpacked by %s: %w", how, err)
	}
	return data, nil
}

// byteOrderMark is how editors on Windows begin a file.
var byteOrderMark = []byte("\xef\xbb\xbf")

func readLines(p *plan.Payload) (*Values, error) {
	data, err := readFile(p.File, maxPayloadFile)
	if errors.Is(err, input.ErrTooLong) {
		err = fmt.Errorf("%w: a sample of it will do", err)
	}
	if err != nil {
		return nil, fmt.Errorf("--payload-file %s: %w", p.File, err)
	}
	v := &Values{}
	total := 0
	if !p.Whole {
		data = bytes.TrimPrefix(data, byteOrderMark)
	}
	lines := bytes.SplitSeq(data, []byte(cmp.Or(p.Delimiter, "\n")))
	if p.Whole {
		lines = slices.Values([][]byte{data})
	}
	for line := range lines {
		if p.Delimiter == "" && !p.Whole {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		if len(line) == 0 {
			continue // a file ends with a delimiter
		}
		if len(v.lines) == maxPayloads {
			return nil, fmt.Errorf("--payload-file %s: it holds more than %d payloads: a sample of them will do", p.File, maxPayloads)
		}
		v.lines = append(v.lines, line)
		total += len(line)
		p.FileMax = max(p.FileMax, len(line))
	}
	if len(v.lines) == 0 {
		return nil, fmt.Errorf("--payload-file %s: it holds no payload", p.File)
	}
	p.FileMean = float64(total) / float64(len(v.lines))
	return v, nil
}

// Memory is for the bytes of one record's key and value. Fill reuses it.
type Memory struct{ key, value []byte } // nil until a number, or a payload behind a stamp, is written

// Generator gives one producer its keys and values, one record after the other. It
// allocates nothing.
type Generator struct {
	plan.Payload
	values *Values
	zipf   *plan.Zipf // of keys; nil: they have no such law
	fixed  int        // the size of every record; 0: drawn
	at     int        // into the pool
	rng    *rand.Rand
	shard  int64 // this producer and how many there are: record i of the
	shards int64 // shard is record i*shards+shard of the run
	stamp  int   // room for a stamp at the head of a value: the value is the record's own then
}

// Generator returns the generator of producer number shard of all shards of the load.
func (v *Values) Generator(p plan.Plan, shard, shards int) *Generator {
	rng := rand.New(rand.NewPCG(uint64(p.Seed), uint64(shard)+1))
	s := &Generator{Payload: p.Payload, values: v, rng: rng, zipf: p.Payload.ZipfKeys(), shard: int64(shard), shards: int64(shards)}
	if s.Stamp {
		s.stamp = plan.StampBytes
	}
	if len(v.pool) > 0 {
		if s.Size.Fixed() {
			s.fixed = s.Size.Max()
		}
		s.at = rng.IntN(len(v.pool))
	}
	return s
}

// Fill returns the key, nil without one, and the value of this producer's record with an index. Both may lie
// in m, until m is used again.
func (s *Generator) Fill(m *Memory, index int64) (key, value []byte) {
	number := index*s.shards + s.shard
	switch s.Kind {
	case plan.Monotonic:
		m.value = strconv.AppendInt(s.head(m), number, 10)
		value = m.value
	case plan.File, plan.Template:
		line := s.values.lines[s.rng.IntN(len(s.values.lines))]
		if s.Whole {
			line = line[min(s.stamp, len(line)):]
		}
		value = s.own(m, line)
	default:
		value = s.cut()
		if s.stamp > 0 {
			value = s.own(m, value[min(s.stamp, len(value)):]) // it keeps its size
		}
	}
	switch s.Keys {
	case plan.RangeKeys:
		m.key = strconv.AppendInt(m.key[:0], number%s.KeyRange, 10)
		key = m.key
	case plan.RandomKeys:
		m.key = strconv.AppendInt(m.key[:0], s.rng.Int64N(s.KeyRange), 10)
		key = m.key
	default:
		if s.zipf != nil {
			m.key = strconv.AppendInt(m.key[:0], s.zipf.Draw(s.rng), 10)
			key = m.key
		}
	}
	return key, value
}

// Busiest returns 1 for the key that is most frequent by its law, which is 0, and 0 for others and where there is no such law.
func (s *Generator) Busiest(key []byte) int {
	if s.zipf != nil && len(key) == 1 && key[0] == '0' {
		return 1
	}
	return 0
}

// head returns the record's own memory, with room for a stamp at its beginning.
func (s *Generator) head(m *Memory) []byte {
	return append(m.value[:0], noStamp[:s.stamp]...)
}

var noStamp [plan.StampBytes]byte

// own returns a value with an empty stamp and a copy of the payload; without stamps the payload itself.
func (s *Generator) own(m *Memory, payload []byte) []byte {
	if s.stamp == 0 {
		return payload
	}
	m.value = append(s.head(m), payload...)
	return m.value
}

// cut returns the next value from the pool, whose memory values share.
func (s *Generator) cut() []byte {
	size := s.fixed
	if size == 0 {
		size = s.Size.Draw(s.rng)
	}
	if s.at+size > len(s.values.pool) {
		// Each round starts at another byte, so that no two have the same values.
		s.at = s.rng.IntN(len(s.values.pool) - size + 1)
	}
	v := s.values.pool[s.at : s.at+size : s.at+size]
	s.at += size
	return v
}
