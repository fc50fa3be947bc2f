package wire

import (
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
)

// Errors for errors.Is.
var (
	// ErrTooLarge: a message, or the length of a frame, is over MaxFrame.
	ErrTooLarge = errors.New("message too large")
	// ErrClosed: one side or the network has ended the stream.
	ErrClosed = errors.New("the stream is closed")
)

// writer makes the frames of one direction.
type writer struct{ frame []byte } // reused

// next returns the next frame. It is valid until the next call.
func (w *writer) next(typ FrameType, payload []byte) []byte {
	f := slices.Grow(w.frame[:0], lengthSize+typeSize+len(payload))
	f = binary.BigEndian.AppendUint32(f, uint32(typeSize+len(payload)))
	w.frame = append(append(f, byte(typ)), payload...)
	return w.frame
}

// reader reads the frames of one direction. After an interruption it goes on where it stopped.
type reader struct {
	length    [lengthSize]byte
	hasLength int // bytes of it
	body      []byte
	hasBody   int // bytes of it
}

// next reads a frame. It returns errors of the reader unchanged, but io.ErrUnexpectedEOF for an
// end within a frame. It must not be called again after ErrTooLarge.
func (o *reader) next(r io.Reader) (FrameType, []byte, error) {
	if err := fill(r, o.length[:], &o.hasLength); err != nil {
		if errors.Is(err, io.EOF) && o.hasLength > 0 {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	if o.body == nil {
		o.hasBody = 0
		n := binary.BigEndian.Uint32(o.length[:])
		if n < typeSize || n > MaxFrame+typeSize {
			o.hasLength = 0
			return 0, nil, fmt.Errorf("a frame of %d bytes: %w", n, ErrTooLarge)
		}
		o.body = make([]byte, n)
	}
	if err := fill(r, o.body, &o.hasBody); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	plain := o.body
	o.body, o.hasLength = nil, 0
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
