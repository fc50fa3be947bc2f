package codec

import (
	"bytes"
	"compress/gzip"
	"io"

	"github.com/klauspost/compress/zstd"
)

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
