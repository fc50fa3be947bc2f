package security

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/kerberos"
)

// kerberos reads the options of Krb5LoginModule: a ticket cache, which comes first as in Java, or a keytab. Both are read again
// at each authentication.
func (v *values) kerberos(m module) sasl.Mechanism {
	const property = "sasl.jaas.config"
	service := cmp.Or(v.text("sasl.kerberos.service.name"), m.option("serviceName"))
	if service == "" {
		v.bad("sasl.kerberos.service.name", "%s, which needs it: the first part of the principal of the brokers, mostly kafka", v.chosen())
	}
	l := &kerberosLogin{within: loginTime, conf: cmp.Or(v.environment("KRB5_CONFIG"), "/etc/krb5.conf"), principal: m.option("principal")}
	if m.is("useKeyTab") {
		l.keytab = cmp.Or(m.option("keyTab"), v.environment("KRB5_KTNAME"))
		l.keytab = strings.TrimPrefix(l.keytab, "FILE:")
		v.files = append(v.files, l.keytab)
		if l.principal == "" || l.keytab == "" {
			v.bad(property, `useKeyTab=true needs keyTab="…" and principal="…"`)
		}
	}
	if m.is("useTicketCache") {
		l.cache = cmp.Or(m.option("ticketCache"), v.environment("KRB5CCNAME"), fmt.Sprintf("/tmp/krb5cc_%d", os.Getuid()))
		l.cache = strings.TrimPrefix(l.cache, "FILE:")
	}
	if l.keytab == "" && l.cache == "" {
		v.bad(property, "Krb5LoginModule needs useKeyTab=true with keyTab and principal, or useTicketCache=true")
	}
	return l.mechanism(service)
}

type kerberosLogin struct {
	conf, principal, keytab, cache string

	within time.Duration // for one KDC to answer
}

func (l *kerberosLogin) mechanism(service string) sasl.Mechanism {
	return timely{Mechanism: kerberos.Kerberos(func(context.Context) (kerberos.Auth, error) {
		c, err := l.client()
		return kerberos.Auth{Client: c, Service: service}, err
	}), login: l}
}

// timely bounds an authentication. The library takes no context, and waits 5 s for each KDC.
type timely struct {
	sasl.Mechanism
	login *kerberosLogin
}

func (t timely) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	within, kdcs := t.login.limit()
	caller := ctx
	ctx, cancel := context.WithTimeout(caller, within)
	defer cancel()
	type answer struct {
		session sasl.Session
		message []byte
		err     error
	}
	answers := make(chan answer, 1)
	go func() { // it ends by the limits of the library
		session, message, err := t.Mechanism.Authenticate(ctx, host)
		answers <- answer{session, message, err}
	}()
	select {
	case a := <-answers:
		return a.session, a.message, a.err
	case <-ctx.Done():
		if caller.Err() != nil {
			return nil, nil, context.Cause(caller)
		}
		return nil, nil, &TokenError{fmt.Sprintf("GSSAPI: no KDC answers within %s (%s): check the KDC in %s and the way there", within, kdcs, t.login.conf)}
	}
}

// limit returns the time for an authentication, and the addresses of the KDCs, of which others may answer when one is down.
func (l *kerberosLogin) limit() (time.Duration, string) {
	const most = 14 * time.Second // a request of an administrator's client waits for 15 s
	conf, err := l.read()
	if err != nil {
		return l.within, "unknown" // the log-in tells what is wrong
	}
	_, realm := l.named(conf)
	for _, r := range conf.Realms {
		if n := len(r.KDC); r.Realm == realm && n > 0 {
			return min(l.within*time.Duration(2*n-1), max(most, l.within)), strings.Join(r.KDC, ", ")
		}
	}
	return most, "those of the DNS" // as many as there are
}

func (l *kerberosLogin) named(conf *config.Config) (name, realm string) {
	name, realm, given := strings.Cut(l.principal, "@")
	if !given {
		realm = conf.LibDefaults.DefaultRealm
	}
	return name, realm
}

// read reads krb5.conf. Unless it says otherwise, KDCs are asked by TCP first: the library waits 5 s for UDP, which many
// firewalls drop.
func (l *kerberosLogin) read() (*config.Config, error) {
	conf, err := config.Load(l.conf)
	if err == nil && conf.LibDefaults.UDPPreferenceLimit == config.New().LibDefaults.UDPPreferenceLimit {
		conf.LibDefaults.UDPPreferenceLimit = 0 // no request is small enough to begin with UDP; 1 would leave UDP out
	}
	return conf, err
}

func (l *kerberosLogin) client() (*client.Client, error) {
	conf, err := l.read()
	if err != nil {
		return nil, &TokenError{fmt.Sprintf("GSSAPI: read %s: %v: name another with KRB5_CONFIG", l.conf, err)}
	}
	if l.cache != "" {
		var c *client.Client
		cache, err := credentials.LoadCCache(l.cache)
		if err != nil {
			err = &TokenError{fmt.Sprintf("GSSAPI: read the ticket cache %s: %v: run kinit", l.cache, err)}
		} else if c, err = client.NewFromCCache(cache, conf, client.DisablePAFXFAST(true)); err != nil {
			err = &TokenError{fmt.Sprintf("GSSAPI: the ticket cache %s cannot be used (%s): run kinit", l.cache, brief(err))}
		}
		if err == nil || l.keytab == "" {
			return c, err
		}
	}
	keys, err := keytab.Load(l.keytab)
	if err != nil {
		return nil, &TokenError{fmt.Sprintf("GSSAPI: read the keytab %s: %v", l.keytab, err)}
	}
	name, realm := l.named(conf)
	c := client.NewWithKeytab(name, realm, keys, conf, client.DisablePAFXFAST(true))
	if err := c.Login(); err != nil {
		return nil, &TokenError{fmt.Sprintf("GSSAPI: log in as %s@%s with %s: %s: check principal, keytab, the KDC in %s and the clock", name, realm, l.keytab, brief(err), l.conf)}
	}
	return c, nil
}

func brief(err error) string {
	text := err.Error()
	for _, code := range []string{"KDC_ERR", "KRB_AP_ERR"} {
		text = text[max(0, strings.Index(text, code)):]
	}
	const most = 160
	return text[:min(len(text), most)]
}
