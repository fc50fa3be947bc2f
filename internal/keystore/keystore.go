package keystore

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"

	"github.com/kt-bench/kt/internal/secret"
)

// Trust returns the certificates of the authorities in a trust store. An empty password leaves the integrity of a JKS file
// unchecked, as Java does. A store without an authority is an error.
func Trust(data []byte, password secret.Text) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	var err error
	switch formatOf(data) {
	case jks:
		found, err = trustJKS(data, password)
	case pkcs12:
		found, err = trustPKCS12(data, password)
	case pemText:
		if found, err = certificatesPEM(data); err == nil {
			err = wholePEM(data)
		}
	default:
		return nil, errUnknownFormat
	}
	if err == nil && len(found) == 0 {
		err = errors.New("it has no trusted certificate: import the certificate of the authority with keytool -importcert")
	}
	return found, err
}

// Identity returns the private key in a key store, with its chain of certificates. The key has a password of its own in a JKS
// file and in an encrypted PEM block. An empty one means the password of the store.
func Identity(data []byte, store, key secret.Text) (tls.Certificate, error) {
	if key.Reveal() == "" {
		key = store
	}
	switch formatOf(data) {
	case jks:
		return identityJKS(data, store, key)
	case pkcs12:
		return identityPKCS12(data, store, key)
	case pemText:
		if err := wholePEM(data); err != nil {
			return tls.Certificate{}, err
		}
		return IdentityPEM(data, data, key)
	}
	return tls.Certificate{}, errUnknownFormat
}

var errUnknownFormat = errors.New("it is no PEM, JKS or PKCS12 file: name such a file, or convert it with keytool -importkeystore -deststoretype PKCS12")

// format is the kind of a store.
type format int

const (
	unknownFormat format = iota
	pemText
	jks
	pkcs12
)

// formatOf recognises a store by its first bytes.
func formatOf(data []byte) format {
	const sequence = 0x30 // of ASN.1, with which PKCS12 begins
	switch {
	case bytes.HasPrefix(data, []byte{0xfe, 0xed, 0xfe, 0xed}):
		return jks
	case len(data) > 0 && data[0] == sequence:
		return pkcs12
	case bytes.Contains(data, []byte("-----BEGIN ")):
		return pemText
	}
	return unknownFormat
}

// pair joins a key and its chain of certificates, in DER and with the key's own one first.
func pair(key any, chain [][]byte) (tls.Certificate, error) {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return tls.Certificate{}, fmt.Errorf("its private key is of type %T, which TLS cannot use: use an RSA, EC or Ed25519 key", key)
	}
	if len(chain) == 0 {
		return tls.Certificate{}, errors.New("its private key has no certificate: import the signed certificate beside the key")
	}
	leaf, err := x509.ParseCertificate(chain[0])
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read its certificate: %w", err)
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(leaf.PublicKey) {
		return tls.Certificate{}, errors.New("its private key and its first certificate do not belong together: put the key's own certificate first")
	}
	return tls.Certificate{Certificate: chain, PrivateKey: signer, Leaf: leaf}, nil
}

// mostRounds bounds the rounds that derive a key from a password. Java writes 10,000, OpenSSL up to some hundred thousand.
const mostRounds = 2_000_000

var (
	errTooMuchWork = errors.New("it asks for more than 2,000,000 rounds to derive a key: it is damaged; write it again")

	// Object identifiers of functions that derive a key: PBKDF2, those of PKCS12, and scrypt.
	pbkdf2Name = []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c}
	pkcs12PBE  = []byte{0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01}
	scrypt     = []byte{0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x04, 0x0b}
)

// checkWork refuses a file that asks for too many rounds, which stand behind the name of the function and a salt.
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
