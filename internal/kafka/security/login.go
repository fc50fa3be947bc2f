package security

import (
	"context"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Mechanisms are the values of sasl.mechanism.
var Mechanisms = []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"}

// modules are the login modules, without their packages.
var modules = []string{"PlainLoginModule", "ScramLoginModule", "OAuthBearerLoginModule", "IAMLoginModule", "Krb5LoginModule"}

// loginTime is how long what a log-in needs beside the broker, such as a KDC, may take to answer. A bootstrap server has the
// same time.
const loginTime = 5 * time.Second

// handlers are the classes of callbacks that kt knows, without their packages. They belong to
// mechanisms that kt has, so naming one changes nothing.
var handlers = map[string]bool{
	"SaslClientCallbackHandler": true, "OAuthBearerSaslClientCallbackHandler": true, "OAuthBearerLoginCallbackHandler": true,
	"OAuthBearerUnsecuredLoginCallbackHandler": true, "IAMClientCallbackHandler": true,
	"DefaultJwtRetriever": true, "ClientCredentialsJwtRetriever": true, "FileJwtRetriever": true,
}

// login reads the sasl. properties; nil: there are problems.
func (v *values) login() *login {
	for _, name := range []string{"sasl.client.callback.handler.class", "sasl.login.callback.handler.class", "sasl.oauthbearer.jwt.retriever.class"} {
		class := v.text(name)
		if class != "" && !handlers[class[strings.LastIndex(class, ".")+1:]] {
			v.bad(name, "kt runs no Java classes: leave it out, and use a mechanism that needs none")
		}
	}
	const property = "sasl.mechanism"
	name := v.text(property)
	const kafka = "org.apache.kafka.common.security."
	chosen := map[string]mechanism{
		"PLAIN":         {kafka + "plain.PlainLoginModule", v.plain},
		"SCRAM-SHA-256": {kafka + "scram.ScramLoginModule", v.scram},
		"SCRAM-SHA-512": {kafka + "scram.ScramLoginModule", v.scram},
		"OAUTHBEARER":   {kafka + "oauthbearer.OAuthBearerLoginModule", v.oauth},
		"AWS_MSK_IAM":   {"software.amazon.msk.auth.iam.IAMLoginModule", v.msk},
		"GSSAPI":        {"com.sun.security.auth.module.Krb5LoginModule", v.kerberos},
	}[name]
	if chosen.build == nil {
		v.bad(property, "%q is no mechanism of %s%s", name, strings.Join(Mechanisms, ", "), nearest(name, Mechanisms))
		return nil
	}
	m, ok := v.module(name, chosen.class)
	if !ok {
		return nil
	}
	return &login{name: name, mechanism: chosen.build(m)}
}

// mechanism has the class of its login module.
type mechanism struct {
	class string
	build func(module) sasl.Mechanism
}

// module returns the login module of sasl.jaas.config.
func (v *values) module(mechanism, class string) (module, bool) {
	const property = "sasl.jaas.config"
	if !v.has(property) {
		if mechanism == "OAUTHBEARER" || mechanism == "AWS_MSK_IAM" {
			return module{}, true // all that they need may be elsewhere
		}
		v.bad(property, "%s, which needs it: %s required …;", v.chosen(), class)
		return module{}, false
	}
	m, err := parseJAAS(v.given[property].Value)
	if err != nil {
		v.bad(property, "%w", err)
		return module{}, false
	}
	if !strings.HasSuffix(class, m.name) && (!isPassword(class) || !isPassword(m.name)) {
		v.bad(property, "%s, which needs %s, and not %s", v.chosen(), class, m.name)
		return module{}, false
	}
	return m, true
}

// chosen says which mechanism is used, and why if nobody chose it.
func (v *values) chosen() string {
	if !v.has("sasl.mechanism") {
		return "sasl.mechanism is not set, and the default is " + v.text("sasl.mechanism")
	}
	return "sasl.mechanism is " + v.text("sasl.mechanism")
}

// isPassword reports whether a module gives a user name and a password. Java takes one for the other.
func isPassword(name string) bool {
	return strings.HasSuffix(name, "PlainLoginModule") || strings.HasSuffix(name, "ScramLoginModule")
}

// named checks that a module has a user name and a password.
func (v *values) named(m module) {
	for _, option := range []string{"username", "password"} {
		if m.option(option) == "" {
			v.bad("sasl.jaas.config", `%s lacks the option %s: write %s="…"`, m.name, option, option)
		}
	}
}

func (v *values) plain(m module) sasl.Mechanism {
	v.named(m)
	return plain.Plain(func(context.Context) (plain.Auth, error) {
		return plain.Auth{User: m.option("username"), Pass: m.option("password")}, nil
	})
}

func (v *values) scram(m module) sasl.Mechanism {
	v.named(m)
	give := func(context.Context) (scram.Auth, error) {
		return scram.Auth{User: m.option("username"), Pass: m.option("password"), IsToken: m.is("tokenauth")}, nil
	}
	if v.text("sasl.mechanism") == "SCRAM-SHA-256" {
		return scram.Sha256(give)
	}
	return scram.Sha512(give)
}
