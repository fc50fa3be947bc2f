package cmd

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

func TestAgentsOfOneHomeHaveFoldersOfTheirOwn(t *testing.T) {
	env := &Env{HomeDir: "/home/kt", Getenv: func(string) string { return "" }}
	one, shared := must.Both(agentDirs(env, "", "vm1"))(t)
	two, sharedToo, _ := agentDirs(env, "", "vm2")
	if filepath.Base(one) != "vm1" || filepath.Base(two) != "vm2" || filepath.Dir(one) != filepath.Dir(two) || shared != sharedToo {
		t.Errorf("folders %s and %s, of others %s and %s", one, two, shared, sharedToo)
	}
	if dir, _, err := agentDirs(env, "/var/kt", "vm1"); err != nil || dir != "/var/kt" {
		t.Errorf("one that was asked for is %s, %v", dir, err)
	}
}

func TestAProcessThatIsLostCountsInTheNumberOfParts(t *testing.T) {
	res := result.Result{Processes: make([]result.ProcessRow, 4)}
	res.Processes[1].Counted = true
	lost := cluster.ProcessError{Host: "vm1", Ended: cluster.Ended{Code: exitFailed, Text: "its processes are gone"}, Lost: true}
	if err := judgeParts(&res, &lost); exitCode(err) != exitFailed || !strings.HasPrefix(err.Error(), "3 of 4 parts are left out") {
		t.Errorf("it ends with %v", err)
	}
	late := cluster.ProcessError{Host: "vm2", Ended: cluster.Ended{Code: exitNotValid, Text: "late"}}
	if err := judgeParts(&res, &late); exitCode(err) != exitNotValid || err.Error() != "vm2: late" {
		t.Errorf("with a worse one it ends with %v", err)
	}
}

func TestWhatAnAgentTellsOfItsConnectionsIsTrueOrLeftOut(t *testing.T) {
	for text, want := range map[string]string{
		"security.protocol=SSL\n":                     "SSL",
		"url.password=geheim\n":                       "", // of RabbitMQ or Pulsar, by the URL of each load
		"ssl.truststore.type=PEM\nurl.password=x\n":   "",
		"client.id=no property of security\nacks=1\n": "PLAINTEXT",
	} {
		path := filepath.Join(t.TempDir(), "client.properties")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		env := &Env{Getenv: func(string) string { return "" }, Stderr: io.Discard}
		if got, _, err := agentSecurity(env, &config.Agent{CommandConfig: path, AllowBroker: []string{"b"}}); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}
