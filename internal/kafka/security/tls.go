package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/keystore"
	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/suggest"
)

type transport struct {
	trust, identity *stored // nil: the system's authorities; no certificate of kt's own
	min, max        uint16
	suites          []uint16 // nil: Go's
	anyName         bool     // ssl.endpoint.identification.algorithm is empty
}

var versions = []string{"TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"}

func number(i int) uint16 { return tls.VersionTLS10 + uint16(i) }

func (v *values) transport() *transport {
	t := &transport{trust: v.truststore(), identity: v.keystore()}
	switch algorithm := v.text("ssl.endpoint.identification.algorithm"); {
	case algorithm == "":
		t.anyName = true
	case !strings.EqualFold(algorithm, "https"):
		v.bad("ssl.endpoint.identification.algorithm", "must be https, or empty for no check of the name")
	}
	for _, name := range []string{"ssl.keystore.type", "ssl.truststore.type"} {
		if !slices.Contains([]string{"JKS", "PKCS12", "PEM"}, strings.ToUpper(v.text(name))) {
			v.bad(name, "must be JKS, PKCS12 or PEM")
		}
	}
	v.versions(t)
	v.suites(t)
	return t
}

func (v *values) versions(t *transport) {
	enabled := v.list("ssl.enabled.protocols")
	context := v.text("ssl.protocol")
	highest := slices.Index(versions, context)
	if highest < 0 && context != "TLS" {
		v.bad("ssl.protocol", "must be TLS, TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3")
		return
	}
	if len(enabled) == 0 {
		t.min, t.max = tls.VersionTLS12, tls.VersionTLS13
		if highest >= 0 {
			t.max = number(highest)
			t.min = min(t.min, t.max)
		}
		return
	}
	var on []int
	for _, name := range enabled {
		i := slices.Index(versions, name)
		if i < 0 {
			v.bad("ssl.enabled.protocols", "%q is none of TLSv1, TLSv1.1, TLSv1.2 and TLSv1.3", name)
			return
		}
		on = append(on, i)
	}
	slices.Sort(on)
	on = slices.Compact(on)
	if on[len(on)-1]-on[0] != len(on)-1 {
		v.bad("ssl.enabled.protocols", "Go cannot leave out a version between two others: name all from the lowest to the highest")
		return
	}
	t.min, t.max = number(on[0]), number(on[len(on)-1])
}

// suites sets the cipher suites. Those of TLS 1.3 are not configurable in Go.
func (v *values) suites(t *transport) {
	names := v.list("ssl.cipher.suites")
	if len(names) == 0 {
		return
	}
	const property = "ssl.cipher.suites"
	var known []string
	newer := 0
	for _, name := range names {
		i := slices.IndexFunc(suites(), func(s *tls.CipherSuite) bool { return s.Name == name })
		if i < 0 {
			for _, s := range suites() {
				known = append(known, s.Name)
			}
			v.warn("%s%s: Go does not have the suite %q%s; it is left out", property, v.from(property), name, suggest.Hint(name, known, ""))
			continue
		}
		if s := suites()[i]; slices.Equal(s.SupportedVersions, []uint16{tls.VersionTLS13}) {
			newer++
		} else {
			t.suites = append(t.suites, s.ID)
		}
	}
	switch {
	case newer == 0 && len(t.suites) == 0:
		v.bad(property, "Go has none of these suites: name one of ECDHE with AES or CHACHA20, or leave the property out")
	case newer == 0:
		t.max = min(t.max, tls.VersionTLS12)
	case len(t.suites) == 0:
		t.min = max(t.min, tls.VersionTLS13)
		fallthrough
	default:
		if newer < 3 {
			v.warn("%s%s: Go always offers its three suites of TLS 1.3", property, v.from(property))
		}
	}
	if t.min > t.max {
		v.bad(property, "none of these suites is of a version in ssl.enabled.protocols")
	}
}

func suites() []*tls.CipherSuite { return append(tls.CipherSuites(), tls.InsecureCipherSuites()...) }

// config returns the configuration for a server. Without a name Go checks each connection by its host, and no common names.
func (t *transport) config(server string) (*tls.Config, error) {
	c := &tls.Config{
		ServerName: server, MinVersion: t.min, MaxVersion: t.max, CipherSuites: t.suites,
		InsecureSkipVerify: true, //nolint:gosec // verify does the same, and what Java does besides
	}
	var roots *x509.CertPool
	if t.trust != nil {
		authorities, err := t.trust.load()
		if err != nil {
			return nil, err
		}
		roots = authorities.pool
	}
	if server == "" && !t.anyName {
		c.RootCAs, c.InsecureSkipVerify = roots, false
	} else {
		c.VerifyConnection = func(state tls.ConnectionState) error { return t.verify(state, server, roots) }
	}
	if t.identity != nil {
		own, err := t.identity.load()
		if err != nil {
			return nil, err
		}
		// It is sent whatever authorities the server names, so that the server says what is wrong with it.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own.identity, nil }
	}
	return c, nil
}

func (t *transport) verify(state tls.ConnectionState, server string, roots *x509.CertPool) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the server sent no certificate")
	}
	leaf, others := state.PeerCertificates[0], x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		others.AddCert(c)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: others, CurrentTime: time.Now()}); err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	if t.anyName {
		return nil
	}
	if err := checkName(leaf, server); err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	return nil
}

// checkName checks a certificate's names. As in Java, the common name counts where there is no alternative name of a host.
func checkName(c *x509.Certificate, server string) error {
	err := c.VerifyHostname(server)
	if err != nil && len(c.DNSNames) == 0 && net.ParseIP(server) == nil && c.Subject.CommonName != "" {
		if (&x509.Certificate{DNSNames: []string{c.Subject.CommonName}}).VerifyHostname(server) == nil {
			return nil
		}
	}
	return err
}

type contents struct {
	authorities []*x509.Certificate
	pool        *x509.CertPool // of them
	identity    tls.Certificate
}

type stored struct {
	property, path string // path: "" for inline PEM
	read           func(data []byte) (contents, error)

	mu     sync.Mutex // guards the rest
	loaded contents
	at     fs.FileInfo       // of the file when it was read; nil: it was not
	tell   func(text string) // of a file that cannot be read again; nil: nobody listens
	failed bool              // the last reading failed, which has been told
}

// load returns the contents of the file as it is now. One that was read once and cannot be read again may be half written, so
// its last contents stay in use.
func (s *stored) load() (contents, error) {
	s.mu.Lock()
	if s.path == "" {
		defer s.mu.Unlock()
		return s.loaded, nil
	}
	err := s.refresh()
	loaded, kept, tell := s.loaded, err != nil && s.at != nil, s.tell
	if s.failed {
		tell = nil
	}
	s.failed = kept
	s.mu.Unlock()
	if !kept {
		return loaded, err
	}
	if tell != nil { // without the lock: it may take its time
		tell(err.Error() + ": going on with what was read of it before")
	}
	return loaded, nil
}

// refresh reads the file if it has changed. mu is held.
func (s *stored) refresh() error {
	info, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("%s=%s: %w", s.property, s.path, input.Cause(err))
	}
	if was := s.at; was != nil && (!info.Mode().IsRegular() || was.Size() == info.Size() && was.ModTime().Equal(info.ModTime()) && os.SameFile(was, info)) {
		return nil // it has not changed; a pipe is read once
	}
	data, err := input.Read(s.path, input.Settings)
	if err != nil {
		return fmt.Errorf("%s=%s: %w", s.property, s.path, err)
	}
	found, err := s.read(data)
	if err != nil {
		return fmt.Errorf("%s=%s: %w", s.property, s.path, err)
	}
	s.loaded, s.at = found, info
	return nil
}

func (v *values) truststore() *stored {
	return v.trust("ssl.", v.secret("ssl.truststore.certificates"), v.text("ssl.truststore.location"), v.secret("ssl.truststore.password"))
}

func (v *values) trust(prefix string, inline secret.Text, path string, password secret.Text) *stored {
	read := func(data []byte) (contents, error) {
		found, err := keystore.Trust(data, password)
		pool := x509.NewCertPool()
		for _, c := range found {
			pool.AddCert(c)
		}
		return contents{authorities: found, pool: pool}, err
	}
	return v.store(prefix+"truststore.certificates", inline.Reveal(), prefix+"truststore.location", path, read)
}

func (v *values) keystore() *stored {
	store, key := v.secret("ssl.keystore.password"), v.secret("ssl.key.password")
	inline, chain := v.secret("ssl.keystore.key"), v.secret("ssl.keystore.certificate.chain")
	if (inline.Reveal() == "") != (chain.Reveal() == "") {
		v.bad("ssl.keystore.key", "ssl.keystore.key and ssl.keystore.certificate.chain go together: give both")
		return nil
	}
	path := v.text("ssl.keystore.location")
	if path != "" {
		v.files = append(v.files, path)
	}
	return v.store("ssl.keystore.key", inline.Reveal(), "ssl.keystore.location", path, func(data []byte) (contents, error) {
		if path == "" {
			own, err := keystore.IdentityPEM(data, []byte(chain.Reveal()), key)
			return contents{identity: own}, err
		}
		own, err := keystore.Identity(data, store, key)
		return contents{identity: own}, err
	})
}

func (v *values) store(inlineName, inline, fileName, path string, read func([]byte) (contents, error)) *stored {
	s := &stored{property: fileName, path: path, read: read}
	var err error
	switch {
	case inline != "" && path != "":
		v.bad(inlineName, "%s is given too, and Java takes one of them: leave one out", fileName)
	case inline != "":
		if s.loaded, err = read([]byte(inline)); err != nil {
			v.bad(inlineName, "%w", err)
		}
	case path != "":
		if _, err := s.load(); err != nil {
			v.problems = append(v.problems, fmt.Errorf("%w%s", err, v.from(fileName)))
		}
	default:
		return nil
	}
	v.stores = append(v.stores, s)
	return s
}
