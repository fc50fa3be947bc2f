package keystore

import (
	"crypto/x509"
	"encoding/asn1"
	"errors"
)

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

// certificate reads the certificate in a bag.
func (b bag) certificate() (*x509.Certificate, error) {
	var value struct {
		Type asn1.ObjectIdentifier
		Data []byte `asn1:"explicit,tag:0"`
	}
	if _, err := asn1.Unmarshal(b.Value.Bytes, &value); err != nil {
		return nil, err
	}
	return x509.ParseCertificate(value.Data)
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
			certificate, err := b.certificate()
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
