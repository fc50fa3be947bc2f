package secret

import (
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestWhatMayBeASecretIsHidden(t *testing.T) {
	for text, want := range map[string]string{
		"ssl.key.password=a b":                      "ssl.key.password=[hidden]",
		"acks=1,ssl.truststore.password=c":          "acks=1,ssl.truststore.password=[hidden]",
		"--producer-props=sasl.jaas.config=x y;":    "--producer-props=sasl.jaas.config=[hidden]",
		"MYSQL_PWD=s true":                          "MYSQL_PWD=[hidden]",
		`curl -H "Authorization: Bearer s" http://`: `curl -H "Authorization: [hidden]`,
		"mysql --password s":                        "mysql --password [hidden]",
		"sleep 1 --token=s\necho":                   "sleep 1 --token=[hidden]",
		"authorization=s":                           "authorization=[hidden]",
		"x-api-key=s":                               "x-api-key=[hidden]",
		"cd $(pwd) && ls":                           "cd $(pwd) && ls",
		"ssh kafka-2 systemctl stop kafka":          "ssh kafka-2 systemctl stop kafka",
		"secret-orders":                             "secret-orders",
		"trace=1":                                   "trace=1",
	} {
		must.Match(t, want, Hide(text), "Hide(%q)", text)
	}
	must.Match(t, hidden, HideValue("Authorization", "s"), "an authorization")
	must.Match(t, "1", HideValue("trace", "1"), "a trace")
}
