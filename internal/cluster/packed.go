package cluster

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/kt-bench/kt/internal/cluster/wire"
)

const (
	// Longer messages are packed. A second of one process is about 20 KiB of JSON, mostly
	// histograms, and packs to less than half in an eighth of a millisecond.
	packAbove = 2 << 10

	// maxMessage bounds the JSON of a message in bytes. Some kinds have larger bounds.
	maxMessage = 64 << 10

	// maxElements bounds the values in a message, because an empty window takes two bytes of JSON
	// and 704 bytes of memory. A listing of maxListed files has 18,000 values.
	maxElements = 50_000
)

// Bounds in bytes of the kinds of messages that may exceed maxMessage, by the field that is set.
var (
	largeToAgent = map[string]int{"offer": maxOffer}
	// Enough for a second of 1,000 brokers, a listing of maxListed files, and 1,000 agents with
	// all their tags.
	largeFromAgent = map[string]int{"second": 4 << 20, "part": maxHeader + maxMessage, "vitals": 256 << 10, "files": 1 << 20, "looked": 1 << 20}
)

// most returns the bound in bytes of a message, by the field with which its text begins.
func most(text []byte, large map[string]int) int {
	rest, ok := bytes.CutPrefix(text, []byte(`{"`))
	typ, _, ended := bytes.Cut(rest[:min(len(rest), 32)], []byte(`":`))
	if n := large[string(typ)]; ok && ended && n > 0 {
		return n
	}
	return maxMessage
}

// packers are reused, because each holds more than half a megabyte.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // there is no such level
	}
	return w
}}

// send sends one message, packed if it is longer than packAbove.
func send(ctx context.Context, s stream, m any) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	if len(b) <= packAbove {
		return s.Send(ctx, frameJSON, b)
	}
	return s.Send(ctx, framePacked, pack(b))
}

func pack(b []byte) []byte {
	var packed bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&packed)
	_, err := w.Write(b)
	if err := errors.Join(err, w.Close()); err != nil {
		panic(err) // writing to a buffer cannot fail
	}
	return packed.Bytes()
}

// unpack returns the JSON of a message, or an error if it exceeds the bounds for its kind. It
// never unpacks more bytes than the bound. large are the bounds of the kinds that may exceed
// maxMessage.
func unpack(typ wire.FrameType, b []byte, large map[string]int) ([]byte, error) {
	switch typ {
	case frameJSON:
	case framePacked:
		in := flate.NewReader(bytes.NewReader(b))
		text, err := io.ReadAll(io.LimitReader(in, maxMessage+1))
		if n := most(text, large); err == nil && len(text) > maxMessage && n > maxMessage {
			var more []byte
			more, err = io.ReadAll(io.LimitReader(in, int64(n-maxMessage)))
			text = append(text, more...)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errProtocol, err)
		}
		b = text
	default:
		return nil, fmt.Errorf("%w: frame type %d", errProtocol, typ)
	}
	if n := most(b, large); len(b) > n {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", errProtocol, n)
	}
	if elements(b) > maxElements {
		return nil, fmt.Errorf("%w: it has more than %d values", errProtocol, maxElements)
	}
	return b, nil
}

// elements counts the commas of a JSON text, and so bounds the elements of any one list in it.
func elements(text []byte) int { return bytes.Count(text, []byte(",")) + 1 }

func receive(ctx context.Context, s stream) (*fromAgent, error) {
	typ, b, err := s.Receive(ctx)
	if err != nil {
		return nil, err
	}
	return readFromAgent(typ, b)
}

func readFromAgent(typ wire.FrameType, b []byte) (*fromAgent, error) {
	text, err := unpack(typ, b, largeFromAgent)
	if err != nil {
		return nil, err
	}
	return decodeFromAgent(text)
}
