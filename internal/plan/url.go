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
	name, port string
	system     System
	encrypts   bool
}

// schemes are those of Plan.URL, with the ports that a URL need not name.
var schemes = []scheme{
	{"amqp", "5672", RabbitMQ, false},
	{"amqps", "5671", RabbitMQ, true},
	{"pulsar", "6650", Pulsar, false},
	{"pulsar+ssl", "6651", Pulsar, true},
}

// scheme returns what the scheme of the plan's URL says; a zero value: it is Kafka's load.
func (p *Plan) scheme() scheme {
	name, _, _ := strings.Cut(p.URL, ":")
	if i := slices.IndexFunc(schemes, func(s scheme) bool { return s.name == name }); i >= 0 {
		return schemes[i]
	}
	return scheme{}
}

// System returns the system that the load is made on.
func (p *Plan) System() System {
	return cmp.Or(p.scheme().system, Kafka)
}

// Schemes returns the schemes of URLs of the plan's system, without TLS and with it.
func (p *Plan) Schemes() (plain, encrypted string) {
	for _, s := range schemes {
		switch {
		case s.system != p.System():
		case s.encrypts:
			encrypted = s.name + "://"
		default:
			plain = s.name + "://"
		}
	}
	return plain, encrypted
}

// Encrypts reports whether the URL asks for TLS.
func (p *Plan) Encrypts() bool { return p.scheme().encrypts }

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
	q, i := u.Query(), slices.IndexFunc(schemes, func(s scheme) bool { return s.name == u.Scheme })
	admin, err := url.Parse(q.Get("admin"))
	switch {
	case hasPassword:
		return nil, errors.New("it holds a password, which others could read: leave it out, and write url.password=… into the file of --command-config")
	case i < 0 || u.Opaque != "":
		return nil, errors.New("write amqp://USER@HOST:PORT/VHOST or pulsar://HOST:PORT/TENANT/NAMESPACE, with amqps or pulsar+ssl for TLS; brokers of Kafka go with --bootstrap-server, or as kafka://HOST:PORT,HOST:PORT")
	case u.Hostname() == "":
		return nil, errors.New("it names no host")
	case u.Fragment != "" || len(q) > 1 || u.RawQuery != "" && !q.Has("admin"):
		return nil, errors.New("it has something behind the path that is not ?admin=http://HOST:PORT: settings go with --command-property")
	case q.Has("admin") && (err != nil || admin.Host == "" || admin.User != nil || admin.Scheme != "http" && admin.Scheme != "https"):
		return nil, errors.New("?admin= is none: write http://HOST:PORT or https://HOST:PORT")
	case q.Has("admin") && schemes[i].encrypts && admin.Scheme == "http":
		return nil, errors.New("?admin= must be https:// with TLS, else a password would go unencrypted")
	case u.Port() == "":
		u.Host = net.JoinHostPort(u.Hostname(), schemes[i].port)
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
