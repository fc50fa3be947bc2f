package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/study"
)

func TestACeilingThatIsTooLowIsNotSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), calibrate.FileName)
	var said strings.Builder
	env := &Env{Stderr: &said}
	d := calibrate.Document{Schema: calibrate.Schema, Ceiling: result.Ceiling{RecordsPerSecond: 1}, TooLow: "others used 60 % of the CPUs: this ceiling is too low"}
	err := saveCeiling(env, path, d, false)
	if exitCode(err) != exitNotValid || !strings.Contains(err.Error(), "60 %") {
		t.Errorf("%v, with exit code %d", err, exitCode(err))
	}
	if _, err := os.Stat(path); err == nil || said.String() != "" {
		t.Errorf("it was saved, and kt said %q", said.String())
	}
	d.TooLow = ""
	if err := saveCeiling(env, path, d, false); err != nil || !strings.Contains(said.String(), "saved in "+path) {
		t.Errorf("%v, and kt said %q", err, said.String())
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestALoadWithTLSHasNoCeiling(t *testing.T) {
	env := quietEnv()
	for protocol, want := range map[string]bool{"PLAINTEXT": true, "SSL": false} {
		asked := must.Have(newRunner(env).load(study.Load{Command: "produce", Flags: []study.Flag{{Name: bootstrapServer, Value: "localhost:9092"}, {Name: "command-property", Value: "security.protocol=" + protocol}}, Typed: []study.Flag{{Name: "command-property", Value: "security.protocol=" + protocol}}}))(t)
		must.Match(t, want, asked.ceiling(env) != nil, "%s: a ceiling is looked for", protocol)
	}
}
