package keystore

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	keystore "github.com/pavlo-v-chernykh/keystore-go/v4"

	"github.com/kt-bench/kt/internal/secret"
)

// openJKS reads a JKS file.
func openJKS(data []byte, password secret.Text) (keystore.KeyStore, error) {
	ks := keystore.New(keystore.WithOrderedAliases())
	if !intact(data) {
		return ks, errors.New("the JKS file is damaged: its end is missing, or it was changed by a text tool; copy it again")
	}
	err := ks.Load(bytes.NewReader(data), []byte(password.Reveal()))
	switch {
	case err == nil:
		return ks, nil
	case strings.Contains(err.Error(), "invalid digest") && password.Reveal() == "":
		return ks, nil // the entries are read; only their integrity is unknown, as in Java
	case strings.Contains(err.Error(), "invalid digest"):
		return ks, errors.New("the JKS file does not open with this password: check the password of the store")
	}
	return ks, fmt.Errorf("read the JKS file: %w", err)
}

func trustJKS(data []byte, password secret.Text) ([]*x509.Certificate, error) {
	ks, err := openJKS(data, password)
	if err != nil {
		return nil, err
	}
	var found []*x509.Certificate
	for _, alias := range ks.Aliases() {
		if !ks.IsTrustedCertificateEntry(alias) {
			continue
		}
		entry, err := ks.GetTrustedCertificateEntry(alias)
		if err != nil {
			return nil, fmt.Errorf("read the certificate %q: %w", alias, err)
		}
		c, err := x509.ParseCertificate(entry.Certificate.Content)
		if err != nil {
			return nil, fmt.Errorf("read the certificate %q: %w", alias, err)
		}
		found = append(found, c)
	}
	return found, nil
}

// identityJKS returns the first private key by name. Java takes any that fits.
func identityJKS(data []byte, store, key secret.Text) (tls.Certificate, error) {
	ks, err := openJKS(data, store)
	if err != nil {
		return tls.Certificate{}, err
	}
	aliases := ks.Aliases()
	at := slices.IndexFunc(aliases, ks.IsPrivateKeyEntry)
	if at < 0 {
		return tls.Certificate{}, errNoKey
	}
	entry, err := ks.GetPrivateKeyEntry(aliases[at], []byte(key.Reveal()))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("the private key %q does not open with this password: check ssl.key.password", aliases[at])
	}
	private, err := x509.ParsePKCS8PrivateKey(entry.PrivateKey)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read the private key %q: %w", aliases[at], err)
	}
	var chain [][]byte
	for _, c := range entry.CertificateChain {
		chain = append(chain, c.Content)
	}
	return pair(private, chain)
}

var errNoKey = errors.New("it has no private key: name a key store, and not a trust store")

// intact reports whether all lengths in a JKS file lie within it: the library allocates what a damaged one says.
func intact(data []byte) bool {
	w := walk{rest: data}
	w.skip(4) // magic
	version, entries := w.uint32(), w.uint32()
	certificate := func() {
		if version != 1 {
			w.skip(uint32(w.uint16()))
		}
		w.skip(w.uint32())
	}
	for range entries {
		const key = 1
		kind := w.uint32()
		w.skip(uint32(w.uint16())) // name
		w.skip(8)                  // date
		if kind != key {
			certificate()
		} else {
			w.skip(w.uint32())
			for range w.uint32() {
				if certificate(); w.short {
					return false
				}
			}
		}
		if w.short {
			return false
		}
	}
	const digest = 20
	w.skip(digest)
	return !w.short
}

// walk steps through bytes, and remembers when they are too few.
type walk struct {
	rest  []byte
	short bool
}

func (w *walk) skip(n uint32) []byte {
	if w.short || uint64(n) > uint64(len(w.rest)) {
		w.short = true
		return make([]byte, 8) // zeros, for a number
	}
	head := w.rest[:n]
	w.rest = w.rest[n:]
	return head
}

func (w *walk) uint32() uint32 { return binary.BigEndian.Uint32(w.skip(4)) }
func (w *walk) uint16() uint16 { return binary.BigEndian.Uint16(w.skip(2)) }
