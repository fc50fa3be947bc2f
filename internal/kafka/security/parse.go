package security

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/secret"
)

// Values of security.protocol.
const (
	Plaintext = "PLAINTEXT" // neither TLS nor SASL
	onlySSL   = "SSL"
	saslPlain = "SASL_PLAINTEXT"
	saslSSL   = "SASL_SSL"
)

// Parse turns security properties into settings. It reports every problem, each with the source
// of the property, and opens the stores once to find out that they can be used. Warnings are of
// properties without effect, and of files with secrets that others can read. getenv is for
// mechanisms whose credentials are in the environment. named are the addresses that the owner of the properties named: those that
// hold credentials are bound to them.
func Parse(given map[string]plan.Given, named []string, getenv func(string) string) (Settings, []string, error) {
	v := &values{given: given, getenv: getenv}
	v.check()
	protocol := strings.ToUpper(v.text("security.protocol"))
	if !slices.Contains([]string{Plaintext, onlySSL, saslPlain, saslSSL}, protocol) {
		v.bad("security.protocol", "must be PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")
	}
	var s Settings
	if protocol == onlySSL || protocol == saslSSL {
		s.tls = v.transport()
	}
	switch withSASL := protocol == saslPlain || protocol == saslSSL; {
	case withSASL:
		s.login = v.login()
	case v.has("sasl.jaas.config") || v.has("sasl.mechanism"):
		v.warn("the sasl. properties have no effect with security.protocol=%s: set it to SASL_SSL or SASL_PLAINTEXT", protocol)
	}
	if s.tls == nil && protocol == Plaintext && (v.has("ssl.truststore.location") || v.has("ssl.keystore.location")) {
		v.warn("the ssl. properties have no effect with security.protocol=%s: set it to SSL or SASL_SSL", protocol)
	}
	v.warnings = append(v.warnings, v.exposed()...)
	if err := errors.Join(v.problems...); err != nil {
		return Settings{}, v.warnings, err
	}
	s.stores, s.Password = v.stores, v.secret(urlPassword)
	if s.login != nil || slices.ContainsFunc(holders, v.has) {
		s.Bound = secret.Bind(named)
	}
	return s, v.warnings, nil
}

// holders are the properties that hold credentials, or lead to some, beside a mechanism of SASL that finds them by itself. A system
// with a URL takes those of TLS without a security.protocol. Trust stores and their passwords are none.
var holders = []string{"sasl.jaas.config", "ssl.keystore.location", "ssl.keystore.key", urlPassword}

// values are the properties while they are parsed.
type values struct {
	given    map[string]plan.Given
	getenv   func(string) string
	files    []string // with secrets
	stores   []*stored
	warnings []string
	problems []error
}

// check reports unknown and refused properties, and warns of those without effect.
func (v *values) check() {
	all := Properties()
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(v.given)) {
		i := slices.Index(names, name)
		if i < 0 {
			v.problems = append(v.problems, fmt.Errorf("unknown property %q%s%s", name, v.from(name), nearest(name, names)))
			continue
		}
		value := strings.TrimSpace(v.given[name].Value)
		if all[i].Secret && name != "sasl.jaas.config" { // parseJAAS learns its options one by one
			secret.Learn(value)
		}
		switch p := all[i]; {
		case value == p.Default || value == "":
		case p.use == noTwin:
			v.warn("%s%s has no effect: %s", name, v.from(name), p.Kt)
		case p.use == refused:
			v.bad(name, "%s: leave it out", p.Kt)
		}
	}
}

// bad reports a problem of a property, without its value.
func (v *values) bad(name, format string, args ...any) {
	v.problems = append(v.problems, plan.At(v.given[name].Source, name, format, args...))
}

func (v *values) warn(format string, args ...any) {
	v.warnings = append(v.warnings, fmt.Sprintf(format, args...))
}

func (v *values) from(name string) string {
	if source := v.given[name].Source; source != "" {
		return " (from " + source + ")"
	}
	return ""
}

// has reports whether a property is given and not empty.
func (v *values) has(name string) bool { return v.given[name].Value != "" }

// text returns the value of a property, or its default.
func (v *values) text(name string) string {
	if g, ok := v.given[name]; ok {
		return strings.TrimSpace(g.Value)
	}
	p, _ := find(name)
	return p.Default
}

// secret returns a value as it was given, with the space around it.
func (v *values) secret(name string) secret.Text { return secret.Cover(v.given[name].Value) }

// list returns the items of a list that are separated by commas.
func (v *values) list(name string) []string {
	var items []string
	for item := range strings.SplitSeq(v.text(name), ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
