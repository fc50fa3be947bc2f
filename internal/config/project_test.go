package config

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// The file of a project may be of somebody else, as a clone is.
func TestAProjectFileDescribesLoadsAndNothingElse(t *testing.T) {
	for text, want := range map[string]string{
		"exec: [rm -rf /]\nat: [1s]":                                           "kt.yaml:1: --exec runs a command",
		"produce: {exec: reboot, at: 1s}":                                      "--exec runs a command",
		"clusters: {c: {bootstrap-server: e}}":                                 "kt.yaml:1: clusters: it belongs into the file of the user",
		"produce:\n  command-config: x.properties":                             "--command-config names credentials",
		"payload-file: /etc/shadow":                                            "--payload-file sends a file",
		"command-property: [sasl.oauthbearer.token.endpoint.url=https://x]":    "--command-property says where to connect and how to log in",
		"command-property:\n  - acks=1\n  - ' security.protocol=PLAINTEXT'":    "--command-property says where to connect and how to log in",
		"consume:\n  command-property: bootstrap.servers=x:1":                  "--command-property says where to connect and how to log in",
		"agent:\n  join: x":                                                    "--join opens this host to others",
		"config: x.yaml":                                                       "--config names another file",
		"acks: all\ncommand-property: [linger.ms=1]\nbootstrap-server: b:9092": "",
	} {
		_, err := nothing.parseFile("kt.yaml", []byte(text), ofProject, samePrefix)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A property of the command line goes to the brokers of a project file. One of the user's files does not, whatever else
// was typed.
func TestBrokersOfAProjectGetNoPasswordOfTheUser(t *testing.T) {
	const refused = "the brokers are those of a project file"
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "client.properties"), "ssl.key.password=x\n")
	sys := projectSystem(t, "bootstrap-server: b:1", "command-config: "+file, nil)
	secure := kafka
	secure.Security = isSecure
	for args, want := range map[string]string{
		"": refused, "--command-property linger.ms=1": refused, "--acks 1 --command-property ssl.keystore.password=y": refused,
		"--command-config " + file: "", "--producer.config " + file: "", "--bootstrap-server c:1": "",
	} {
		set := pflag.NewFlagSet("produce", pflag.ContinueOnError)
		flags := NewProduce(set)
		if err := set.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		r, err := flags.Load(sys, secure)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) || len(r.Security.Given()) > 0 != (want == "") {
			t.Errorf("%q: %v, %d properties", args, err, len(r.Security.Given()))
		}
	}
	for args, want := range map[string]string{"": refused, "--bootstrap-server c:1": "", "--command-config " + file: ""} {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		s := NewStudyRun(set)
		if err := errors.Join(set.Parse(strings.Fields(args)), s.Load(sys, samePrefix)); err != nil {
			t.Fatal(err)
		}
		loads := sys
		loads.OfProject, loads.Untyped = s.OfProject(), !s.IsLoginTyped()
		if _, err := LoadOf(plan.Produce, s.Shared(), loads, secure); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("loads of a study with %q: %v", args, err)
		}
	}
}

// The loads of a study have properties of their own, and sections of their own name their brokers.
func TestALoadOfAStudyGetsNoPasswordOfTheUserBesideATypedFile(t *testing.T) {
	const refused = "the brokers are those of a project file"
	typed := write(t, filepath.Join(t.TempDir(), "typed.properties"), "ssl.key.password=x\n")
	secure := kafka
	secure.Security = isSecure
	const own = "produce: {command-property: [sasl.jaas.config=y]}"
	for _, r := range []struct{ project, user, args, want string }{
		{"bootstrap-server: b:1", own, "--command-config " + typed, "sasl.jaas.config (from"},
		{"bootstrap-server: b:1", own, "--bootstrap-server c:1", ""},
		{"produce: {bootstrap-server: b:1}", "command-config: " + typed, "", refused},
		{"produce: {bootstrap-server: b:1}", "study: {command-config: " + typed + "}", "", refused},
		{"produce: {bootstrap-server: b:1}", "", "--command-config " + typed, ""},
	} {
		sys := projectSystem(t, r.project, r.user, nil)
		s := NewStudyRun(pflag.NewFlagSet("", pflag.ContinueOnError))
		if err := errors.Join(s.set.Parse(strings.Fields(r.args)), s.Load(sys, samePrefix)); err != nil {
			t.Fatal(err)
		}
		sys.OfProject, sys.Untyped = s.OfProject(), !s.IsLoginTyped()
		if _, err := LoadOf(plan.Produce, s.Shared(), sys, secure); (r.want == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), r.want) || !strings.Contains(err.Error(), refused)) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestAClusterThatAProjectChoosesKeepsItsProperties(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "client.properties"), "ssl.key.password=x\n")
	secure := kafka
	secure.Security = isSecure
	sys := projectSystem(t, "cluster: c", "clusters: {c: {bootstrap-server: c:1, command-config: "+file+"}}", nil)
	set := pflag.NewFlagSet("produce", pflag.ContinueOnError)
	if r, err := NewProduce(set).Load(sys, secure); err != nil || r.Cluster != "c" || len(r.Security.Given()) != 1 {
		t.Errorf("cluster %q, %v", r.Cluster, err)
	}
}
