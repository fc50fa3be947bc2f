package wire

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// MaxFrame is the longest payload of a message, in bytes.
const MaxFrame = 1 << 20

// FrameType is the type of a message. The user of the package assigns the values.
type FrameType byte

const (
	lengthSize = 4
	typeSize   = 1
	tagSize    = 16                 // of AES-GCM
	overhead   = typeSize + tagSize // of a sealed frame, beside its payload
)

// counter numbers the frames of one direction. Each direction has its own key, so no nonce is
// used twice with one key.
type counter struct {
	n     uint64
	nonce [12]byte
}

// next returns the nonce of the next frame, valid until the next call.
func (c *counter) next() []byte {
	binary.BigEndian.PutUint64(c.nonce[4:], c.n)
	c.n++
	return c.nonce[:]
}

// sealer makes the frames of one direction.
type sealer struct {
	seal   cipher.AEAD
	number counter
	frame  []byte // reused
}

// next returns the next frame: the length and the sealed bytes. It is valid until the next call.
func (s *sealer) next(typ FrameType, payload []byte) []byte {
	f := slices.Grow(s.frame[:0], lengthSize+overhead+len(payload))
	f = binary.BigEndian.AppendUint32(f, uint32(overhead+len(payload)))
	f = append(append(f, byte(typ)), payload...)
	sealed := s.seal.Seal(f[lengthSize:lengthSize], s.number.next(), f[lengthSize:], f[:lengthSize])
	s.frame = f[:lengthSize+len(sealed)]
	return s.frame
}

// opener reads the frames of one direction. After an interruption it goes on where it stopped.
type opener struct {
	seal   cipher.AEAD
	number counter
	max    int // bytes of a payload

	length    [lengthSize]byte
	hasLength int // bytes of it
	body      []byte
	hasBody   int // bytes of it
}

// next reads a frame. It returns errors of the reader unchanged, but io.ErrUnexpectedEOF for an
// end within a frame. It must not be called again after ErrTooLarge or ErrForged.
func (o *opener) next(r io.Reader) (FrameType, []byte, error) {
	if err := fill(r, o.length[:], &o.hasLength); err != nil {
		if errors.Is(err, io.EOF) && o.hasLength > 0 {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	if o.body == nil {
		o.hasBody = 0
		switch n := binary.BigEndian.Uint32(o.length[:]); {
		case uint64(n) > uint64(o.max)+overhead:
			o.hasLength = 0
			return 0, nil, fmt.Errorf("a frame of %d bytes: %w", n, ErrTooLarge)
		case n < overhead:
			o.hasLength = 0
			return 0, nil, fmt.Errorf("a frame of %d bytes: %w", n, ErrForged)
		default:
			o.body = make([]byte, n)
		}
	}
	if err := fill(r, o.body, &o.hasBody); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	plain, err := o.seal.Open(o.body[:0], o.number.next(), o.body, o.length[:])
	o.body, o.hasLength = nil, 0
	if err != nil {
		return 0, nil, fmt.Errorf("frame %d: %w", o.number.n-1, ErrForged)
	}
	return FrameType(plain[0]), plain[typeSize:], nil
}

// fill reads until the buffer is full. Unlike io.ReadFull it keeps the number of bytes in has, so
// that it can go on after an interruption.
func fill(r io.Reader, into []byte, has *int) error {
	for *has < len(into) {
		n, err := r.Read(into[*has:])
		*has += n
		if err != nil && *has < len(into) {
			return err
		}
	}
	return nil
}
