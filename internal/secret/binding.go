package secret

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Binding is the addresses at which credentials may be used: those that their owner named, and those that a server advertised
// after kt had logged in at one of them. The nil Binding is for a load without credentials, and permits every address.
type Binding struct {
	named []string

	mu      sync.Mutex // guards learned
	learned map[string]bool
}

// Bind binds credentials to addresses: HOST:PORT, or HOST for every port. A * stands for letters, digits, - and _, in an IPv4
// address for digits, and as the whole host for every host. Names are compared as text, and not looked up.
func Bind(named []string) *Binding {
	return &Binding{named: slices.DeleteFunc(slices.Clone(named), func(s string) bool { return strings.TrimSpace(s) == "" }), learned: make(map[string]bool)}
}

// Named reports whether the owner named an address.
func (b *Binding) Named() bool { return b == nil || len(b.named) > 0 }

// BindingError is the error of an address that the owner of credentials did not name.
type BindingError struct{ Address string }

func (e *BindingError) Error() string {
	return fmt.Sprintf("no log-in at %.120q: the owner of the credentials did not name this address: "+
		"give it on the command line, in bootstrap.servers beside the credentials, or to kt agent by --allow-broker", e.Address)
}

// Permit returns a *BindingError if credentials must not be used at an address, HOST:PORT.
func (b *Binding) Permit(address string) error {
	if b == nil {
		return nil
	}
	host, port := SplitAddress(address)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.learned[net.JoinHostPort(host, port)] || slices.ContainsFunc(b.named, func(n string) bool { return fits(n, host, port) }) {
		return nil
	}
	return &BindingError{address}
}

// Learn adds addresses that a server has advertised. Only a server that kt has logged in to may.
func (b *Binding) Learn(addresses ...string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range addresses {
		host, port := SplitAddress(a)
		b.learned[net.JoinHostPort(host, port)] = true
	}
}

// fits reports whether an address is one that was named.
func fits(named, host, port string) bool {
	name, at := SplitAddress(named)
	if at != "" && at != "*" && at != port {
		return false
	}
	if name == host || name == "*" {
		return true
	}
	one := `[\pL\pN_-]*`
	switch {
	case strings.Trim(name, "0123456789.*") == "": // else 10.0.0.* would be 10.0.0.com too
		one = `[0-9]+`
	case strings.Contains(name, ":"):
		one = `[0-9a-f:]*`
	}
	return regexp.MustCompile(`^` + strings.ReplaceAll(regexp.QuoteMeta(name), `\*`, one) + `$`).MatchString(host)
}

// SplitAddress returns the host and the port of an address in the form in which two spellings of it are equal. The port is empty
// if there is none.
func SplitAddress(address string) (host, port string) {
	address = strings.TrimSpace(address)
	if _, rest, found := strings.Cut(address, "://"); found { // Java takes PLAINTEXT://HOST:PORT
		address = rest
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), ""
	}
	if n, err := strconv.ParseUint(port, 10, 16); err == nil {
		port = strconv.FormatUint(n, 10)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	return host, port
}

// Stay is for http.Client.CheckRedirect. It follows no redirect, because credentials would go along.
func Stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
