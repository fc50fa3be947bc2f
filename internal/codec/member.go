package codec

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// A Member is some lines of a file, compressed: a zstd frame behind a skippable frame, which has the length of the other one
// and how many lines it holds. Programs that read zstd read a file of members as one text: zstd -dc FILE.
type Member struct {
	Mark  byte // the writer's, 0 to 15
	Lines int
	frame []byte
}

const (
	memberHead  = 16         // bytes of the skippable frame
	memberMagic = 0x184D2A50 // of the skippable frame, plus its mark
	maxMember   = 128 << 20  // bytes of text
)

// ErrMember is the error of bytes that should be a member and are none.
var ErrMember = errors.New("it is no member of a compressed file")

// memberDecoder is made when the process begins, because the fake time of one test cannot use what another one made.
var memberDecoder = func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxMember))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
}()

// Packer makes members. It is not safe for concurrent use.
type Packer struct{ encoder *zstd.Encoder }

// NewPacker returns a packer. With small, it takes five times as long, and a tenth less room.
func NewPacker(small bool) Packer {
	level := zstd.SpeedFastest
	if small {
		level = zstd.SpeedBetterCompression
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow),
		zstd.WithLowerEncoderMem(true), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return Packer{e}
}

// Append appends a member with whole lines.
func (p Packer) Append(dst, lines []byte, mark byte) []byte {
	head := len(dst)
	dst = p.encoder.EncodeAll(lines, append(dst, make([]byte, memberHead)...))
	for i, n := range [...]int{memberMagic + int(mark), memberHead - 8, len(dst) - head - memberHead, bytes.Count(lines, []byte("\n"))} {
		binary.LittleEndian.PutUint32(dst[head+4*i:], uint32(n))
	}
	return dst
}

// CutMember returns the member at the start of b, which it shares the memory of, and its size; size 0: b does not hold a whole
// one.
func CutMember(b []byte) (m Member, size int, err error) {
	if len(b) < memberHead {
		return m, 0, nil
	}
	length, lines := binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	if binary.LittleEndian.Uint32(b)&^0xf != memberMagic || binary.LittleEndian.Uint32(b[4:]) != memberHead-8 || length > maxMember || lines > maxMember {
		return m, 0, ErrMember
	}
	if size = memberHead + int(length); len(b) < size {
		return m, 0, nil
	}
	return Member{Mark: b[0] & 0xf, Lines: int(lines), frame: b[memberHead:size]}, size, nil
}

// Append appends the text of a member.
func (m *Member) Append(dst []byte) ([]byte, error) {
	from := len(dst)
	dst, err := memberDecoder.DecodeAll(m.frame, dst)
	if err == nil && (bytes.Count(dst[from:], []byte("\n")) != m.Lines || !bytes.HasSuffix(dst, []byte("\n"))) {
		err = ErrMember
	}
	return dst, err
}

// Unpack returns a reader of the content of a gzip or zstd file, which it knows by its first bytes; nil: it is neither. Close
// releases the memory of the reader, which is bounded for every file.
func Unpack(file []byte) (unpacked io.ReadCloser, how string, err error) {
	switch {
	case bytes.HasPrefix(file, []byte{0x1f, 0x8b}):
		unpacked, err = gzip.NewReader(bytes.NewReader(file))
		return unpacked, "gzip", err
	case bytes.HasPrefix(file, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d, err := zstd.NewReader(bytes.NewReader(file), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20)) // the largest without --long
		return d.IOReadCloser(), "zstd", err
	}
	return nil, "", nil
}
