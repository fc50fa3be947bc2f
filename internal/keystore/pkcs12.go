package keystore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	p12 "software.sslmate.com/src/go-pkcs12"

	"github.com/kt-bench/kt/internal/secret"
)

func trustPKCS12(data []byte, password secret.Text) (found []*x509.Certificate, err error) {
	defer damaged(&err)
	if err := checkWork(data); err != nil {
		return nil, err
	}
	found, err = p12.DecodeTrustStore(data, password.Reveal())
	switch {
	case err == nil:
		return found, nil
	case strings.Contains(err.Error(), "not marked as trusted"):
		return nil, errors.New("it has a certificate that is not marked as trusted, which Java ignores too: import it with keytool -importcert instead of openssl")
	case strings.Contains(err.Error(), "only certificate bags"), strings.Contains(err.Error(), "exactly"):
		return nil, errors.New("it holds a private key, so it is a key store: name a trust store, with certificates of authorities alone")
	}
	return nil, explainPKCS12(err)
}

func identityPKCS12(data []byte, store, key secret.Text) (_ tls.Certificate, err error) {
	defer damaged(&err)
	if err := checkWork(data); err != nil {
		return tls.Certificate{}, err
	}
	private, leaf, chain, err := p12.DecodeChain(data, store.Reveal())
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "private key missing"):
		return tls.Certificate{}, errNoKey
	case errors.Is(err, p12.ErrDecryption) && store.Reveal() != key.Reveal():
		return tls.Certificate{}, errors.New("its key has another password than the store, which no PKCS12 file of keytool has: write it again with one password")
	default:
		return tls.Certificate{}, explainPKCS12(err)
	}
	ders := [][]byte{leaf.Raw}
	for _, c := range chain {
		ders = append(ders, c.Raw)
	}
	return pair(private, ders)
}

// explainPKCS12 says in the words of a user what is wrong with a PKCS12 file.
func explainPKCS12(err error) error {
	var unknown p12.NotImplementedError
	switch {
	case errors.Is(err, p12.ErrIncorrectPassword), errors.Is(err, p12.ErrDecryption):
		return errors.New("the PKCS12 file does not open with this password: check the password of the store")
	case errors.As(err, &unknown):
		return fmt.Errorf("the PKCS12 file has a form that kt cannot read (%w): write it again with keytool -importkeystore -deststoretype PKCS12", err)
	}
	return fmt.Errorf("read the PKCS12 file: %w", err)
}

// damaged turns a panic into an error. The libraries trust lengths inside encrypted data, which
// cannot be checked from outside.
func damaged(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("it is damaged (%v): write it again", cause)
	}
}
