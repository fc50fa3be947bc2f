package wire

import "hash/crc32"

// castagnoli is the table of CRC-32C, which processors compute by themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// shift is a number of bytes that a checksum is moved by, as a polynomial: x^(8n) modulo CRC-32C's, with its
// bits reversed.
type shift uint32

// shiftBy returns the shift by n bytes. The method is zlib's (crc32_combine_gen).
func shiftBy(n int) shift {
	result, power := shift(1<<31), shift(1<<23) // x^0 and x^8
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = multiply(result, power)
		}
		power = multiply(power, power)
	}
	return result
}

// multiply returns the product of two polynomials modulo that of CRC-32C.
func multiply(a, b shift) (product shift) {
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			product ^= b
		}
		low := b & 1
		b = b>>1 ^ -low&crc32.Castagnoli
	}
	return product
}

// join returns the checksum of two byte strings, one after the other, from the checksums of both and the length
// of the second. It costs the same for all lengths (BenchmarkChecksum): so the records of a batch are summed up once, and
// not each time that the batch is sent.
func join(first, second uint32, length shift) uint32 {
	return uint32(multiply(length, shift(first))) ^ second
}
