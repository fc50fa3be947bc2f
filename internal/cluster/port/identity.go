package port

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"time"
)

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

// open returns the key of kts without a key. It is no secret, so it is only used between
// processes of one machine.
func open() *Key {
	return &Key{secret: sha256.Sum256([]byte("kt without a key, on one machine only"))}
}

// identity is the certificate and private key that all owners of a key have.
type identity struct {
	private ed25519.PrivateKey
	der     []byte // the certificate
}

// newIdentity returns the identity of a key. nil stands for the well-known one.
func newIdentity(k *Key) identity {
	if k == nil {
		k = open()
	}
	seed := k.Derive("identity of a port")
	private := ed25519.NewKeyFromSeed(seed[:])
	// Every field is fixed, and so is an Ed25519 signature: all owners have the same certificate.
	// It never expires, because clocks of hosts may be wrong.
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

// config returns the TLS settings that both sides have in common. The certificate of the other
// side is not verified but compared: verify gets every state, and its error ends the handshake.
func (i identity) config(verify func(tls.ConnectionState) error) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{{Certificate: [][]byte{i.der}, PrivateKey: i.private}},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // verify compares the public key, which is stricter
		VerifyConnection:       verify,
		SessionTicketsDisabled: true, // a resumed session would have less forward secrecy
	}
}

var errStranger = errors.New("it has another key, or none")

// verifyPeer refuses peers without the identity.
func (i identity) verifyPeer(s tls.ConnectionState) error {
	if !i.has(s) {
		return errStranger
	}
	return nil
}

// PEM returns the certificate and the private key of this key's identity, for generic clients.
// The certificate is its own authority, for the name "kt".
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
