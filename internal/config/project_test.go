package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// The file of a project may be of somebody else, as a clone is.
func TestAProjectFileDescribesLoadsAndNothingElse(t *testing.T) {
	for text, want := range map[string]string{
		"exec: rm -rf /": "--exec runs a command",
		"produce:\n  command-config: x.properties":                          "--command-config names credentials",
		"payload-file: /etc/shadow":                                         "--payload-file sends a file",
		"command-property: [sasl.oauthbearer.token.endpoint.url=https://x]": "--command-property says where to connect and how to log in",
		"command-property:\n  - acks=1\n  - ' security.protocol=PLAINTEXT'": "--command-property says where to connect and how to log in",
		"consume:\n  command-property: bootstrap.servers=x:1":               "--command-property says where to connect and how to log in",
		"agent:\n  join: x": "--join opens this host to others",
		"acks: all\ncommand-property: [linger.ms=1]\nbootstrap-server: b:9092": "",
	} {
		_, err := System{Getenv: noVariable}.parseFile(filepath.Join(t.TempDir(), "kt.yaml"), []byte(text), ofProject, nothingNear)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func noVariable(string) string { return "" }

func nothingNear(string, []string) string { return "" }
