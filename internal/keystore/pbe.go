package keystore

import (
	"bytes"
	"crypto/cipher"
	"crypto/des"
	"crypto/sha1"
	"encoding/asn1"
	"errors"
	"math/big"
	"unicode/utf16"
)

// decryptPBE opens an encrypted PKCS8 key of the older form that every Java reads: SHA-1 and triple
// DES, as PKCS12 uses them (openssl pkcs8 -v1 PBE-SHA1-3DES). is reports whether it has that form.
func decryptPBE(der []byte, password string) (key []byte, is bool, err error) {
	var info struct {
		Algorithm struct {
			Name       asn1.ObjectIdentifier
			Parameters struct {
				Salt   []byte
				Rounds int
			}
		}
		Data []byte
	}
	tripleDES := asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 1, 3}
	if _, err := asn1.Unmarshal(der, &info); err != nil || !info.Algorithm.Name.Equal(tripleDES) {
		return nil, false, nil //nolint:nilerr // data of another form is read otherwise
	}
	p := info.Algorithm.Parameters
	if p.Rounds < 1 || p.Rounds > mostRounds || len(p.Salt) == 0 || len(info.Data) == 0 || len(info.Data)%des.BlockSize != 0 {
		return nil, true, errors.New("it is damaged")
	}
	block, err := des.NewTripleDESCipher(derive(1, 24, password, p.Salt, p.Rounds))
	if err != nil {
		return nil, true, err
	}
	cipher.NewCBCDecrypter(block, derive(2, des.BlockSize, password, p.Salt, p.Rounds)).CryptBlocks(info.Data, info.Data)
	pad := int(info.Data[len(info.Data)-1])
	if pad == 0 || pad > des.BlockSize {
		return nil, true, errors.New("wrong padding")
	}
	return info.Data[:len(info.Data)-pad], true, nil
}

// derive is the function of RFC 7292, appendix B.2, with SHA-1. id is 1 for a key and 2 for the
// initial vector.
func derive(id byte, size int, password string, salt []byte, rounds int) []byte {
	const blockSize = 64 // of SHA-1
	var wide []byte
	for _, unit := range append(utf16.Encode([]rune(password)), 0) {
		wide = append(wide, byte(unit>>8), byte(unit))
	}
	input := append(fill(salt, blockSize), fill(wide, blockSize)...)
	var out []byte
	for len(out) < size {
		sum := sha1.Sum(append(bytes.Repeat([]byte{id}, blockSize), input...))
		for range rounds - 1 {
			sum = sha1.Sum(sum[:])
		}
		out = append(out, sum[:]...)
		addend := new(big.Int).Add(new(big.Int).SetBytes(fill(sum[:], blockSize)[:blockSize]), big.NewInt(1))
		modulus := new(big.Int).Lsh(big.NewInt(1), 8*blockSize)
		for at := 0; at < len(input); at += blockSize {
			part := input[at : at+blockSize]
			next := new(big.Int).Add(new(big.Int).SetBytes(part), addend)
			next.Mod(next, modulus).FillBytes(part)
		}
	}
	return out[:size]
}

// fill repeats bytes up to a multiple of a size.
func fill(pattern []byte, size int) []byte {
	n := (len(pattern) + size - 1) / size * size
	return bytes.Repeat(pattern, n/len(pattern)+1)[:n]
}
