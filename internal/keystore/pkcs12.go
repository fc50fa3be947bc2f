package keystore

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
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
	if err == nil {
		return found, nil
	}
	text := err.Error()
	foreign := strings.Contains(text, "not marked as trusted")
	if !foreign && !strings.Contains(text, "only certificate bags") && !strings.Contains(text, "exactly") {
		return nil, explainPKCS12(err)
	}
	// It opens, and holds more than certificates of authorities. Java takes these, and ignores the rest.
	found, err = trustedPKCS12(data, password.Reveal())
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the PKCS12 file: %w", err)
	case len(found) > 0:
		return found, nil
	case foreign:
		return nil, errors.New("its certificates are not marked as trusted, so Java ignores them too: import that of the authority with keytool -importcert instead of openssl")
	}
	return nil, errors.New("it holds a private key and no certificate of an authority, so it is a key store: name a trust store, or import the certificate with keytool -importcert")
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
	return pair(private, chainOf(private, append([]*x509.Certificate{leaf}, chain...)))
}

// chainOf returns the certificate of a key and those of its issuers, out of all that are in a file: their order there means
// nothing, and some may be of other authorities.
func chainOf(key any, all []*x509.Certificate) (ders [][]byte) {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	next := func(c *x509.Certificate) bool { return ok && public.Equal(c.PublicKey) }
	for at := slices.IndexFunc(all, next); at >= 0; at = slices.IndexFunc(all, next) {
		last := all[at]
		ders = append(ders, last.Raw)
		all = slices.Delete(all, at, at+1)
		next = func(c *x509.Certificate) bool { // signatures are the broker's to check
			sameKey := len(last.AuthorityKeyId) == 0 || len(c.SubjectKeyId) == 0 || bytes.Equal(last.AuthorityKeyId, c.SubjectKeyId)
			return bytes.Equal(last.RawIssuer, c.RawSubject) && sameKey
		}
	}
	return ders
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

// damaged turns a panic into an error: the libraries trust lengths inside encrypted data.
func damaged(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("it is damaged (%v): write it again", cause)
	}
}

// These are names of RFC 7292, and the attribute by which Java marks the certificate of an authority.
var (
	dataContent     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	encryptedData   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 6}
	certificateBag  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 3}
	trustedKeyUsage = asn1.ObjectIdentifier{2, 16, 840, 1, 113894, 746875, 1, 1}
)

// content is a ContentInfo: data, or encrypted data.
type content struct {
	Type asn1.ObjectIdentifier
	Data asn1.RawValue `asn1:"explicit,tag:0"`
}

// bag is a certificate or a key with its attributes.
type bag struct {
	Type       asn1.ObjectIdentifier
	Value      asn1.RawValue `asn1:"explicit,tag:0"`
	Attributes []struct {
		Name   asn1.ObjectIdentifier
		Values asn1.RawValue
	} `asn1:"set,optional"`
}

// trusted reports whether Java takes the certificate for that of an authority.
func (b bag) trusted() bool {
	for _, a := range b.Attributes {
		if a.Name.Equal(trustedKeyUsage) {
			return b.Type.Equal(certificateBag)
		}
	}
	return false
}

// trustedPKCS12 returns the certificates that Java takes for those of authorities, of a PKCS12 file that holds keys and other
// certificates too. The library reads no attributes of such a file. It has checked the password before.
func trustedPKCS12(data []byte, password string) ([]*x509.Certificate, error) {
	var file struct {
		Version  int
		Contents content
		MAC      asn1.RawValue `asn1:"optional"`
	}
	var safes []byte
	var contents []content
	_, err := asn1.Unmarshal(data, &file)
	if err == nil {
		_, err = asn1.Unmarshal(file.Contents.Data.Bytes, &safes)
	}
	if err == nil {
		_, err = asn1.Unmarshal(safes, &contents)
	}
	if err != nil {
		return nil, err
	}
	var found []*x509.Certificate
	for _, c := range contents {
		bags, err := c.bags(password)
		if err != nil {
			return nil, err
		}
		for _, b := range bags {
			if !b.trusted() {
				continue
			}
			var value struct {
				Type asn1.ObjectIdentifier
				Data []byte `asn1:"explicit,tag:0"`
			}
			if _, err := asn1.Unmarshal(b.Value.Bytes, &value); err != nil {
				return nil, err
			}
			certificate, err := x509.ParseCertificate(value.Data)
			if err != nil {
				return nil, err
			}
			found = append(found, certificate)
		}
	}
	return found, nil
}

// bags decrypts a content.
func (c content) bags(password string) (all []bag, err error) {
	var plain []byte
	switch {
	case c.Type.Equal(dataContent):
		_, err = asn1.Unmarshal(c.Data.Bytes, &plain)
	case c.Type.Equal(encryptedData):
		plain, err = decryptContent(c.Data.Bytes, password)
	default:
		err = errors.New("it has a content that is neither data nor encrypted data")
	}
	if err == nil {
		_, err = asn1.Unmarshal(plain, &all)
	}
	return all, err
}

// decryptContent opens an EncryptedData.
func decryptContent(der []byte, password string) ([]byte, error) {
	var encrypted struct {
		Version int
		Info    struct {
			Type      asn1.ObjectIdentifier
			Algorithm asn1.RawValue
			Data      []byte `asn1:"tag:0"`
		}
	}
	if _, err := asn1.Unmarshal(der, &encrypted); err != nil {
		return nil, err
	}
	// An encrypted key has the same parts.
	der, err := asn1.Marshal(struct {
		Algorithm asn1.RawValue
		Data      []byte
	}{encrypted.Info.Algorithm, encrypted.Info.Data})
	if err != nil {
		return nil, err
	}
	for _, decrypt := range []func([]byte, string) ([]byte, bool, error){decryptPBES2, decryptPBE} {
		if plain, is, err := decrypt(der, password); is {
			return plain, err
		}
	}
	return nil, errOldEncryption
}

var errOldEncryption = errors.New("its certificates are encrypted in an old way, and kt reads that only in a file without a key: write it again with keytool -importkeystore -deststoretype PKCS12")
