package port

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Key is the secret that the kts of one network share.
type Key struct{ secret [32]byte }

// NewKey returns a random key.
func NewKey() Key {
	var k Key
	_, _ = rand.Read(k.secret[:]) // cannot fail
	return k
}

// encoding is strict, so that each key has one text only.
var encoding = base64.StdEncoding.Strict()

// ParseKey parses the text of a key and ignores space around it. Its errors leave out the text,
// which may be a key with a typing error.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	var k Key
	if len(text) != encoding.EncodedLen(len(k.secret)) {
		return Key{}, fmt.Errorf("a key is one line of %d characters, as kt keygen writes it", encoding.EncodedLen(len(k.secret)))
	}
	secret, err := encoding.DecodeString(text)
	if err != nil || len(secret) != len(k.secret) { // fewer bytes if there are line breaks
		return Key{}, fmt.Errorf("a key is %d bytes in base64, as kt keygen writes it", len(k.secret))
	}
	copy(k.secret[:], secret)
	return k, nil
}

// Text returns the text of the key, for ParseKey. All other ways of formatting hide the key, so
// that it is not printed by accident.
func (k Key) Text() string { return encoding.EncodeToString(k.secret[:]) }

// Format writes a placeholder for every verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// String returns a placeholder.
func (k Key) String() string { return "key (hidden)" }

// Derive returns a key for another purpose. Nobody can compute this key from it, or the keys for
// other purposes.
func (k Key) Derive(purpose string) [32]byte {
	out, err := hkdf.Key(sha256.New, k.secret[:], nil, "kt "+purpose, 32)
	if err != nil {
		panic("port: " + err.Error()) // only of lengths, which are constant
	}
	return [32]byte(out)
}

// maxKeyFile bounds a key file in bytes, with slack for space around the key.
const maxKeyFile = 4096

// ReadKey reads a key from an open file or pipe, which must be private.
func ReadKey(f *os.File) (Key, error) {
	info, err := f.Stat()
	if err != nil {
		return Key{}, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if mode := info.Mode().Perm(); !isPrivate(mode, ok && stat.Uid == 0) {
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

// isPrivate reports whether only its owner has access to a file. The group of a file of root may read
// it too: that is how Kubernetes gives a Secret to a user that is not root.
func isPrivate(mode fs.FileMode, ofRoot bool) bool {
	if ofRoot {
		mode &^= 0o040
	}
	return mode&0o077 == 0
}
