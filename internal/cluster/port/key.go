package port

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"strings"
	"syscall"
	"time"
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

// ParseKey parses the text of a key. Its errors leave out the text, which may be a key with a typing error.
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

// Text returns the text of the key, for ParseKey. All other ways of formatting hide the key.
func (k Key) Text() string { return encoding.EncodeToString(k.secret[:]) }

// Format writes a placeholder for every verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// String returns a placeholder.
func (k Key) String() string { return "key (hidden)" }

// Derive returns a key for another purpose. Nobody can compute this key from it, or the keys for other purposes.
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

// isPrivate reports whether only its owner, or the group of a file of root as in Kubernetes, has access to a file.
func isPrivate(mode fs.FileMode, ofRoot bool) bool {
	if ofRoot {
		mode &^= 0o040
	}
	return mode&0o077 == 0
}

// Protocols of connections, as ALPN names them. They end with Version.
const (
	HTTP   = "kt-http/" + Version   // HTTP/2
	Gossip = "kt-gossip/" + Version // memberlist's TCP connections

	// Version is the version of all protocols. Both sides must have the same.
	Version = "2"

	generic  = "h2"         // HTTP/2 of a generic client, such as curl
	versions = "kt-version" // the listening side sends its Version; the same in all versions of kt
)

// serverName is the name in the certificate, for generic clients that check it.
const serverName = "kt"

// identity is the certificate and private key that all owners of a key have.
type identity struct {
	private ed25519.PrivateKey
	der     []byte // the certificate
}

// newIdentity returns the identity of a key. nil stands for the well-known one.
func newIdentity(k *Key) identity {
	if k == nil { // no secret, so it is only used between processes of one machine
		k = &Key{secret: sha256.Sum256([]byte("kt without a key, on one machine only"))}
	}
	seed := k.Derive("identity of a port")
	private := ed25519.NewKeyFromSeed(seed[:])
	// Every field is fixed, so all owners have the same certificate. It never expires: clocks may be wrong.
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: serverName},
		DNSNames:              []string{serverName},
		NotBefore:             time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:              time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(nil, template, template, private.Public(), private)
	if err != nil {
		panic("port: " + err.Error()) // only of the template, which is constant
	}
	return identity{private: private, der: der}
}

// has reports whether the other side proved that it owns this identity.
func (i identity) has(s tls.ConnectionState) bool {
	if len(s.PeerCertificates) == 0 {
		return false
	}
	theirs, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	return ok && subtle.ConstantTimeCompare(theirs, i.private.Public().(ed25519.PublicKey)) == 1
}

// config returns the TLS settings of both sides. heard gets every state before it is compared; it may be nil.
func (i identity) config(heard func(tls.ConnectionState)) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{{Certificate: [][]byte{i.der}, PrivateKey: i.private}},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // the public key is compared, which is stricter
		SessionTicketsDisabled: true, // a resumed session would have less forward secrecy
		VerifyConnection: func(s tls.ConnectionState) error {
			if heard != nil {
				heard(s)
			}
			if !i.has(s) {
				return errStranger
			}
			return nil
		},
	}
}

// PEM returns the certificate, which is its own authority for the name "kt", and the private key.
func (k Key) PEM() []byte {
	i := newIdentity(&k)
	private, err := x509.MarshalPKCS8PrivateKey(i.private)
	if err != nil {
		panic("port: " + err.Error()) // only of the type of the key, which is constant
	}
	return append(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...,
	)
}
