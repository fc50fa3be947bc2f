package security

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
)

const plainJAAS = `org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="hunter2";`

// given makes properties of name=value, from a file that is not there.
func given(pairs ...string) map[string]plan.Given {
	return canned.Given("client.properties:7", pairs...)
}

func nothing(string) string { return "" }

// named are the addresses of these tests.
var named = []string{"*"}

func mustParse(t *testing.T, pairs ...string) Settings {
	t.Helper()
	s, warnings, err := Parse(given(pairs...), named, nothing)
	must.Hold(t, err == nil && len(warnings) == 0, "%q: %v, %v", pairs, warnings, err)
	return s
}

// The built client is asked for what it uses: method.md's table of Java's properties, as far as it
// is of security.
func TestTheBuiltClientHasTheMechanismOfTheProperties(t *testing.T) {
	keytab := filepath.Join(t.TempDir(), "kt.keytab")
	must.Do(t, os.WriteFile(keytab, nil, 0o600))
	for _, r := range []struct {
		name       string
		properties []string
		mechanism  string
		encrypted  bool
	}{
		{"nothing", nil, "", false},
		{"plain text", []string{"security.protocol=PLAINTEXT"}, "", false},
		{"TLS", []string{"security.protocol=ssl"}, "", true},
		{"PLAIN", []string{"security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", "sasl.jaas.config=" + plainJAAS}, "PLAIN", false},
		{"PLAIN over TLS", []string{"security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "sasl.jaas.config=" + plainJAAS}, "PLAIN", true},
		{"SCRAM with 256 bits", []string{"security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-256", `sasl.jaas.config=x.ScramLoginModule required username=a password=b tokenauth=true;`}, "SCRAM-SHA-256", true},
		{"SCRAM with 512 bits, and the module of PLAIN as Java allows it", []string{"security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-512", "sasl.jaas.config=" + plainJAAS}, "SCRAM-SHA-512", true},
		{"a token endpoint", []string{"security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url=https://localhost/token", `sasl.jaas.config=x.OAuthBearerLoginModule required clientId=a clientSecret=b;`}, "OAUTHBEARER", true},
		{"a fixed token", []string{"security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER", `sasl.jaas.config=x.OAuthBearerLoginModule required oauth.access.token="a.b.c";`}, "OAUTHBEARER", true},
		{"AWS", []string{"security.protocol=SASL_SSL", "sasl.mechanism=AWS_MSK_IAM", "sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required;", "sasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler"}, "AWS_MSK_IAM", true},
		{"Kerberos, which is Java's default", []string{"security.protocol=SASL_PLAINTEXT", "sasl.kerberos.service.name=kafka", `sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="` + keytab + `" principal="a@B";`}, "GSSAPI", false},
	} {
		s := mustParse(t, r.properties...)
		client, err := kgo.NewClient(s.Options()...)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		mechanism := ""
		if got := client.OptValue(kgo.SASL).([]sasl.Mechanism); len(got) > 0 {
			mechanism = got[0].Name()
		}
		client.Close()
		config, err := s.TLS("localhost")
		if mechanism != r.mechanism || s.Mechanism() != r.mechanism || (config != nil) != r.encrypted || s.Encrypts() != r.encrypted || err != nil {
			t.Errorf("%s: mechanism %q and %q, TLS %v, %v", r.name, mechanism, s.Mechanism(), config != nil, err)
		}
	}
}

func TestTheTLSConfigurationIsThatOfTheProperties(t *testing.T) {
	const older, newer = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256"
	for _, r := range []struct {
		name     string
		pairs    []string
		min, max uint16
		suites   []uint16
	}{
		{"the default", nil, tls.VersionTLS12, tls.VersionTLS13, nil},
		{"one version", []string{"ssl.enabled.protocols=TLSv1.2"}, tls.VersionTLS12, tls.VersionTLS12, nil},
		{"in any order", []string{"ssl.enabled.protocols=TLSv1.3, TLSv1.1,TLSv1.2"}, tls.VersionTLS11, tls.VersionTLS13, nil},
		{"ssl.protocol changes nothing beside the default", []string{"ssl.protocol=TLSv1.2"}, tls.VersionTLS12, tls.VersionTLS13, nil},
		{"it bounds an empty list", []string{"ssl.protocol=TLSv1.2", "ssl.enabled.protocols="}, tls.VersionTLS12, tls.VersionTLS12, nil},
		{"a suite of TLS 1.2 turns 1.3 off", []string{"ssl.cipher.suites=" + older}, tls.VersionTLS12, tls.VersionTLS12, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}},
		{"suites of TLS 1.3 turn 1.2 off", []string{"ssl.cipher.suites=" + newer}, tls.VersionTLS13, tls.VersionTLS13, nil},
		{"suites of both", []string{"ssl.cipher.suites=" + older + "," + newer}, tls.VersionTLS12, tls.VersionTLS13, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}},
	} {
		c, err := mustParse(t, append(r.pairs, "security.protocol=SSL")...).TLS("b1.example.com")
		if err != nil || c.MinVersion != r.min || c.MaxVersion != r.max || !slices.Equal(c.CipherSuites, r.suites) || c.ServerName != "b1.example.com" {
			t.Errorf("%s: %x to %x, suites %x, %q, %v", r.name, c.MinVersion, c.MaxVersion, c.CipherSuites, c.ServerName, err)
		}
	}
}

func TestAWrongPropertyNamesItsSourceAndShowsNoSecret(t *testing.T) {
	ssl, login := "security.protocol=SSL", []string{"security.protocol=SASL_SSL", "sasl.mechanism=PLAIN"}
	for _, r := range []struct {
		pairs []string
		want  string
	}{
		{[]string{"security.protocol=hunter2"}, "security.protocol (from client.properties:7): must be PLAINTEXT"},
		{[]string{ssl, "ssl.truststor.location=hunter2"}, `unknown property "ssl.truststor.location" (from client.properties:7); did you mean ssl.truststore.location?`},
		{[]string{ssl, "ssl.truststore.location=/not/there"}, "ssl.truststore.location=/not/there: no such file or directory (from client.properties:7)"},
		{[]string{ssl, "ssl.truststore.type=BKS"}, "must be JKS, PKCS12 or PEM"},
		{[]string{ssl, "ssl.enabled.protocols=TLSv1.1,TLSv1.3"}, "cannot leave out a version"},
		{[]string{ssl, "ssl.enabled.protocols=SSLv3"}, "is none of TLSv1"},
		{[]string{ssl, "ssl.cipher.suites=TLS_RSA_WITH_NULL_MD5"}, "Go has none of these suites"},
		{[]string{ssl, "ssl.endpoint.identification.algorithm=ldaps"}, "must be https, or empty"},
		{[]string{ssl, "ssl.engine.factory.class=com.example.Engine"}, "kt runs no Java classes"},
		{[]string{ssl, "ssl.keystore.key=hunter2"}, "go together: give both"},
		{[]string{ssl, "ssl.keystore.key=hunter2", "ssl.keystore.certificate.chain=hunter2"}, "no private key"},
		{login, "sasl.mechanism is PLAIN, which needs it: org.apache.kafka.common.security.plain.PlainLoginModule required"},
		{append(login, `sasl.jaas.config=x.PlainLoginModule required username=a;`), "PlainLoginModule lacks the option password"},
		{append(login, `sasl.jaas.config=x.Krb5LoginModule required password=hunter2;`), "needs org.apache.kafka.common.security.plain.PlainLoginModule, and not Krb5LoginModule"},
		{[]string{"security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA256"}, "did you mean SCRAM-SHA-256?"},
		{append(login, "sasl.jaas.config="+plainJAAS, "sasl.login.callback.handler.class=com.example.Vault"), "kt runs no Java classes"},
		{[]string{"security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER"}, "needs the URL of a token endpoint"},
		{[]string{"security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url=https://h/t"}, "client.id and …client.secret"},
		{[]string{"security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.assertion.file=/x"}, "client id and a secret only"},
		{[]string{"security.protocol=SASL_SSL", "sasl.jaas.config=x.Krb5LoginModule required useKeyTab=true;"}, "sasl.kerberos.service.name: sasl.mechanism is not set, and the default is GSSAPI, which needs it"},
		{[]string{"security.protocol=SASL_SSL", "sasl.jaas.config=x.PlainLoginModule required username=a password=b;"}, "sasl.mechanism is not set, and the default is GSSAPI, which needs com.sun.security.auth.module.Krb5LoginModule, and not PlainLoginModule"},
		{[]string{"security.protocol=SASL_SSL"}, "sasl.mechanism is not set, and the default is GSSAPI, which needs it"},
	} {
		_, _, err := Parse(given(r.pairs...), named, nothing)
		must.True(t, err != nil && strings.Contains(err.Error(), r.want) && !strings.Contains(err.Error(), "hunter2"),
			"%q: %v, want %q", r.pairs, err, r.want)
	}
}

func TestPropertiesWithoutEffectAreWarnedOf(t *testing.T) {
	for _, r := range []struct{ pair, want string }{
		{"sasl.jaas.config=" + plainJAAS, "no effect with security.protocol=PLAINTEXT"},
		{"ssl.truststore.location=/not/there", "no effect with security.protocol=PLAINTEXT"},
		{"ssl.provider=SunJSSE", "ssl.provider (from client.properties:7) has no effect"},
		{"sasl.kerberos.kinit.cmd=/bin/kinit", "has no effect: kt runs no kinit"},
	} {
		_, warnings, err := Parse(given(r.pair), named, nothing)
		text := strings.Join(warnings, "\n")
		must.True(t, err == nil && strings.Contains(text, r.want) && !strings.Contains(text, "hunter2"), "%s: %q, %v", r.pair, text, err)
	}
}

func TestFilesWithSecretsThatOthersCanReadAreWarnedOf(t *testing.T) {
	for _, r := range []struct {
		mode os.FileMode
		want bool
	}{{0o600, false}, {0o640, true}, {0o644, true}, {0o400, false}} {
		file := filepath.Join(t.TempDir(), "client.properties")
		must.Do(t, os.WriteFile(file, nil, r.mode))
		for _, source := range []string{file, file + ":12"} {
			_, warnings, err := Parse(map[string]plan.Given{
				"security.protocol": {Value: "SASL_PLAINTEXT", Source: source}, "sasl.mechanism": {Value: "PLAIN", Source: source}, "sasl.jaas.config": {Value: plainJAAS, Source: source},
			}, named, nothing)
			must.True(t, err == nil && (len(warnings) == 1 && strings.HasSuffix(warnings[0], "chmod 600 "+file)) == r.want && len(warnings) <= 1,
				"mode %o: %q, %v", r.mode, warnings, err)
		}
	}
}

func TestASecretOnTheCommandLineIsWarnedOf(t *testing.T) {
	all := given("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", "sasl.jaas.config="+plainJAAS)
	for name, g := range all {
		g.Source = "--command-property"
		all[name] = g
	}
	_, warnings, err := Parse(all, named, nothing)
	must.True(t, err == nil && len(warnings) == 1 && strings.Contains(warnings[0], "read sasl.jaas.config in the list of processes"),
		"%q, %v", warnings, err)
}

func TestSettingsPrintNoSecret(t *testing.T) {
	s := mustParse(t, "security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "sasl.jaas.config="+plainJAAS)
	type holder struct {
		Name     string
		Security Settings
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, value := range []any{s, &s, holder{"kt", s}} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, "hunter2") || strings.Contains(text, "alice") || strings.Contains(text, "68756e74657232") {
				t.Errorf("%s: %s", verb, text)
			}
		}
	}
	must.Match(t, []string{"SASL_SSL PLAIN", "PLAINTEXT"}, []string{s.String(), (Settings{}).String()}, "prints as %s and %s", s, Settings{})
}

func TestDialWithoutTLSIsTheDialerItself(t *testing.T) {
	refused := errors.New("refused")
	dial := Settings{}.Dial(func(context.Context, string, string) (net.Conn, error) { return nil, refused })
	_, err := dial(t.Context(), "tcp", "h:1")
	must.True(t, errors.Is(err, refused), "%v", err)
	dial = mustParse(t, "security.protocol=SSL").Dial(func(context.Context, string, string) (net.Conn, error) { return nil, refused })
	var handshake *HandshakeError
	if _, err := dial(t.Context(), "tcp", "h:1"); !errors.Is(err, refused) || errors.As(err, &handshake) {
		t.Error(err)
	}
}

// properties.tsv is Kafka 4.3.1's: name, default, and secret where the type is PASSWORD.
func TestTheTableIsThatOfKafka(t *testing.T) {
	var want, got []string
	for _, line := range lines(t, "testdata/properties.tsv") {
		if !strings.HasPrefix(line, "#") {
			want = append(want, line)
		}
	}
	for _, p := range Properties() {
		line := p.Name + "\t" + p.Default + "\t"
		if p.Secret {
			line += "secret"
		}
		if p.Name != urlPassword { // the one that is kt's own
			got = append(got, line)
		}
		must.True(t, p.Kt != "", "%s: nothing says what kt does with it", p.Name)
		must.True(t, Is(p.Name), "%s is no security property", p.Name)
	}
	must.Match(t, want, got, "properties")
}

func TestOnlyWhatIsKnownToBeNoSecretIsShown(t *testing.T) {
	for name, want := range map[string]string{
		"security.protocol": "v", "ssl.truststore.location": "v", "sasl.mechanism": "v",
		"sasl.jaas.config": "[hidden]", "ssl.key.password": "[hidden]", "ssl.keystore.key": "[hidden]", "ssl.keypasswrod": "[hidden]",
		"sasl.oauthbearer.client.credentials.client.secret": "[hidden]",
	} {
		must.Match(t, want, Show(name, "v"), "%s is shown as", name)
	}
}

// jaas_java.txt is what Kafka itself made of the lines of jaas.txt: see Jaas.java.
func TestJAASIsReadAsKafkaReadsIt(t *testing.T) {
	given, wanted := lines(t, "testdata/jaas.txt"), lines(t, "testdata/jaas_java.txt")
	must.Hold(t, len(given) == len(wanted), "%d lines and %d answers", len(given), len(wanted))
	for i, text := range given {
		got := "error"
		if m, err := parseJAAS(strings.ReplaceAll(text, `\u000a`, "\n")); err == nil {
			got = m.name
			for _, name := range slices.Sorted(maps.Keys(m.options)) {
				got += "\t" + name + "=" + m.option(name)
			}
		}
		got = escaped(got)
		must.True(t, got == wanted[i], "%s\n got %q\nwant %q", text, got, wanted[i])
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text := must.Have(os.ReadFile(path))(t)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// escaped writes characters as Jaas.java does.
func escaped(text string) string {
	var out strings.Builder
	for _, c := range text {
		if c == '\t' || c >= ' ' && c < 127 {
			out.WriteRune(c)
		} else {
			fmt.Fprintf(&out, `\u%04x`, c)
		}
	}
	return out.String()
}

func TestWrongJAASSaysWhatToDoAndShowsNoSecret(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "begin with the class of a login module",
		"hunter2":                    "must begin with a login module",
		"a.PlainLoginModule":         "write required",
		"a.PlainLoginModule hunter2": "must be required",
		"a.PlainLoginModule required username=a password=hunter2":            "a semicolon is missing",
		"a.PlainLoginModule required username=a password=hun+hunter2;":       "double quotes",
		"a.PlainLoginModule required username=a password=2hunter2;":          "option password has no value that Java reads",
		"a.PlainLoginModule required username=a password=hun ter hunter2;":   "double quotes",
		"a.PlainLoginModule required username=a password=hun;hunter2;":       "double quotes",
		"com.example.HunterLoginModule required username=a password=hunter2": "must begin with a login module: PlainLoginModule",
	} {
		_, err := parseJAAS(text)
		must.True(t, err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "hunter2"),
			"%q: %v, want %q", text, err, want)
	}
}

// Whatever the text is, parsing ends without a panic, and what was parsed comes back when it is
// written with quotes.
func FuzzJAAS(f *testing.F) {
	text := must.Have(os.ReadFile("testdata/jaas.txt"))(f)
	for line := range strings.Lines(string(text)) {
		f.Add(strings.TrimSpace(line))
	}
	quote := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(s) + `"`
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseJAAS(text)
		if err != nil {
			return
		}
		again := m.name + " required"
		for name, value := range m.options {
			again += " " + quote(name) + "=" + quote(value.Reveal())
		}
		n, err := parseJAAS(again + ";")
		must.Hold(t, err == nil && len(n.options) == len(m.options), "%q: %v, %d of %d options", again, err, len(n.options), len(m.options))
		for name := range m.options {
			must.True(t, n.option(name) == m.option(name), "option %q is %q, was %q", name, n.option(name), m.option(name))
		}
	})
}
