package wire

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strings"
)

// Key is the secret that the kts of one network share.
type Key struct{ secret [32]byte }

// NewKey draws a key.
func NewKey() Key {
	var k Key
	_, _ = rand.Read(k.secret[:]) // never fails: it ends the program instead
	return k
}

// encoding refuses what encodes the same key in another way.
var encoding = base64.StdEncoding.Strict()

// ParseKey reads what Text writes; space around it is ignored. Its errors do not show
// the text, which may be a key with a slip in it.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	var k Key
	if len(text) != encoding.EncodedLen(len(k.secret)) {
		return Key{}, fmt.Errorf("a key is one line of %d characters, as kt keygen writes it", encoding.EncodedLen(len(k.secret)))
	}
	secret, err := encoding.DecodeString(text)
	if err != nil || len(secret) != len(k.secret) { // fewer, when there are line breaks within
		return Key{}, fmt.Errorf("a key is %d bytes in base64, as kt keygen writes it", len(k.secret))
	}
	copy(k.secret[:], secret)
	return k, nil
}

// Text returns the key for ParseKey. It is a method of its own, so that no key is printed by
// accident: formatted in any other way, a key does not show.
func (k Key) Text() string { return encoding.EncodeToString(k.secret[:]) }

// Format writes that here is a key, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// String returns a word in place of the key, so that no key is printed by accident.
func (k Key) String() string { return "key (hidden)" }

// Derive makes a key of its own for another purpose: it tells nothing of this one, or of
// those for other purposes.
func (k Key) Derive(purpose string) [32]byte {
	return derive(k, nil, "kt "+purpose)
}

// derive is HKDF-SHA256.
func derive(k Key, salt []byte, info string) [32]byte {
	out, err := hkdf.Key(sha256.New, k.secret[:], salt, info, 32)
	if err != nil {
		panic("wire: " + err.Error()) // only of lengths, which are constant
	}
	return [32]byte(out)
}

// maxKeyFile is the most bytes that a key file may have: room for space around the key.
const maxKeyFile = 4096

// ReadKey reads a key from an open file or pipe that only its owner may use. Errors leave out
// its name.
func ReadKey(f *os.File) (Key, error) {
	info, err := f.Stat()
	if err != nil {
		return Key{}, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return Key{}, fmt.Errorf("others than its owner may use it (mode %04o): chmod 600 %s", mode, f.Name())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return Key{}, err
	}
	if len(text) > maxKeyFile {
		return Key{}, fmt.Errorf("it is over %d bytes long; make a key with kt keygen", maxKeyFile)
	}
	return ParseKey(string(text))
}

// nobodys returns the key of those who have none. Everybody knows it; so it is only used
// where both ends are one machine.
func nobodys() *Key {
	return &Key{secret: sha256.Sum256([]byte("kt without a key, on one machine only"))}
}
