package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/secret"
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

// permits reports whether the credentials of a run are bound to where it goes.
func permits(r *Run) bool {
	bound := secret.Bind(r.Security.Named())
	return !slices.ContainsFunc(r.Plan.Addresses(), func(addr string) bool { return bound.Permit(addr) != nil })
}

// Addresses of a project file may be somebody else's, so credentials are not bound to them, wherever these come from.
func TestCredentialsAreBoundToWhatTheirOwnerNamed(t *testing.T) {
	dir := t.TempDir()
	bare := write(t, filepath.Join(dir, "bare.properties"), "ssl.key.password=x\n")
	here := write(t, filepath.Join(dir, "here.properties"), "ssl.key.password=x\nbootstrap.servers=b:1,\n")
	away := write(t, filepath.Join(dir, "away.properties"), "ssl.key.password=x\nbootstrap.servers=${env:AWAY}\nconfig.providers=env\n"+
		"config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n")
	clusters := "clusters: {c: {bootstrap-server: c:1, command-config: " + bare + "}}\n"
	secure := kafka
	secure.Security = isSecure
	for _, r := range []struct {
		project, user, env, args string
		want                     bool
	}{
		{"bootstrap-server: b:1", "command-config: " + bare, "", "", false},
		{"bootstrap-server: b:1", "", "KT_COMMAND_CONFIG=" + bare, "", false},
		{"bootstrap-server: b:1", "", "", "--command-config " + bare, false},
		{"bootstrap-server: b:1", "", "", "--producer.config " + bare, false},
		{"bootstrap-server: b:1", "", "", "--command-property ssl.key.password=y", false},
		{"broker-list: b:1", "", "", "--topic t --command-config " + bare, false},
		{"url: 'amqp://b:1'", "", "", "--command-config " + bare, false},
		{"url: 'pulsar://b:1'", clusters + "cluster: c", "", "", false},
		{"url: 'kafka://b:1'", clusters + "cluster: c", "", "", false},
		{"url: 'amqp://b?admin=http://b:9'", "", "", "--command-config " + bare, false},
		{"bootstrap-server: b:1", "command-config: " + away, "AWAY=a:1", "", false},
		{"bootstrap-server: b:1", "command-config: " + here, "", "", true},
		{"bootstrap-server: b:1", "", "KT_COMMAND_CONFIG=" + here, "", true},
		{"bootstrap-server: x:1", "", "KT_COMMAND_CONFIG=" + away + " AWAY=a:1", "", true}, // the file wins
		{"bootstrap-server: b:1", "command-config: " + bare, "", "--bootstrap-server c:1", true},
		{"", "bootstrap-server: b:1\ncommand-config: " + bare, "", "", true},
		{"", "command-config: " + bare, "KT_BOOTSTRAP_SERVER=b:1", "", true},
		{"", "", "KT_URL=amqp://b?admin=http://b:9", "--command-config " + bare, true},
		{"", "", "", "--url kafka://b:1,b:2 --command-config " + bare, true},
		{"cluster: c", clusters, "", "", true},
	} {
		vars := map[string]string{}
		for pair := range strings.FieldsSeq(r.env) {
			name, value, _ := strings.Cut(pair, "=")
			vars[name] = value
		}
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		define := NewProduce
		if strings.Contains(r.project, "broker-list") {
			define = NewConsume
		}
		flags := define(set)
		err := set.Parse(strings.Fields(r.args))
		run, bad := flags.Load(projectSystem(t, r.project, r.user, vars), secure)
		if err = errors.Join(err, bad); err != nil || len(run.Security.Given()) == 0 || permits(&run) != r.want {
			t.Errorf("%+v: to %v, bound to %v, %v", r, run.Plan.Addresses(), run.Security.Named(), err)
		}
	}
}

// The file of a study may be somebody else's too, and what a project file says stays that in the loads of a study.
func TestCredentialsAreNotBoundToWhatAStudyNames(t *testing.T) {
	bare := write(t, filepath.Join(t.TempDir(), "bare.properties"), "ssl.key.password=x\n")
	secure := kafka
	secure.Security = isSecure
	named := func(foreign bool, flags ...string) (all []Assignment) {
		for i := 0; i < len(flags); i += 2 {
			all = append(all, Assignment{flags[i], []string{flags[i+1]}, foreign})
		}
		return all
	}
	for _, r := range []struct {
		project, args string
		of            []Assignment
		want          bool
	}{
		{"bootstrap-server: b:1", "", nil, false},
		{"bootstrap-server: b:1", "--command-config " + bare, nil, false},
		{"produce: {bootstrap-server: b:1}", "--command-config " + bare, nil, false},
		{"bootstrap-server: b:1", "--bootstrap-server c:1", nil, true},
		{"", "", named(true, "bootstrap-server", "b:1"), false},
		{"", "", named(true, "bootstrap-server", "b:1", "command-config", bare), false},
		{"", "", named(true, "url", "amqp://b:1"), false},
		{"", "", named(true, "command-property", "bootstrap.servers=b:1"), false},
		{"", "", named(false, "bootstrap-server", "b:1"), true},
	} {
		sys := projectSystem(t, r.project, "command-config: "+bare, nil)
		s := NewStudyRun(pflag.NewFlagSet("", pflag.ContinueOnError))
		if err := errors.Join(s.set.Parse(strings.Fields(r.args)), s.Load(sys, samePrefix)); err != nil {
			t.Fatal(err)
		}
		run, err := LoadOf(plan.Produce, append(s.Shared(), r.of...), sys, secure)
		if err != nil || permits(&run) != r.want {
			t.Errorf("%+v: to %v, bound to %v, %v", r, run.Plan.Addresses(), run.Security.Named(), err)
		}
	}
	_, err := LoadOf(plan.Produce, named(true, "command-property", "ssl.endpoint.identification.algorithm="), projectSystem(t, "", "command-config: "+bare, nil), secure)
	if err == nil || !strings.Contains(err.Error(), "ssl.endpoint.identification.algorithm") {
		t.Errorf("a study loosens TLS: %v", err)
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
