package keystore

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/secret"
)

// The files in testdata were written by keytool and openssl. Stores have the password storepass,
// keys in a JKS file and in encrypted PEM keypass1.
var store, key = secret.New("storepass"), secret.New("keypass1")

func read(t testing.TB, name string) []byte {
	t.Helper()
	return must.Have(os.ReadFile(filepath.Join("testdata", name)))(t)
}

func TestTrustIsReadFromEveryFormat(t *testing.T) {
	for _, name := range []string{"ca.pem", "trust.jks", "trust.p12"} {
		found, err := Trust(read(t, name), store)
		must.True(t, err == nil && len(found) == 1 && found[0].Subject.CommonName == "kt test authority", "%s: %v, %v", name, found, err)
	}
	found, err := Trust(read(t, "trust.jks"), secret.Text{})
	must.True(t, err == nil && len(found) == 1, "a JKS file without a password: %v, %v", found, err)
}

func TestAnIdentityIsReadFromEveryFormat(t *testing.T) {
	for _, r := range []struct {
		name       string
		store, key secret.Text
	}{
		{"client.jks", store, key},
		{"client.p12", store, secret.Text{}},
		{"client.p12", store, store},
		{"pkcs8.pem", secret.Text{}, secret.Text{}},
		{"sec1.pem", secret.Text{}, secret.Text{}},
		{"rsa.pem", secret.Text{}, secret.Text{}},
		{"encrypted.pem", secret.Text{}, key},
		{"encrypted_v1.pem", secret.Text{}, key},
	} {
		found, err := Identity(read(t, r.name), r.store, r.key)
		must.True(t, err == nil && found.Leaf != nil && found.Leaf.Subject.CommonName == "client", "%s: %v", r.name, err)
	}
}

// Both hold the authority "kt test authority" and a key with a chain. keytool wrote both.p12 with the authority first, and
// both_old.p12 in the encryption of Java 8. openssl wrote openssl.p12, which marks no authority.
func TestAPKCS12FileMayHoldAuthoritiesAndAKey(t *testing.T) {
	if found, err := Trust(read(t, "both.p12"), store); err != nil || len(found) != 1 || found[0].Subject.CommonName != "kt test authority" {
		t.Errorf("trust: %v, %v", found, err)
	}
	for _, name := range []string{"both.p12", "both_old.p12", "openssl.p12"} {
		found, err := Identity(read(t, name), store, secret.Text{})
		var chain []string
		for _, der := range found.Certificate {
			c := must.Have(x509.ParseCertificate(der))(t)
			chain = append(chain, c.Subject.CommonName)
		}
		want := []string{"client", "kt test intermediate", "kt test root"}
		must.True(t, err == nil && slices.Equal(chain, want), "%s: %q, want %q: %v", name, chain, want, err)
	}
}

// Go takes no signature with SHA-1, and no issuer whose extensions do not say that it is one. A broker may take both.
func TestAChainIsFoundByNamesAndNotBySignatures(t *testing.T) {
	now := time.Now()
	certificate := func(name string, id []byte, of *x509.Certificate, public, signer *ecdsa.PrivateKey) *x509.Certificate {
		t.Helper()
		c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, SubjectKeyId: id, NotBefore: now, NotAfter: now.Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature}
		if of == nil {
			of = c
		}
		der := must.Have(x509.CreateCertificate(rand.Reader, c, of, public.Public(), signer))(t)
		return must.Have(x509.ParseCertificate(der))(t)
	}
	var keys [3]*ecdsa.PrivateKey
	for i := range keys {
		keys[i] = must.Have(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	}
	root := certificate("root", []byte{1}, nil, keys[0], keys[0])
	middle := certificate("middle", []byte{2}, root, keys[1], keys[0])
	former := certificate("middle", []byte{3}, root, keys[0], keys[0]) // of the same name, with another key
	leaf := certificate("leaf", []byte{4}, middle, keys[2], keys[1])
	got := chainOf(keys[2], []*x509.Certificate{former, root, middle, leaf})
	want := [][]byte{leaf.Raw, middle.Raw, root.Raw}
	must.True(t, slices.EqualFunc(got, want, bytes.Equal), "%d certificates, want leaf, middle and root", len(got))
}

func TestAStoreThatCannotBeUsedSaysWhyAndWhatToDo(t *testing.T) {
	wrong := secret.New("wrong-one")
	for _, r := range []struct {
		name       string
		identity   bool
		store, key secret.Text
		want       string
	}{
		{"trust.jks", false, wrong, key, "check the password of the store"},
		{"trust.p12", false, wrong, key, "check the password of the store"},
		{"trust.p12", false, secret.Text{}, key, "check the password of the store"},
		{"client.p12", false, store, key, "key store: name a trust store"},
		{"openssl.p12", false, store, key, "key store: name a trust store"},
		{"both_old.p12", false, store, key, "encrypted in an old way"},
		{"both.p12", false, wrong, key, "check the password of the store"},
		{"client.jks", false, store, key, "no trusted certificate"},
		{"untrusted.p12", false, store, key, "not marked as trusted"},
		{"trust.jks", true, store, key, "no private key: name a key store"},
		{"trust.p12", true, store, key, "no private key: name a key store"},
		{"ca.pem", true, store, key, "no private key"},
		{"client.jks", true, store, wrong, "check ssl.key.password"},
		{"client.jks", true, wrong, key, "check the password of the store"},
		{"client.p12", true, wrong, key, "check the password of the store"},
		{"encrypted.pem", true, secret.Text{}, wrong, "check ssl.key.password"},
		{"encrypted.pem", true, secret.Text{}, secret.Text{}, "is encrypted: give ssl.key.password"},
		{"encrypted_v1.pem", true, secret.Text{}, wrong, "check ssl.key.password"},
	} {
		var err error
		if r.identity {
			_, err = Identity(read(t, r.name), r.store, r.key)
		} else {
			_, err = Trust(read(t, r.name), r.store)
		}
		must.True(t, err != nil && strings.Contains(err.Error(), r.want) && !strings.Contains(err.Error(), "wrong-one"),
			"%s, identity %v: %v, want %q", r.name, r.identity, err, r.want)
	}
	for _, text := range []string{"", "hello", "\xce\xce\xce\xce"} {
		_, err := Trust([]byte(text), store)
		must.True(t, err != nil && strings.Contains(err.Error(), "no PEM, JKS or PKCS12 file"), "Trust of %q: %v", text, err)
	}
}

func TestAKeyNeedsItsOwnCertificate(t *testing.T) {
	_, err := IdentityPEM(read(t, "pkcs8.pem"), read(t, "rsa.pem"), key)
	must.True(t, err != nil && strings.Contains(err.Error(), "do not belong together"), "%v", err)
	_, err = IdentityPEM(read(t, "pkcs8.pem"), nil, key)
	must.True(t, err != nil && strings.Contains(err.Error(), "has no certificate"), "%v", err)
}

// Java's tools write PEM into a property on one line.
func TestPEMOnOneLineIsRead(t *testing.T) {
	line := strings.ReplaceAll(string(read(t, "ca.pem")), "\n", " ")
	found, err := Trust([]byte(line), secret.Text{})
	must.True(t, err == nil && len(found) == 1, "%v, %v", found, err)
	line = strings.ReplaceAll(string(read(t, "encrypted.pem")), "\n", "")
	_, err = Identity([]byte(line), secret.Text{}, key)
	must.True(t, err == nil, "%v", err)
}

// A store that says it needs hours of work is refused.
func TestTooMuchWorkIsRefused(t *testing.T) {
	data := read(t, "client.p12")
	at := strings.LastIndex(string(data), "\x02\x02\x27\x10") // 10,000 rounds, of the MAC
	must.Hold(t, at >= 0, "the file has other rounds")
	data = append(data[:at:at], "\x02\x04\x7f\xff\xff\xff"...)
	data[3] += 2                                               // the length of the file
	mac := strings.LastIndex(string(data), "\x30\x4d\x30\x31") // and of its MAC
	must.Hold(t, mac >= 0, "the MAC is not where it was: % x", data[at-70:])
	data[mac+1] += 2
	_, err := Identity(data, store, key)
	must.True(t, err != nil && strings.Contains(err.Error(), "more than 2,000,000 rounds"), "%v", err)
}

// Whatever the bytes are, the answer is a store or an error, without a panic, within a time and
// without the password.
func FuzzStores(f *testing.F) {
	files := must.Have(os.ReadDir("testdata"))(f)
	for _, file := range files {
		if !file.IsDir() {
			f.Add(read(f, file.Name()))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		began := time.Now()
		_, err := Trust(data, store)
		_, bad := Identity(data, store, key)
		took := time.Since(began)
		must.True(t, took <= 20*time.Second, "took %s", took)
		for _, err := range []error{err, bad} {
			must.True(t, err == nil || !strings.Contains(err.Error(), "storepass"), "%v", err)
		}
	})
}
