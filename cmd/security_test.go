package cmd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/kt-bench/kt/internal/must"
)

// secretWord is the password of the tests. No file of kt's and no line may have it.
const secretWord = "hunter2-äé"

// leaks returns the form of the secret that a text has; "": none.
func leaks(text string) string {
	for name, form := range map[string]string{
		"itself": secretWord, "a part of it": "hunter2", "base64": base64.StdEncoding.EncodeToString([]byte(secretWord))[:12], "hex": hex.EncodeToString([]byte("hunter2")),
	} {
		if strings.Contains(text, form) {
			return name
		}
	}
	return ""
}

// securedBroker starts a broker with TLS and PLAIN, and returns its address and files of properties for
// it: with the right password, and with another one.
func securedBroker(t *testing.T) (addr, right, wrong string) {
	t.Helper()
	key := must.Have(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der := must.Have(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	fake := must.Have(kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}),
		kfake.EnableSASL(), kfake.Superuser("PLAIN", "alice", secretWord)))(t)
	t.Cleanup(fake.Close)
	dir := t.TempDir()
	authority := filepath.Join(dir, "ca.pem")
	write := func(path, text string) string {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write(authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	properties := func(name, password string) string {
		return write(filepath.Join(dir, name), strings.Join([]string{
			"security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "ssl.truststore.location=" + authority, "ssl.truststore.type=PEM",
			`sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="` + password + `";`, "linger.ms=3",
		}, "\n")+"\n")
	}
	latin := strings.NewReplacer("ä", `\u00e4`, "é", `\u00e9`).Replace(secretWord)
	return fake.ListenAddrs()[0], properties("client.properties", latin), properties("wrong.properties", latin+"x")
}

// Everything that runs leave behind, and all that they print, is searched for the password.
func TestNothingThatARunLeavesBehindHasASecret(t *testing.T) {
	addr, right, wrong := securedBroker(t)
	home := t.TempDir()
	file := func(name string) string { return filepath.Join(home, name) }
	broken := filepath.Join(t.TempDir(), "broken.properties")
	must.Do(t, os.WriteFile(broken, []byte("ssl.keystore.key=-----BEGIN PRIVATE KEY-----\n"+secretWord+"\n"+secretWord+"\n-----END PRIVATE KEY-----\n"), 0o600))
	jaas := `sasl.jaas.config=x.PlainLoginModule required username=alice password="` + secretWord + `";`
	common := []string{"--bootstrap-server", addr, "--topic", "orders", "--num-records", "500"}
	for _, r := range []struct {
		name string
		args []string
		code int    // -1: any
		want string // in what it prints
	}{
		{"a load", []string{"produce", "--command-config", right, "--result", file("a.ktr"), "--verbose"}, exitOK, "500"},
		{"the whole engine", []string{"produce", "--engine", "wire", "--command-config", right, "--result", file("w.ktr")}, exitOK, "500"},
		{"a verified round trip", []string{"roundtrip", "--verify", "--command-config", right, "--result", file("b.ktr"), "--output", "json"}, exitOK, "acknowledged"},
		{"lines", []string{"produce", "--command-config", right, "--result", file("c.ktr"), "--output", "jsonl"}, exitOK, "acknowledged"},
		{"properties on the command line", []string{"produce", "--command-config", right, "--command-property", jaas, "--result", file("d.ktr"), "--output", "json"}, exitOK, "[hidden]"},
		{"the configuration", []string{"produce", "--command-config", right, "--command-property", jaas, "--print-config"}, exitOK, "[hidden]"},
		{"a wrong password", []string{"produce", "--command-config", wrong, "--result", file("e.ktr")}, exitFailed, "check user name and password"},
		{"a property that is wrong", []string{"produce", "--command-property", "security.protocol=SASL_SSL", "--command-property", jaas + " x", "--result", file("f.ktr")}, exitUsage, "there is more behind the semicolon"},
		{"a key without continuations", []string{"produce", "--command-config", broken, "--result", file("g.ktr")}, exitUsage, "broken.properties:2: the PEM text of ssl.keystore.key"},
		{"a password instead of a property", []string{"produce", "--command-property", secretWord + "=1", "--result", file("h.ktr")}, exitUsage, "does not begin with the name of a property"},
		{"a command that tells it", []string{"produce", "--command-config", right, "--result", file("i.ktr"), "--html", file("i.html"), "--rate", "1000", "--at", "0s", "--exec", "cat " + right + "; echo the word is '" + secretWord + "'; false"}, -1, "the word is [hidden]"},
		{"a broker that says it", []string{"produce", "--bootstrap-server", refusing(t, "the word is "+secretWord), "--result", "none"}, exitUsage, "the word is [hidden]"},
		{"a page", []string{"report", file("i.ktr"), "--output", "html"}, -1, "the word is [hidden]"},
		{"a report of it", []string{"report", file("i.ktr"), "--output", "json"}, -1, "the word is [hidden]"},
		{"a report", []string{"report", file("a.ktr"), "--output", "json"}, exitOK, "acknowledged"},
	} {
		args := r.args
		if r.args[0] != "report" {
			args = slices.Concat(args[:1], common, args[1:])
		}
		code, out, said := runKT(t, args...)
		if all := out + said; r.code >= 0 && code != r.code || !strings.Contains(all, r.want) {
			t.Errorf("%s: code %d, want %d with %q:\n%s", r.name, code, r.code, r.want, all)
		} else if form := leaks(all); form != "" {
			t.Errorf("%s prints the secret (%s):\n%s", r.name, form, all)
		}
	}
	files := 0
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		must.Match(t, "", leaks(string(data)), "the secret in %s", filepath.Base(path))
		for _, name := range []string{"truststore", "sasl.mechanism", "SASL_SSL"} {
			if strings.Contains(strings.ReplaceAll(string(data), "ssl.truststore.location=[hidden]", ""), name) && !strings.HasSuffix(path, "d.ktr") {
				t.Errorf("%s knows of %s", filepath.Base(path), name)
			}
		}
		return err
	})
	must.True(t, err == nil && files >= 5, "%d files were searched, %v", files, err)
	must.True(t, leaks("x"+secretWord) != "" && leaks("[hidden]") == "", "leaks finds nothing")
}

func TestAProcessWithSecretsLeavesNoCoreDump(t *testing.T) {
	addr, right, _ := securedBroker(t)
	var before, after syscall.Rlimit
	must.Do(t, syscall.Getrlimit(syscall.RLIMIT_CORE, &before))
	allowed := syscall.Rlimit{Cur: 1 << 20, Max: max(before.Max, 1<<20)}
	must.Do(t, syscall.Setrlimit(syscall.RLIMIT_CORE, &allowed))
	t.Cleanup(func() { _ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: before.Cur, Max: allowed.Max}) })
	for _, r := range []struct {
		args []string
		want uint64
	}{
		{nil, 1 << 20},
		{[]string{"--command-config", right}, 0},
	} {
		code, _, said := runKT(t, append([]string{"produce", "--bootstrap-server", addr, "--topic", "t", "--num-records", "1", "--print-config"}, r.args...)...)
		if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &after); err != nil || code != exitOK || after.Cur != r.want {
			t.Errorf("%q: code %d, a core dump of %d bytes is allowed, want %d: %v\n%s", r.args, code, after.Cur, r.want, err, said)
		}
	}
	key := filepath.Join(t.TempDir(), "kt.key")
	must.Do(t, syscall.Setrlimit(syscall.RLIMIT_CORE, &allowed))
	runKT(t, "keygen", key)
	code, _, said := runKT(t, "keygen", "--pem", key) // as an agent reads it
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &after); err != nil || code != exitOK || after.Cur != 0 {
		t.Errorf("with a key: code %d, a core dump of %d bytes is allowed: %v\n%s", code, after.Cur, err, said)
	}
}
