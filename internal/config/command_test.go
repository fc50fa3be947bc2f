package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// loadOther loads a command that makes no load: define gives its Load.
func loadOther(t *testing.T, in given, define func(*pflag.FlagSet) func(System) error) error {
	t.Helper()
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	load := define(set)
	must.Do(t, set.Parse(in.args))
	sys := System{Getenv: func(name string) string { return in.env[name] }}
	for name, value := range in.env {
		sys.Environ = append(sys.Environ, name+"="+value)
	}
	if in.file != "" {
		sys.ConfigDir = t.TempDir()
		write(t, filepath.Join(sys.ConfigDir, "kt", "config.yaml"), in.file)
	}
	return load(sys)
}

func TestReportIsLoadedFromEveryLayer(t *testing.T) {
	for _, tc := range []struct {
		name    string
		in      given
		output  string
		noColor bool
		err     string // in it; "": there is none
	}{
		{"nothing", given{}, "text", false, ""},
		{"a variable", given{env: map[string]string{"KT_OUTPUT": "json"}}, "json", false, ""},
		{"a section of the file", given{file: "output: json\nreport: {output: csv, no-color: true}"}, "csv", true, ""},
		{"the section of another command", given{file: "report: {output: csv}\npeers: {output: json}"}, "csv", false, ""},
		{"a flag over both", given{args: []string{"-o", "processes"}, file: "report: {output: csv}", env: map[string]string{"KT_OUTPUT": "json"}}, "processes", false, ""},
		{"NO_COLOR", given{env: map[string]string{"NO_COLOR": "1"}}, "text", true, ""},
		{"a flag over NO_COLOR", given{args: []string{"--no-color=false"}, env: map[string]string{"NO_COLOR": "1"}}, "text", false, ""},
		{"a form of other commands, for all of them", given{file: "output: tui"}, "text", false, ""},
		{"the same in a variable", given{env: map[string]string{"KT_OUTPUT": "tui"}}, "text", false, ""},
		{"the same as a flag", given{args: []string{"-o", "tui"}}, "", false, `--output "tui": `},
		{"a form of no command", given{file: "output: textual"}, "", false, `:1: output "textual": `},
		{"a key that it has not", given{file: "report: {fps: 4}"}, "", false, `unknown key "report.fps"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r *Report
			err := loadOther(t, tc.in, func(set *pflag.FlagSet) func(System) error { r = NewReport(set); return r.Load })
			switch {
			case tc.err != "":
				must.Err(t, tc.err, err, "the value")
			case err != nil || r.Output != tc.output || r.NoColor != tc.noColor:
				t.Errorf("output %q, no colours %t, %v; want %q and %t", r.Output, r.NoColor, err, tc.output, tc.noColor)
			}
		})
	}
}

func TestAFormOfOtherCommandsInAVariableIsNoMistakeOfALoad(t *testing.T) {
	r, err := load(t, given{env: map[string]string{"KT_OUTPUT": "processes"}})
	if err != nil || r.Output != "" {
		t.Errorf("KT_OUTPUT=processes: output %q, %v", r.Output, err)
	}
	if _, err := load(t, given{env: map[string]string{"KT_OUTPUT": "marcdown"}}); err == nil {
		t.Error("a form of no command was taken")
	}
}

func TestOutputsThatOnlyReportHasAreReports(t *testing.T) {
	_, err := load(t, given{args: []string{"-o", "processes"}})
	if err == nil || !strings.Contains(err.Error(), "kt report FILE --output processes") {
		t.Error(err)
	}
	if _, err = load(t, given{args: []string{"-o", "texts"}}); err == nil || !strings.Contains(err.Error(), "did you mean text?") {
		t.Error(err)
	}
}

func TestNamesThatAgentsRefuseAreMistakesOfTheCommandLine(t *testing.T) {
	agent := func(set *pflag.FlagSet) func(System) error { return NewAgent(set).Load }
	collect := func(set *pflag.FlagSet) func(System) error { return NewCollect(set).Load }
	for _, tc := range []struct {
		define func(*pflag.FlagSet) func(System) error
		args   []string
		want   string // how the one problem begins; "": there is none
	}{
		{agent, []string{"--name", "vm-14.example", "--tags", "rack-a,7"}, ""},
		{agent, []string{"--name", ".x"}, `--name ".x": `},
		{agent, []string{"--name", "_x"}, `--name "_x": `},
		{agent, []string{"--tags", "_a"}, `--tags "_a": `},
		{agent, []string{"--tags", strings.Repeat("a", longestTag)}, ""},
		{agent, []string{"--tags", strings.Repeat("a", longestTag+1)}, `--tags "aaa`},
		{agent, []string{"--tags", "all"}, `--tags "all": a tag `},
		{agent, []string{"--join", "a:b:c"}, `--join "a:b:c": `},
		{collect, []string{"--run", "nightly"}, ""},
		{collect, []string{"--run", "nightly@2026-11-21T22:00:00Z"}, ""},
		{collect, []string{"--run", ".x"}, `--run ".x": `},
		{collect, []string{"--run", "x@soon"}, `--run "x@soon": `},
	} {
		err := loadOther(t, given{args: tc.args}, tc.define)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%q: %v", tc.args, err)
		case tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%q gives %v, want one problem that begins with %q", tc.args, err, tc.want)
		}
	}
	for _, name := range []string{".x", "_x", "-x", "a b", strings.Repeat("x", 65)} {
		if _, err := load(t, given{args: []string{"--run", name}}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("--run %q: ", name)) {
			t.Errorf("kt produce --run %q gives %v", name, err)
		}
	}
	must.Match(t, "nightly", mustLoad(t, given{command: plan.Consume, args: append(needed(plan.Consume), "--run", "nightly")}).Name, "the run")
}

func TestTopicsThatAreAllowedAreShownAsTheyWereTyped(t *testing.T) {
	var a *Agent
	err := loadOther(t, given{args: []string{"--allow-topic", "kt-.*|test"}}, func(set *pflag.FlagSet) func(System) error { a = NewAgent(set); return a.Load })
	if err != nil || a.AllowTopic.String() != "kt-.*|test" {
		t.Errorf("%v, %v", a.AllowTopic, err)
	}
}

func TestTheIntervalOfATuningIsATimeUpToAnHour(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "5s": 5 * time.Second, "1h": time.Hour, "2h": -1, "-1s": -1, "soon": -1} {
		var tune *Tune
		err := loadOther(t, given{args: []string{"--interval", text}}, func(set *pflag.FlagSet) func(System) error { tune = NewTune(set); return tune.Load })
		switch {
		case want < 0 && (err == nil || !strings.HasPrefix(err.Error(), "--interval "+strconv.Quote(text)+": ")):
			t.Errorf("%s gives %v", text, err)
		case want >= 0 && (err != nil || tune.Interval != want):
			t.Errorf("%s gives %v, %v", text, tune.Interval, err)
		}
	}
}

func TestTheFileOfEveryCommandMayBeNamedByAVariable(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "mine.yaml"), "output: json")
	env := map[string]string{"KT_CONFIG": file}
	var p *Peers
	err := loadOther(t, given{env: env}, func(set *pflag.FlagSet) func(System) error { p = NewPeers(set); return p.Load })
	if err != nil || p.Output != "json" {
		t.Errorf("kt peers: output %q, %v", p.Output, err)
	}
	must.Match(t, "json", mustLoad(t, given{env: env}).Output, "kt produce: output")
	err = loadOther(t, given{env: map[string]string{"KT_CONFIG": file + "x"}}, func(set *pflag.FlagSet) func(System) error { return NewPeers(set).Load })
	if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestTheThemeComesFromEveryLayer(t *testing.T) {
	for _, g := range []given{{args: []string{"--theme", "light"}}, {env: map[string]string{"KT_THEME": "light"}}, {file: "theme: light"}} {
		must.Match(t, "light", mustLoad(t, g).Theme, "%+v", g)
	}
	must.Match(t, "auto", mustLoad(t, given{}).Theme, "the default")
}
