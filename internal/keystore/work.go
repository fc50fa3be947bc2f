package keystore

import (
	"bytes"
	"encoding/asn1"
	"errors"
)

// mostRounds bounds the rounds that derive a key from a password. Java writes 10,000, OpenSSL up
// to some hundred thousand. A damaged file may ask for hours.
const mostRounds = 2_000_000

var (
	errTooMuchWork = errors.New("it asks for more than 2,000,000 rounds to derive a key: it is damaged; write it again")

	// Object identifiers of functions that derive a key: PBKDF2, those of PKCS12, and scrypt.
	pbkdf2Name = []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c}
	pkcs12PBE  = []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01}
	scrypt     = []byte{0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x04, 0x0b}
)

// checkWork refuses a file that asks for too many rounds to derive a key. The libraries would
// work through them. The parameters stand behind the name of the function: a salt and a number.
func checkWork(der []byte) error {
	if bytes.Contains(der, scrypt) {
		return errors.New("its key is derived by scrypt, which Java cannot read either: convert it with openssl pkcs8 -topk8 -v2 aes256")
	}
	for _, function := range [][]byte{pbkdf2Name, pkcs12PBE} {
		for rest := der; ; {
			_, after, found := bytes.Cut(rest, function)
			if !found {
				break
			}
			if rounds(after) > mostRounds {
				return errTooMuchWork
			}
			rest = after
		}
	}
	var file struct {
		Version  int
		Contents asn1.RawValue
		MAC      struct {
			Digest asn1.RawValue
			Salt   []byte
			Rounds int64 `asn1:"optional,default:1"`
		} `asn1:"optional"`
	}
	if _, err := asn1.Unmarshal(der, &file); err == nil && file.MAC.Rounds > mostRounds {
		return errTooMuchWork
	}
	return nil
}

// rounds returns the number behind the salt that follows the name of a function; 0: none does.
func rounds(after []byte) int64 {
	const last = 8 // bytes from the function's name, with that of its variant, to its salt
	for i := 0; i < min(last, len(after)); i++ {
		var salt []byte
		rest, err := asn1.Unmarshal(after[i:], &salt)
		if err != nil {
			continue
		}
		var n int64
		if _, err := asn1.Unmarshal(rest, &n); err == nil {
			return n
		}
		return mostRounds + 1
	}
	return 0
}
