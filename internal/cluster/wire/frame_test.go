package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"
)

// direction returns both ends of one direction of a stream, and of the other direction.
type direction struct {
	out   *sealer // of the side that dials
	in    *opener // of the side that listens
	back  *opener // of the side that dials
	other *sealer // of another stream between the same two
}

func newDirection(k *Key) direction {
	h, r := newHello(Version), newReply()
	there, back := seals(k, h, r)
	other, _ := seals(k, h, newReply())
	return direction{
		out: &sealer{seal: there}, in: &opener{seal: there, max: MaxFrame},
		back: &opener{seal: back, max: MaxFrame}, other: &sealer{seal: other},
	}
}

func (d direction) frame(typ FrameType, payload string) []byte {
	return bytes.Clone(d.out.next(typ, []byte(payload)))
}

func TestFramesComeAsTheyWereSent(t *testing.T) {
	d := newDirection(newKey())
	var stream []byte
	payloads := []string{"", "a", "hello", string(make([]byte, 70_000)), string(bytes.Repeat([]byte("x"), MaxFrame)), ""}
	for i, p := range payloads {
		stream = append(stream, d.frame(FrameType(i), p)...)
	}
	for _, reader := range []io.Reader{bytes.NewReader(stream), iotest.HalfReader(bytes.NewReader(stream)), iotest.DataErrReader(bytes.NewReader(stream))} {
		in := &opener{seal: d.in.seal, max: MaxFrame}
		for i, want := range payloads {
			typ, got, err := in.next(reader)
			if err != nil || typ != FrameType(i) || string(got) != want {
				t.Fatalf("frame %d: type %d, %d bytes, %v; want %d bytes", i, typ, len(got), err, len(want))
			}
		}
		if _, _, err := in.next(reader); !errors.Is(err, io.EOF) {
			t.Errorf("after the last frame: %v, want io.EOF", err)
		}
	}
}

func TestFramesThatAreNotTheNextOneAreRefused(t *testing.T) {
	for name, tamper := range map[string]func(d direction, a, b []byte) []byte{
		"repeated":              func(_ direction, a, _ []byte) []byte { return slices.Concat(a, a) },
		"left out":              func(_ direction, _, b []byte) []byte { return b },
		"of another stream":     func(d direction, _, _ []byte) []byte { return d.other.next(1, []byte("one")) },
		"shorter than a seal":   func(direction, []byte, []byte) []byte { return []byte{0, 0, 0, 16} },
		"empty":                 func(direction, []byte, []byte) []byte { return []byte{0, 0, 0, 0} },
		"swapped":               func(_ direction, a, b []byte) []byte { return slices.Concat(b, a) },
		"of all zeros":          func(direction, []byte, []byte) []byte { return append([]byte{0, 0, 0, 20}, make([]byte, 20)...) },
		"with a byte too much":  func(_ direction, a, _ []byte) []byte { a[3]++; return append(a, 0) },
		"with a byte too few":   func(_ direction, a, _ []byte) []byte { a[3]--; return a[:len(a)-1] },
		"the body of the other": func(_ direction, a, b []byte) []byte { return append(a[:4], b[4:]...) },
	} {
		d := newDirection(newKey())
		stream := bytes.NewReader(tamper(d, d.frame(1, "one"), d.frame(2, "two")))
		var err error
		frames := 0
		for ; err == nil; frames++ {
			_, _, err = d.in.next(stream)
		}
		if !errors.Is(err, ErrForged) {
			t.Errorf("%s: after %d frames %v, want ErrForged", name, frames-1, err)
		}
	}
}

func TestFramesSentBackAreRefused(t *testing.T) {
	d := newDirection(newKey())
	if _, _, err := d.back.next(bytes.NewReader(d.frame(1, "one"))); !errors.Is(err, ErrForged) {
		t.Errorf("a frame of its own was read with %v, want ErrForged", err)
	}
}

func TestLengthIsCheckedBeforeMemoryIsTaken(t *testing.T) {
	for _, n := range []uint32{MaxFrame + overhead + 1, 1 << 31, 1<<32 - 1} {
		d := newDirection(newKey())
		_, _, err := d.in.next(bytes.NewReader(binary.BigEndian.AppendUint32(nil, n)))
		if !errors.Is(err, ErrTooLarge) || d.in.body != nil {
			t.Errorf("length %d: %v, and %d bytes were taken; want ErrTooLarge and none", n, err, len(d.in.body))
		}
	}
}

func TestFrameCutAnywhereIsAnUnexpectedEnd(t *testing.T) {
	d := newDirection(newKey())
	frame := d.frame(1, "some message")
	for n := 1; n < len(frame); n++ {
		in := &opener{seal: d.in.seal, max: MaxFrame}
		if _, _, err := in.next(bytes.NewReader(frame[:n])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d of %d bytes: %v, want io.ErrUnexpectedEOF", n, len(frame), err)
		}
	}
}

func TestSealingAFrameAllocatesNothing(t *testing.T) {
	d := newDirection(newKey())
	payload := make([]byte, 10_000)
	d.out.next(1, payload)
	if n := testing.AllocsPerRun(100, func() { d.out.next(1, payload) }); n != 0 {
		t.Errorf("%v allocations a frame, want 0", n)
	}
}

// FuzzFrames reads changed streams.
//   - The reader never panics, and takes no more memory than a frame.
//   - The messages that it returns are the first ones that were sent.
//   - A changed stream ends with an error.
func FuzzFrames(f *testing.F) {
	k := &Key{secret: [32]byte{1}}
	h, r := hello{version: Version}, reply{version: Version}
	seal, _ := seals(k, h, r)
	out := sealer{seal: seal}
	payloads := []string{"one", "", "three and more"}
	var good []byte
	for i, p := range payloads {
		good = append(good, out.next(FrameType(i), []byte(p))...)
	}
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(good[24:])
	f.Add([]byte{0, 0, 0, 17})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0})
	f.Fuzz(func(t *testing.T, stream []byte) {
		in := opener{seal: seal, max: 1000}
		reader := bytes.NewReader(stream)
		for i := 0; ; i++ {
			typ, got, err := in.next(reader)
			if cap(in.body) > 1000+overhead+512 {
				t.Fatalf("%d bytes were taken for a frame", cap(in.body))
			}
			if err != nil {
				if errors.Is(err, io.EOF) && !bytes.HasPrefix(good, stream) {
					t.Fatalf("a stream that is not ours ended well after %d frames", i)
				}
				return
			}
			if i >= len(payloads) || typ != FrameType(i) || string(got) != payloads[i] {
				t.Fatalf("frame %d is type %d, %q: that was not sent", i, typ, got)
			}
		}
	})
}
