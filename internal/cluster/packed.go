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
	// What a message may unpack to: far above any, and little to hold in memory.
	maxUnpacked = 8 << 20
)

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
		return s.Send(ctx, kindJSON, b)
	}
	return s.Send(ctx, kindPacked, pack(b))
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

// unpack is the JSON of a message.
func unpack(kind wire.Kind, b []byte) ([]byte, error) {
	switch kind {
	case kindJSON:
		return b, nil
	case kindPacked:
		text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), maxUnpacked+1))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errProtocol, err)
		}
		if len(text) > maxUnpacked {
			return nil, fmt.Errorf("%w: it is longer than %d bytes", errProtocol, maxUnpacked)
		}
		return text, nil
	}
	return nil, fmt.Errorf("%w: kind %d", errProtocol, kind)
}

// receive reads the next message of an agent.
func receive(ctx context.Context, s stream) (*fromAgent, error) {
	kind, b, err := s.Receive(ctx)
	if err != nil {
		return nil, err
	}
	return readFromAgent(kind, b)
}

func readFromAgent(kind wire.Kind, b []byte) (*fromAgent, error) {
	text, err := unpack(kind, b)
	if err != nil {
		return nil, err
	}
	return decodeFromAgent(text)
}
