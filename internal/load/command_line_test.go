package load

import (
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestTheCommandLineOfAResultHoldsNoSecret(t *testing.T) {
	got := commandLine([]string{
		"produce", "--topic", "orders", "--command-property", "ssl.key.password=a b", "--producer-props=sasl.jaas.config=x username=\"a=b\";",
		"--header", "trace=1", "--command-property", "acks=1,ssl.truststore.password=c",
	})
	want := []string{
		"kt", "produce", "--topic", "orders", "--command-property", "ssl.key.password=[hidden]", "--producer-props=sasl.jaas.config=[hidden]",
		"--header", "trace=1", "--command-property", "acks=1,ssl.truststore.password=[hidden]",
	}
	must.Match(t, want, got, "the command line")
}
