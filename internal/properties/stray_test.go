package properties

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

func TestLinesThatContinueNothingAreNoProperties(t *testing.T) {
	const pem = "ssl.keystore.key=-----BEGIN PRIVATE KEY-----"
	for _, r := range []struct {
		name, text string
		whole      string // names
		stray      []Stray
	}{
		{"properties", "acks=all\nlinger.ms=5\nmy_own=1", "acks linger.ms my_own", nil},
		{"a misspelt one", "ack=all", "ack", nil},
		{"PEM text", pem + "\nMIGHAgEA\nabcd\n-----END PRIVATE KEY-----\nacks=all", "ssl.keystore.key acks", []Stray{{2, "ssl.keystore.key"}}},
		{"two of them", pem + "\nabcd\n-----END X-----\nssl.truststore.certificates=-----BEGIN CERTIFICATE-----\nabcd\n-----END CERTIFICATE-----", "ssl.keystore.key ssl.truststore.certificates", []Stray{{2, "ssl.keystore.key"}, {5, "ssl.truststore.certificates"}}},
		{"PEM text without an end", pem + "\nMIGHAgEA\nlinger.ms=5\nacks=all", "ssl.keystore.key linger.ms acks", []Stray{{2, "ssl.keystore.key"}}},
		{"PEM text that is continued", pem + "\\n\\\nMIGHAgEA\\n\\\n-----END PRIVATE KEY-----\nacks=all", "ssl.keystore.key acks", nil},
		{"base64 alone", "MIGHAgEAMBMGByqGSM49AgEGCCqG\nOF/2N+==\nacks=1", "acks", []Stray{{1, ""}}},
		{"a token", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.s", "", []Stray{{1, ""}}},
		{"a password in quotes", "sasl.jaas.config=x required password=\n\"hunter2\";", "sasl.jaas.config", []Stray{{2, ""}}},
	} {
		list := must.Have(Parse([]byte(r.text)))(t)
		whole, stray := Whole(list)
		var names []string
		for _, p := range whole {
			names = append(names, p.Key)
		}
		if diff := cmp.Diff(r.stray, stray); diff != "" || strings.Join(names, " ") != r.whole {
			t.Errorf("%s: %q (-want +got):\n%s", r.name, names, diff)
		}
	}
}
