package security

import (
	"slices"
	"strings"
)

// Property is a security property of Kafka's Java clients.
type Property struct {
	Name    string
	Default string // of Kafka's Java clients 4.x
	Kt      string // what kt does with it
	Franz   string // where franz-go alone differs from Java; "": it does not
	Secret  bool   // its value is never shown

	use use
}

type use int

const (
	used    use = iota
	noTwin      // a value other than the default is a warning
	refused     // a value other than the default is an error
)

const (
	noProvider  = "TLS is Go's own, without Java's providers"
	noClass     = "kt runs no Java classes"
	brokersOnly = "only brokers check tokens"
	noAssertion = "kt asks for tokens with a client id and a secret only"
	noThread    = "a ticket is renewed by the Kerberos library when it is needed"
)

// Properties returns the table of all security properties, sorted by name.
func Properties() []Property {
	common := []Property{
		{Name: "security.protocol", Default: "PLAINTEXT", Kt: "PLAINTEXT, SSL, SASL_PLAINTEXT and SASL_SSL, in any case", Franz: "has no such option: a dialer with TLS, and SASL beside it"},
		{Name: "security.providers", Kt: noProvider, use: noTwin},
		{Name: urlPassword, Kt: "not of Java: the password, or the token of Pulsar, for --url", Franz: "is for Kafka alone", Secret: true},
	}
	all := slices.Concat(common, tlsProperties(), saslProperties(), oauthProperties())
	slices.SortFunc(all, func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func tlsProperties() []Property {
	const own = "takes a finished tls.Config"
	const other = "takes a finished tls.Config, which knows neither JKS nor PKCS12"
	return []Property{
		{Name: "ssl.protocol", Default: "TLSv1.3", Kt: "checked; it bounds the versions only where ssl.enabled.protocols is empty, as in Java", Franz: own},
		{Name: "ssl.provider", Kt: noProvider, use: noTwin},
		{Name: "ssl.cipher.suites", Kt: "suites of TLS 1.2 and older by their names in Java. Go always offers its three suites of TLS 1.3. A list without one of them turns TLS 1.3 off, as in Java", Franz: own},
		{Name: "ssl.enabled.protocols", Default: "TLSv1.2,TLSv1.3", Kt: "TLSv1, TLSv1.1, TLSv1.2 and TLSv1.3; a version between two others cannot be left out", Franz: own},
		{Name: "ssl.keystore.type", Default: "JKS", Kt: "checked to be JKS, PKCS12 or PEM; the format is recognised by the content"},
		{Name: "ssl.keystore.location", Kt: "a JKS, PKCS12 or PEM file, read again for a new connection when it has changed", Franz: other},
		{Name: "ssl.keystore.password", Kt: "used", Franz: other, Secret: true},
		{Name: "ssl.keystore.key", Kt: "inline PEM: PKCS8, encrypted PKCS8, PKCS1 or EC", Franz: other, Secret: true},
		{Name: "ssl.keystore.certificate.chain", Kt: "inline PEM, the key's own certificate first", Franz: own, Secret: true},
		{Name: "ssl.key.password", Kt: "of a key in a JKS file, or of an encrypted PEM key; without it that of the store", Franz: other, Secret: true},
		{Name: "ssl.truststore.type", Default: "JKS", Kt: "checked to be JKS, PKCS12 or PEM; the format is recognised by the content"},
		{Name: "ssl.truststore.location", Kt: "a JKS, PKCS12 or PEM file, read again for a new connection when it has changed; without one the authorities of the operating system, where Java has its own", Franz: other},
		{Name: "ssl.truststore.password", Kt: "used; without it a JKS file is read unchecked, as in Java", Franz: other, Secret: true},
		{Name: "ssl.truststore.certificates", Kt: "inline PEM", Franz: own, Secret: true},
		{Name: "ssl.endpoint.identification.algorithm", Default: "https", Kt: "https, or empty: then the name is not checked, and the chain of certificates still is. A certificate without alternative names is checked by its common name, as in Java", Franz: "Go ignores common names, and InsecureSkipVerify would skip the chain too"},
		{Name: "ssl.engine.factory.class", Kt: noClass, use: refused},
		{Name: "ssl.keymanager.algorithm", Default: "SunX509", Kt: noProvider, use: noTwin},
		{Name: "ssl.trustmanager.algorithm", Default: "PKIX", Kt: noProvider, use: noTwin},
		{Name: "ssl.secure.random.implementation", Kt: noProvider, use: noTwin},
	}
}

func saslProperties() []Property {
	return []Property{
		{Name: "sasl.mechanism", Default: "GSSAPI", Kt: strings.Join(Mechanisms, ", "), Franz: "has a package for each; GSSAPI is a module of its own"},
		{Name: "sasl.jaas.config", Kt: "one login module with its options, parsed as Java does it", Franz: "takes user names, passwords and tokens as Go values", Secret: true},
		{Name: "sasl.client.callback.handler.class", Kt: "the handlers of Kafka and of the MSK library are known, and kt does what they do; others are refused", use: used},
		{Name: "sasl.login.callback.handler.class", Kt: "the handlers of Kafka are known, and kt does what they do; others are refused", use: used},
		{Name: "sasl.login.class", Kt: noClass, use: refused},
		{Name: "sasl.kerberos.service.name", Kt: "the name that brokers have, as in the option serviceName of the login module", Franz: "takes the service as a Go value"},
		{Name: "sasl.kerberos.kinit.cmd", Default: "/usr/bin/kinit", Kt: "kt runs no kinit: a keytab needs none, and a ticket cache is renewed by the user", use: noTwin},
		{Name: "sasl.kerberos.ticket.renew.window.factor", Default: "0.8", Kt: noThread, use: noTwin},
		{Name: "sasl.kerberos.ticket.renew.jitter", Default: "0.05", Kt: noThread, use: noTwin},
		{Name: "sasl.kerberos.min.time.before.relogin", Default: "60000", Kt: noThread, use: noTwin},
		{Name: "sasl.login.refresh.window.factor", Default: "0.8", Kt: "share of a token's life after which a new connection or authentication asks for another token", Franz: "asks for a token for every connection"},
		{Name: "sasl.login.refresh.window.jitter", Default: "0.05", Kt: "tokens are renewed when they are needed, not at a moment of their own", use: noTwin},
		{Name: "sasl.login.refresh.min.period.seconds", Default: "60", Kt: "tokens are renewed when they are needed, not at a moment of their own", use: noTwin},
		{Name: "sasl.login.refresh.buffer.seconds", Default: "300", Kt: "tokens are renewed when they are needed, not at a moment of their own", use: noTwin},
		{Name: "sasl.login.connect.timeout.ms", Kt: "time to connect to the token endpoint; default 10 s", Franz: "has no client of token endpoints"},
		{Name: "sasl.login.read.timeout.ms", Kt: "time for the token endpoint to answer; default 10 s", Franz: "has no client of token endpoints"},
		{Name: "sasl.login.retry.backoff.ms", Default: "100", Kt: "pause before the token endpoint is asked again, after an error that may pass", Franz: "has no client of token endpoints"},
		{Name: "sasl.login.retry.backoff.max.ms", Default: "10000", Kt: "bound of all attempts at the token endpoint together; 5 s for the first token, unless this or a timeout of the log-in is given", Franz: "has no client of token endpoints"},
	}
}

func oauthProperties() []Property {
	const noClient = "has no client of token endpoints"
	rows := []Property{
		{Name: "sasl.oauthbearer.token.endpoint.url", Kt: "https://, or file:// for a file with a token; http:// only on loopback", Franz: noClient},
		{Name: "sasl.oauthbearer.scope", Kt: "asked for; before the option scope of the login module", Franz: noClient},
		{Name: "sasl.oauthbearer.client.credentials.client.id", Kt: "used; before the option clientId of the login module", Franz: noClient},
		{Name: "sasl.oauthbearer.client.credentials.client.secret", Kt: "used; before the option clientSecret of the login module", Franz: noClient, Secret: true},
		{Name: "sasl.oauthbearer.header.urlencode", Default: "false", Kt: "used", Franz: noClient},
		{Name: "sasl.oauthbearer.scope.claim.name", Default: "scope", Kt: "kt reads the date of expiry alone", use: noTwin},
		{Name: "sasl.oauthbearer.sub.claim.name", Default: "sub", Kt: "kt reads the date of expiry alone", use: noTwin},
		{Name: "sasl.oauthbearer.jwt.retriever.class", Default: "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever", Kt: "Kafka's default, client credentials and file retrievers are known; others are refused"},
		{Name: "sasl.oauthbearer.jwt.validator.class", Default: "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator", Kt: "the broker checks the token", use: noTwin},
		{Name: "sasl.oauthbearer.assertion.algorithm", Default: "RS256", Kt: noAssertion, use: refused},
		{Name: "sasl.oauthbearer.assertion.claim.exp.seconds", Default: "300", Kt: noAssertion, use: refused},
		{Name: "sasl.oauthbearer.assertion.claim.jti.include", Default: "false", Kt: noAssertion, use: refused},
		{Name: "sasl.oauthbearer.assertion.claim.nbf.seconds", Default: "60", Kt: noAssertion, use: refused},
		{Name: "sasl.oauthbearer.assertion.private.key.passphrase", Kt: noAssertion, Secret: true, use: refused},
		{Name: "sasl.oauthbearer.clock.skew.seconds", Default: "30", Kt: brokersOnly, use: noTwin},
		{Name: "sasl.oauthbearer.jwks.endpoint.refresh.ms", Default: "3600000", Kt: brokersOnly, use: noTwin},
		{Name: "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", Default: "100", Kt: brokersOnly, use: noTwin},
		{Name: "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", Default: "10000", Kt: brokersOnly, use: noTwin},
	}
	for _, name := range strings.Fields("expected.audience expected.issuer jwks.endpoint.url") {
		rows = append(rows, Property{Name: "sasl.oauthbearer." + name, Kt: brokersOnly, use: noTwin})
	}
	for _, name := range strings.Fields("claim.aud claim.iss claim.sub file private.key.file template.file") {
		rows = append(rows, Property{Name: "sasl.oauthbearer.assertion." + name, Kt: noAssertion, use: refused})
	}
	return rows
}

// urlPassword is the one security property that is kt's own: systems that a URL names have no file for it.
const urlPassword = "url.password"

// Is reports whether a property is one of security: those that Java has, others of that form, and urlPassword.
func Is(name string) bool {
	return strings.HasPrefix(name, "sasl.") || strings.HasPrefix(name, "ssl.") || strings.HasPrefix(name, "security.") || name == urlPassword
}

// Show returns the value of a property for a screen: [hidden], unless it is known to be no secret.
func Show(name, value string) string {
	p, known := find(name)
	if !known || p.Secret {
		return "[hidden]"
	}
	return value
}

func find(name string) (Property, bool) {
	all := Properties()
	i := slices.IndexFunc(all, func(p Property) bool { return p.Name == name })
	if i < 0 {
		return Property{}, false
	}
	return all[i], true
}

// About says what kt does with a property, and with a value other than the default.
func (p Property) About() string {
	switch p.use {
	case noTwin:
		return "no effect, with a warning: " + p.Kt
	case refused:
		return "refused: " + p.Kt
	}
	if p.Secret {
		return p.Kt + "; never shown"
	}
	return p.Kt
}
