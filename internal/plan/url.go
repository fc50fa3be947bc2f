package plan

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
)

// System is a kind of system that loads are made on.
type System string

// The systems.
const (
	Kafka    System = "Kafka"
	RabbitMQ System = "RabbitMQ"
	Pulsar   System = "Pulsar"
)

// scheme is what the scheme of a URL says.
type scheme struct {
	port   string // that a URL need not name
	system System
	secure string // the scheme with TLS; "": it is that one
}

var schemes = map[string]scheme{
	"amqp":       {"5672", RabbitMQ, "amqps"},
	"amqps":      {"5671", RabbitMQ, ""},
	"pulsar":     {"6650", Pulsar, "pulsar+ssl"},
	"pulsar+ssl": {"6651", Pulsar, ""},
}

// scheme returns the scheme of the plan's URL; a zero value: it is Kafka's load.
func (p *Plan) scheme() (string, scheme) {
	name, _, _ := strings.Cut(p.URL, ":")
	return name, schemes[name]
}

// System returns the system that the load is made on.
func (p *Plan) System() System {
	_, s := p.scheme()
	return cmp.Or(s.system, Kafka)
}

// Schemes returns the scheme of the URL, which must be one without TLS, and that of the same system with it.
func (p *Plan) Schemes() (plain, encrypted string) {
	name, s := p.scheme()
	return name + "://", s.secure + "://"
}

// Encrypts reports whether the URL asks for TLS.
func (p *Plan) Encrypts() bool {
	_, s := p.scheme()
	return s.port != "" && s.secure == ""
}

// ParseURL reads the address of a system that is not Kafka, and completes its port. It holds no password.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // without the text, which may hold a password
		}
		return nil, err
	}
	_, hasPassword := u.User.Password()
	q, of := u.Query(), schemes[u.Scheme]
	admin, err := url.Parse(q.Get("admin"))
	switch {
	case hasPassword:
		return nil, errors.New("it holds a password, which others could read: leave it out, and write url.password=… into the file of --command-config")
	case of.port == "" || u.Opaque != "":
		return nil, errors.New("write amqp://USER@HOST:PORT/VHOST or pulsar://HOST:PORT/TENANT/NAMESPACE, with amqps or pulsar+ssl for TLS; brokers of Kafka go with --bootstrap-server, or as kafka://HOST:PORT,HOST:PORT")
	case u.Hostname() == "":
		return nil, errors.New("it names no host")
	case u.Fragment != "" || len(q) > 1 || u.RawQuery != "" && !q.Has("admin"):
		return nil, errors.New("it has something behind the path that is not ?admin=http://HOST:PORT: settings go with --command-property")
	case q.Has("admin") && (err != nil || admin.Host == "" || admin.User != nil || admin.Scheme != "http" && admin.Scheme != "https"):
		return nil, errors.New("?admin= is none: write http://HOST:PORT or https://HOST:PORT")
	case q.Has("admin") && of.secure == "" && admin.Scheme == "http":
		return nil, errors.New("?admin= must be https:// with TLS, else a password would go unencrypted")
	case u.Port() == "":
		u.Host = net.JoinHostPort(u.Hostname(), of.port)
	}
	return u, nil
}

// Addresses returns where the clients of the plan connect first, HOST:PORT: its brokers, and the hosts of its URL.
func (p *Plan) Addresses() []string {
	all := slices.Clone(p.Bootstrap)
	if brokers, isKafka := strings.CutPrefix(p.URL, "kafka://"); isKafka {
		return append(all, strings.Split(strings.TrimSuffix(brokers, "/"), ",")...)
	}
	u, err := ParseURL(p.URL)
	if err != nil { // there is none, or Validate says so
		return all
	}
	all = append(all, u.Host)
	if a, err := url.Parse(u.Query().Get("admin")); err == nil && a.Host != "" {
		all = append(all, net.JoinHostPort(a.Hostname(), cmp.Or(a.Port(), map[string]string{"http": "80", "https": "443"}[a.Scheme])))
	}
	return all
}

// Admin returns the address of the HTTP API of a system, for what its protocol does not tell. The URL names it with
// ?admin=. Without that it is at the URL's host, on the plain or the encrypted port.
func Admin(u *url.URL, plain, encrypted string) string {
	if at := u.Query().Get("admin"); at != "" {
		return strings.TrimSuffix(at, "/")
	}
	if (&Plan{URL: u.String()}).Encrypts() {
		return "https://" + net.JoinHostPort(u.Hostname(), encrypted)
	}
	return "http://" + net.JoinHostPort(u.Hostname(), plain)
}
