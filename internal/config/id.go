package config

import (
	"crypto/rand"
	"encoding/hex"
)

// randomID is 16 hexadecimal digits that nobody else has.
func randomID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
