package codec

import (
	"encoding/binary"
	"math/bits"
)

func load32(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }

func load64(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// trailingBytes returns how many low bytes of x are zero.
func trailingBytes(x uint64) int { return bits.TrailingZeros64(x) / 8 }
