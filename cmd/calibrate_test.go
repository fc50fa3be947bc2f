package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/result"
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
