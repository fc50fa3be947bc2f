package keystore

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/youmark/pkcs8"

	"github.com/kt-bench/kt/internal/secret"
)

// certificatesPEM returns the certificates of a PEM text, in their order.
func certificatesPEM(data []byte) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for _, block := range blocks(data) {
		if block.Type != "CERTIFICATE" && block.Type != "TRUSTED CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read certificate %d of the PEM text: %w", len(found)+1, err)
		}
		found = append(found, c)
	}
	return found, nil
}

// wholePEM returns an error for a PEM text whose last block has no end, as that of a file that is half written.
func wholePEM(data []byte) error {
	if bytes.LastIndex(data, []byte("-----BEGIN ")) > bytes.LastIndex(data, []byte("-----END ")) {
		return errors.New("its PEM text ends within a block: add the line that begins with -----END")
	}
	return nil
}

// IdentityPEM returns the first private key of one PEM text with the certificates of another, which may be the same. The
// password is that of an encrypted key.
func IdentityPEM(key, chain []byte, password secret.Text) (tls.Certificate, error) {
	private, err := keyPEM(key, password)
	if err != nil {
		return tls.Certificate{}, err
	}
	var ders [][]byte
	for _, block := range blocks(chain) {
		if block.Type == "CERTIFICATE" {
			ders = append(ders, block.Bytes)
		}
	}
	return pair(private, ders)
}

// keyPEM returns the first private key of a PEM text.
func keyPEM(data []byte, password secret.Text) (any, error) {
	for _, block := range blocks(data) {
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue
		}
		var key any
		var err error
		switch {
		case block.Headers["DEK-Info"] != "":
			return nil, errors.New("its private key is encrypted in OpenSSL's old form: convert it with openssl pkcs8 -topk8")
		case block.Type == "ENCRYPTED PRIVATE KEY":
			return decryptKey(block.Bytes, password)
		case block.Type == "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case block.Type == "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		default:
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		}
		if err != nil {
			return nil, fmt.Errorf("read the private key of the PEM text: %w", err)
		}
		return key, nil
	}
	return nil, errors.New("its PEM text has no private key: add the block that begins with -----BEGIN PRIVATE KEY-----")
}

// decryptKey reads an encrypted PKCS8 key. The library tells a wrong password from a broken file by chance only.
func decryptKey(der []byte, password secret.Text) (key any, err error) {
	defer damaged(&err)
	if password.Reveal() == "" {
		return nil, errors.New("its private key is encrypted: give ssl.key.password")
	}
	if err := checkWork(der); err != nil {
		return nil, err
	}
	if plain, older, err := decryptPBE(der, password.Reveal()); older {
		if err == nil {
			key, err = x509.ParsePKCS8PrivateKey(plain)
		}
		if err != nil {
			return nil, errWrongKeyPassword
		}
		return key, nil
	}
	key, err = pkcs8.ParsePKCS8PrivateKey(der, []byte(password.Reveal()))
	switch {
	case err == nil:
		return key, nil
	case strings.Contains(err.Error(), "unsupported"), strings.Contains(err.Error(), "only PBES2"), strings.Contains(err.Error(), "only PKCS #5"):
		return nil, fmt.Errorf("its private key is encrypted in a way that kt cannot read (%w): convert it with openssl pkcs8 -topk8 -v2 aes256", err)
	}
	return nil, errWrongKeyPassword
}

var errWrongKeyPassword = errors.New("its private key does not open with this password: check ssl.key.password")

// blocks returns the blocks of a PEM text. Java joins lines of inline PEM with spaces, so it is taken apart first.
func blocks(data []byte) []*pem.Block {
	var all []*pem.Block
	rest := []byte(unfold(string(data)))
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return all
		}
		all = append(all, block)
	}
}

// unfold puts the marks of PEM blocks on lines of their own, and the base64 text between them.
func unfold(text string) string {
	var out strings.Builder
	for part := range strings.SplitSeq(text, "-----") {
		switch {
		case strings.HasPrefix(part, "BEGIN "), strings.HasPrefix(part, "END "):
			out.WriteString("\n-----" + part + "-----\n")
		case strings.Contains(part, ": "): // headers have spaces that count
			out.WriteString(part)
		default:
			out.WriteString(strings.Join(strings.Fields(part), "\n"))
		}
	}
	return out.String()
}
