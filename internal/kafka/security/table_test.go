package security

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

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
		if p.Kt == "" {
			t.Errorf("%s: nothing says what kt does with it", p.Name)
		}
		if !Is(p.Name) {
			t.Errorf("%s is no security property", p.Name)
		}
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
