package security

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/keystore"
	"github.com/kt-bench/kt/internal/secret"
)

// contents are what a store holds: authorities in a pool, or an identity.
type contents struct {
	authorities []*x509.Certificate
	pool        *x509.CertPool // of them
	identity    tls.Certificate
}

// stored is a store of certificates that is read again when its file has changed.
type stored struct {
	property, path string // path: "" for inline PEM
	read           func(data []byte) (contents, error)

	mu     sync.Mutex // guards the rest
	loaded contents
	at     stamp
	tell   func(text string) // of a file that cannot be read again; nil: nobody listens
	failed bool              // the last reading failed, which has been told
}

// stamp is the time and size of a file when it was read. A file with another stamp has changed.
type stamp struct {
	modified time.Time
	size     int64
	real     fs.FileInfo // another file under the same name is another one
}

func (s stamp) same(o stamp) bool {
	return s.real != nil && o.real != nil && s.size == o.size && s.modified.Equal(o.modified) && os.SameFile(s.real, o.real)
}

// load returns the contents, of the file as it is now. A file that was read once and cannot be read again may be half
// written, so its last contents stay in use, and a load goes on.
func (s *stored) load() (contents, error) {
	s.mu.Lock()
	if s.path == "" {
		defer s.mu.Unlock()
		return s.loaded, nil
	}
	err := s.refresh()
	loaded, kept, tell := s.loaded, err != nil && s.at.real != nil, s.tell
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
	now := stamp{info.ModTime(), info.Size(), info}
	if now.same(s.at) || s.at.real != nil && !info.Mode().IsRegular() { // a pipe is read once
		return nil
	}
	data, err := input.Read(s.path, input.Settings)
	if err != nil {
		return fmt.Errorf("%s=%s: %w", s.property, s.path, err)
	}
	found, err := s.read(data)
	if err != nil {
		return fmt.Errorf("%s=%s: %w", s.property, s.path, err)
	}
	s.loaded, s.at = found, now
	return nil
}

// notify sets the function that is called when the file cannot be read again.
func (s *stored) notify(tell func(text string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell = tell
}

// truststore returns the authorities that sign the brokers' certificates; nil: those of the system.
func (v *values) truststore() *stored {
	return v.trust("ssl.", v.secret("ssl.truststore.certificates"), v.text("ssl.truststore.location"), v.secret("ssl.truststore.password"))
}

// trust reads a trust store. prefix is that of its properties.
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

// keystore returns kt's own certificate; nil: there is none.
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

// store reads inline PEM, or a file for the first time.
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
