package security

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/kt-bench/kt/internal/secret"
	"github.com/kt-bench/kt/internal/suggest"
)

// Mechanisms are the values of sasl.mechanism.
var Mechanisms = []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"}

var modules = []string{"PlainLoginModule", "ScramLoginModule", "OAuthBearerLoginModule", "IAMLoginModule", "Krb5LoginModule"}

// loginTime is how long what a log-in needs beside the broker, such as a KDC, may take to answer.
const loginTime = 5 * time.Second

// handlers are the classes of callbacks that belong to mechanisms that kt has, so that naming one changes nothing.
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
		v.bad(property, "%q is no mechanism of %s%s", name, strings.Join(Mechanisms, ", "), suggest.Hint(name, Mechanisms, ""))
		return nil
	}
	m, ok := v.module(name, chosen.class)
	if !ok {
		return nil
	}
	return &login{name: name, mechanism: chosen.build(m)}
}

type mechanism struct {
	class string
	build func(module) sasl.Mechanism
}

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

type module struct {
	name    string // without its package: PlainLoginModule
	options map[string]secret.Text
}

func (m module) option(name string) string { return m.options[name].Reveal() }

func (m module) is(name string) bool { return strings.EqualFold(m.option(name), "true") }

// parseJAAS reads sasl.jaas.config, CLASS required NAME="value" NAME='value' NAME=value; as Kafka's JaasConfig does, with the
// comments, escapes and numbers of java.io.StreamTokenizer. Its errors show no value, which may be a secret.
func parseJAAS(text string) (module, error) {
	t := tokenizer{rest: string([]rune(text))}
	kind, class := t.next()
	if kind == end {
		return module{}, errors.New("it is empty: begin with the class of a login module")
	}
	m := module{name: class[strings.LastIndex(class, ".")+1:], options: make(map[string]secret.Text)}
	if kind != word || !slices.Contains(modules, m.name) {
		return m, fmt.Errorf("it must begin with a login module: %s", strings.Join(modules, ", "))
	}
	flags := []string{"required", "requisite", "sufficient", "optional"} // which mean the same for one module
	switch kind, flag := t.next(); {
	case kind != word:
		return m, fmt.Errorf("a word is missing behind %s: write required", m.name)
	case !slices.Contains(flags, strings.ToLower(flag)):
		return m, fmt.Errorf("the word behind %s must be required, requisite, sufficient or optional", m.name)
	}
	for last := m.name; ; {
		kind, name := t.next()
		switch kind {
		case end:
			return m, errors.New("a semicolon is missing at the end")
		case ";":
			if kind, _ := t.next(); kind != end {
				return m, errors.New("there is more behind the semicolon: a client has one login module; put a value with a semicolon in double quotes")
			}
			return m, nil
		case word:
		default:
			return m, fmt.Errorf("the name of an option is expected behind %s: put values with special characters in double quotes", last)
		}
		if kind, _ := t.next(); kind != "=" {
			return m, fmt.Errorf("= is missing behind an option, after %s: put values with spaces in double quotes", last)
		}
		kind, value := t.next()
		if kind != word {
			return m, fmt.Errorf("option %s has no value that Java reads: put it in double quotes", name)
		}
		last, m.options[name] = "option "+name, secret.Cover(value)
		if !public.MatchString(name) {
			secret.Learn(value)
		}
	}
}

// public matches the options that are no secrets.
var public = regexp.MustCompile(`^(?:use|aws|extension_|unsecuredLogin|ssl\.truststore\.location|(?:serviceName|keyTab|principal|ticketCache|storeKey|debug|tokenauth|clientId|scope)$)`)

// Kinds of tokens beside "=" and ";".
const (
	end   = ""
	word  = "word"
	other = "other" // a number, or a character without a meaning
)

// tokenizer does what a java.io.StreamTokenizer does, as Kafka sets one up.
type tokenizer struct{ rest string }

var (
	// A slash alone begins a comment too.
	space = regexp.MustCompile(`^(?:[\x00- ]|/\*(?s:.*?)(?:\*/|\z)|/[^\n\r]*)*`)
	// Text in quotes ends with the line. Java leaves out the characters from 128 to 159.
	piece = regexp.MustCompile(`^(?:([=;])|["]((?:\\(?s:.)|[^"\n\r])*)["]?|[']((?:\\(?s:.)|[^'\n\r])*)[']?|` +
		`([a-zA-Z_$\x{a0}-\x{10ffff}][\w$.\x{a0}-\x{10ffff}-]*)|[\d.-][\w$.\x{a0}-\x{10ffff}-]*|(?s:.))`)
	// What stands behind a backslash: up to three octal digits with a value below 256, a letter of C, or the character itself.
	escape = regexp.MustCompile(`\\(?:[0-3][0-7]{0,2}|[4-7][0-7]?|(?s:.))`)
)

func (t *tokenizer) next() (kind, text string) {
	t.rest = t.rest[len(space.FindString(t.rest)):]
	if t.rest == "" {
		return end, ""
	}
	at := piece.FindStringSubmatchIndex(t.rest)
	part := func(i int) string { return t.rest[at[2*i]:at[2*i+1]] }
	defer func() { t.rest = t.rest[at[1]:] }()
	switch {
	case at[2] >= 0:
		return part(1), ""
	case at[4] >= 0:
		return word, escape.ReplaceAllStringFunc(part(2), unescape)
	case at[6] >= 0:
		return word, escape.ReplaceAllStringFunc(part(3), unescape)
	case at[8] >= 0:
		return word, part(4)
	}
	return other, ""
}

func unescape(sequence string) string {
	if n, err := strconv.ParseUint(sequence[1:], 8, 8); err == nil {
		return string(rune(n))
	}
	if i := strings.Index("abfnrtv", sequence[1:]); i >= 0 {
		return "\a\b\f\n\r\t\v"[i : i+1]
	}
	return sequence[1:]
}
