package keystore

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/asn1"
	"errors"
	"hash"
	"math/big"
	"unicode/utf16"
)

// decryptPBE opens an encrypted PKCS8 key of the older form that every Java reads: SHA-1 and triple DES, as PKCS12 uses them
// (openssl pkcs8 -v1 PBE-SHA1-3DES). is reports whether it has that form.
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
	key, err = decryptCBC(block, derive(2, des.BlockSize, password, p.Salt, p.Rounds), info.Data)
	return key, true, err
}

// decryptPBES2 opens what is encrypted in the newer form: PBKDF2 and AES. is reports whether it has that form.
func decryptPBES2(der []byte, password string) (plain []byte, is bool, err error) {
	type algorithm struct {
		Name       asn1.ObjectIdentifier
		Parameters asn1.RawValue `asn1:"optional"`
	}
	var info struct {
		Algorithm struct {
			Name       asn1.ObjectIdentifier
			Parameters struct{ KDF, Cipher algorithm }
		}
		Data []byte
	}
	var kdf struct {
		Salt   []byte
		Rounds int
		Bytes  int       `asn1:"optional"`
		Hash   algorithm `asn1:"optional"`
	}
	var iv []byte
	pbes2 := asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	if _, err := asn1.Unmarshal(der, &info); err != nil || !info.Algorithm.Name.Equal(pbes2) {
		return nil, false, nil //nolint:nilerr // data of another form is read otherwise
	}
	p := info.Algorithm.Parameters
	_, err = asn1.Unmarshal(p.KDF.Parameters.FullBytes, &kdf)
	if err == nil {
		_, err = asn1.Unmarshal(p.Cipher.Parameters.FullBytes, &iv)
	}
	if err != nil || kdf.Rounds < 1 || kdf.Rounds > mostRounds || len(iv) != aes.BlockSize || len(info.Data) == 0 || len(info.Data)%aes.BlockSize != 0 {
		return nil, true, errors.New("it is damaged")
	}
	newHash, size := hashes[kdf.Hash.Name.String()], keySizes[p.Cipher.Name.String()]
	if newHash == nil || size == 0 {
		return nil, false, nil
	}
	key, err := pbkdf2.Key(newHash, password, kdf.Salt, kdf.Rounds, size)
	if err != nil {
		return nil, true, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, true, err
	}
	plain, err = decryptCBC(block, iv, info.Data)
	return plain, true, err
}

// hashes are the functions of PBKDF2 by their names in ASN.1. Without a name it is SHA-1.
var hashes = map[string]func() hash.Hash{
	"": sha1.New, "1.2.840.113549.2.7": sha1.New, "1.2.840.113549.2.9": sha256.New, "1.2.840.113549.2.11": sha512.New,
}

// keySizes are the bytes of the keys of AES-CBC, by their names in ASN.1.
var keySizes = map[string]int{"2.16.840.1.101.3.4.1.2": 16, "2.16.840.1.101.3.4.1.22": 24, "2.16.840.1.101.3.4.1.42": 32}

// decryptCBC decrypts whole blocks in place, and returns them without the padding.
func decryptCBC(block cipher.Block, iv, data []byte) ([]byte, error) {
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(data, data)
	pad := int(data[len(data)-1])
	if pad == 0 || pad > block.BlockSize() {
		return nil, errors.New("wrong padding")
	}
	return data[:len(data)-pad], nil
}

// derive is the function of RFC 7292, appendix B.2, with SHA-1. id is 1 for a key and 2 for the initial vector.
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
