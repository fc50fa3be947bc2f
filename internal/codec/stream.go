package codec

import (
	"bytes"
	"compress/gzip"
	"io"

	"github.com/klauspost/compress/zstd"
)

// streamWindow holds several seconds of a usual run file. It bounds the memory of both sides.
const streamWindow = 256 << 10

// StreamName is the name of the compression of a [StreamWriter] in HTTP.
const StreamName = "zstd"

// StreamWriter compresses a stream. What was written before a Flush helps to
// compress what comes after it.
type StreamWriter = zstd.Encoder

// NewStreamWriter returns a writer that compresses to w. Close completes the stream and leaves w open.
func NewStreamWriter(w io.Writer) (*StreamWriter, error) {
	return zstd.NewWriter(w,
		zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithEncoderConcurrency(1), // no goroutine, and nothing is kept back after a Flush
		zstd.WithWindowSize(streamWindow),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderCRC(false), // TLS has one
		zstd.WithAllLitEntropyCompression(true),
	)
}

// NewStreamReader returns a reader of what a StreamWriter writes to r. It returns bytes as soon as
// they were flushed, and takes no more memory than its window. Close releases that.
func NewStreamReader(r io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(streamWindow),
	)
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
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
