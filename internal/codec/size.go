package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// SnappySize, LZ4Size and ZstdSize return the most bytes that data decompresses to, as its framing says. They decompress
// nothing, and believe no announced size that the data cannot hold. Above most they return any size above it.

var errFraming = errors.New("malformed compressed data")

// SnappySize reads the framing of snappy-java, or one block without it.
func SnappySize(src []byte, most int) (total int, err error) {
	if len(src) <= len(snappyHeader) || !bytes.HasPrefix(src, snappyHeader[:8]) {
		return snappyBlockSize(src)
	}
	for src = src[len(snappyHeader):]; len(src) > 0 && total <= most; {
		if len(src) < 4 || uint64(binary.BigEndian.Uint32(src)) > uint64(len(src)-4) {
			return 0, errFraming
		}
		end := 4 + int(binary.BigEndian.Uint32(src))
		n, err := snappyBlockSize(src[4:end])
		if err != nil {
			return 0, err
		}
		total, src = total+n, src[end:]
	}
	return total, nil
}

func snappyBlockSize(block []byte) (int, error) {
	n, k := binary.Uvarint(block)
	if k <= 0 || n > 64*uint64(len(block)) { // a copy of 64 bytes takes more than one
		return 0, errFraming
	}
	return int(n), nil
}

// LZ4Size reads frames of LZ4.
func LZ4Size(src []byte, most int) (total int, err error) {
	for len(src) > 0 && total <= most {
		if len(src) < len(lz4Header) || !bytes.HasPrefix(src, lz4Header[:4]) {
			return 0, errFraming
		}
		flags, block := src[4], 1<<(8+2*(src[5]>>4&7)) // 64 KiB to 4 MiB
		head := len(lz4Header) + 8*int(flags>>3&1) + 4*int(flags&1)
		src = src[min(head, len(src)):]
		for {
			if len(src) < 4 {
				return 0, errFraming
			}
			size := binary.LittleEndian.Uint32(src)
			src = src[4:]
			if size == 0 {
				src = src[min(4*int(flags>>2&1), len(src)):] // the checksum of the content
				break
			}
			n := int(size &^ lz4Raw)
			if n > len(src) {
				return 0, errFraming
			}
			src = src[min(n+4*int(flags>>4&1), len(src)):]
			if size&lz4Raw == 0 {
				n *= 255
			}
			if total += min(n, block); total > most {
				return total, nil
			}
		}
	}
	return total, nil
}

const zstdBlock = 128 << 10

// ZstdSize reads frames of zstd. A frame with a window above most is too large too, because a decoder needs that memory.
func ZstdSize(src []byte, most int) (total int, err error) {
	for len(src) > 0 && total <= most {
		var h zstd.Header
		if err := h.Decode(src); err != nil {
			return 0, err
		}
		if src = src[h.HeaderSize:]; h.Skippable {
			src = src[min(int(h.SkippableSize), len(src)):]
			continue
		}
		if h.WindowSize > uint64(most) {
			return most + 1, nil
		}
		size, rest, err := zstdFrame(src)
		if err != nil {
			return 0, err
		}
		if h.HasFCS {
			size = int(min(uint64(size), h.FrameContentSize))
		}
		if total, src = total+size, rest; h.HasCheckSum {
			src = src[min(4, len(src)):]
		}
	}
	return total, nil
}

// zstdFrame returns the most bytes of the blocks of a frame, and the bytes behind them.
func zstdFrame(src []byte) (total int, rest []byte, err error) {
	for last := false; !last; {
		if len(src) < 3 {
			return 0, nil, errFraming
		}
		head := int(src[0]) | int(src[1])<<8 | int(src[2])<<16
		last = head&1 != 0
		n, size := head>>3, head>>3
		switch head >> 1 & 3 {
		case 1: // one byte, so often
			n = 1
		case 2: // compressed
			size = zstdBlock
		}
		if src = src[3:]; n > len(src) || size > zstdBlock {
			return 0, nil, errFraming
		}
		total, src = total+size, src[n:]
	}
	return total, src, nil
}

var gunzips = sync.Pool{New: func() any { return new(gzip.Reader) }}

// GzipSize returns the size that the end of gzip data announces. It is a guess: there may be several parts, or a lie.
func GzipSize(src []byte) int {
	if len(src) < 4 {
		return 0
	}
	return int(min(uint64(binary.LittleEndian.Uint32(src[len(src)-4:])), 1032*uint64(len(src)))) // deflate makes no more of a byte
}

// Gunzip decompresses gzip data into dst, and returns its size. What does not fit is only counted, up to one above most.
func Gunzip(dst, src []byte, most int) (n int, err error) {
	z := gunzips.Get().(*gzip.Reader)
	defer gunzips.Put(z)
	if err := z.Reset(bytes.NewReader(src)); err != nil {
		return 0, err
	}
	for n < len(dst) {
		k, err := z.Read(dst[n:])
		n += k
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
	}
	beyond, err := io.Copy(io.Discard, io.LimitReader(z, int64(most-n)+1))
	return n + int(beyond), err
}
