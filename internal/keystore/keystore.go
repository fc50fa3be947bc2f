package keystore

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/kt-bench/kt/internal/secret"
)

// Trust returns the certificates of the authorities in a trust store. An empty password leaves
// the integrity of a JKS file unchecked, as Java does. A store without an authority is an error.
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

// Identity returns the private key in a key store, with its chain of certificates. The key has a
// password of its own in a JKS file and in an encrypted PEM block. An empty one means the
// password of the store.
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
