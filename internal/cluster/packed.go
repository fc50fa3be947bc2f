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
	// A second of one process is some 20 KiB of JSON, most of it histograms, and packs to
	// less than half in an eighth of a millisecond.
	packAbove = 2 << 10

	// maxMessage is the most bytes of a message's JSON, unless its kind has more.
	maxMessage = 64 << 10

	// maxElements is the most values in a message: a list of windows takes two bytes of JSON
	// each, and 704 in memory. A listing of maxListed files has 18,000 values.
	maxElements = 50_000
)

// What kinds of messages may have more than maxMessage bytes, by the field that is set.
var (
	largeToAgent = map[string]int{"offer": maxOffer}
	// A second of 1,000 brokers, a listing of maxListed files, and 1,000 agents with all tags.
	largeFromAgent = map[string]int{"second": 4 << 20, "part": maxHeader + maxMessage, "vitals": 256 << 10, "files": 1 << 20, "looked": 1 << 20}
)

// most returns how many bytes a message may have that begins like this.
func most(text []byte, large map[string]int) int {
	rest, ok := bytes.CutPrefix(text, []byte(`{"`))
	typ, _, ended := bytes.Cut(rest[:min(len(rest), 32)], []byte(`":`))
	if n := large[string(typ)]; ok && ended && n > 0 {
		return n
	}
	return maxMessage
}

// packers are kept, for each holds more than half a megabyte.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // there is no such level
	}
	return w
}}

// send writes one message, packed when that pays. What cannot be written as JSON is a
// mistake of kt's own.
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
		panic(err) // a buffer takes everything
	}
	return packed.Bytes()
}

// unpack returns the JSON of a message, which is short enough to be decoded. large are the
// kinds that may have more than maxMessage bytes. No more is unpacked than a message of its
// kind may have.
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

// elements is at least how many values a text of JSON has.
func elements(text []byte) int { return bytes.Count(text, []byte(",")) + 1 }

// receive reads the next message of an agent.
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
