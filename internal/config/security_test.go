package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func isSecure(name string) bool {
	return strings.HasPrefix(name, "ssl.") || strings.HasPrefix(name, "sasl.")
}

// secureFile reads a file with these lines.
func secureFile(t *testing.T, lines ...string) (map[string]string, error) {
	t.Helper()
	path := write(t, filepath.Join(t.TempDir(), "client.properties"), strings.Join(lines, "\n")+"\n")
	s, err := SecurityOf(path, nil, System{Getenv: func(name string) string { return map[string]string{"WORD": "from env"}[name] }}, isSecure)
	values := make(map[string]string)
	for name, g := range s.Given() {
		values[name] = g.Value
	}
	return values, err
}

func TestValuesAreLookedUpOnlyByProvidersThatAreNamed(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secrets.properties"), "word=from file\n")
	write(t, filepath.Join(dir, "word"), "from folder")
	const class = "class=org.apache.kafka.common.config.provider."
	for _, r := range []struct {
		lines       []string
		want, wrong string
	}{
		{[]string{"ssl.key.password=${env:WORD}"}, "${env:WORD}", ""},
		{[]string{"ssl.key.password=${env:WORD}", "config.providers=env", "config.providers.env." + class + "EnvVarConfigProvider"}, "from env", ""},
		{[]string{"ssl.key.password=a${e:WORD}b${f:x:y}", "config.providers=e", "config.providers.e." + class + "EnvVarConfigProvider"}, "afrom envb${f:x:y}", ""},
		{[]string{"ssl.key.password=${file:" + dir + "/secrets.properties:word}", "config.providers=file", "config.providers.file." + class + "FileConfigProvider"}, "from file", ""},
		{[]string{"ssl.key.password=${dir:" + dir + ":word}", "config.providers=dir", "config.providers.dir." + class + "DirectoryConfigProvider"}, "from folder", ""},
		{[]string{"ssl.key.password=${dir:" + dir + ":../word}", "config.providers=dir", "config.providers.dir." + class + "DirectoryConfigProvider"}, "", "must be the name of a file"},
		{[]string{"ssl.key.password=${file:" + dir + "/secrets.properties:other}", "config.providers=file", "config.providers.file." + class + "FileConfigProvider"}, "", "has no key other"},
		{[]string{"ssl.key.password=${vault:a:b}", "config.providers=vault", "config.providers.vault.class=com.example.Vault"}, "", "kt knows FileConfigProvider"},
	} {
		got, err := secureFile(t, r.lines...)
		switch {
		case r.wrong != "" && (err == nil || !strings.Contains(err.Error(), r.wrong)):
			t.Errorf("%q: %v", r.lines, err)
		case r.wrong == "" && (err != nil || got["ssl.key.password"] != r.want):
			t.Errorf("%q: %q, %v", r.lines, got, err)
		}
	}
}

func TestALineThatContinuesNothingIsNotShown(t *testing.T) {
	_, err := secureFile(t, "ssl.keystore.key=-----BEGIN PRIVATE KEY-----", "hunter2", "hunter", "-----END PRIVATE KEY-----", "acks=all")
	if err == nil || !strings.Contains(err.Error(), `client.properties:2: the PEM text of ssl.keystore.key goes on here without a line continuation`) ||
		strings.Contains(err.Error(), "hunter") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}

func TestOfAnAgentsFileOnlySecurityCounts(t *testing.T) {
	got, err := secureFile(t, "bootstrap.servers=b:1", "acks=0", "sasl.mechanism=PLAIN")
	if err != nil || len(got) != 1 || got["sasl.mechanism"] != "PLAIN" {
		t.Errorf("%q, %v", got, err)
	}
	must.Match(t, "[hidden]", (Security{}).String(), "prints as")
}
