package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/profiles"
)

type loader interface{ Load(System) error }

// loadOther loads a command that makes no load.
func loadOther[S loader](t *testing.T, in given, define func(*pflag.FlagSet) S) (S, error) {
	t.Helper()
	s := begin(t, define, in.Args...)
	sys := System{Getenv: func(name string) string { return in.Env[name] }}
	for name, value := range in.Env {
		sys.Environ = append(sys.Environ, name+"="+value)
	}
	if in.User != "" {
		sys.ConfigDir = t.TempDir()
		write(t, filepath.Join(sys.ConfigDir, "kt", "config.yaml"), in.User)
	}
	return s, s.Load(sys)
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
		{"a variable", given{Env: map[string]string{"KT_OUTPUT": "json"}}, "json", false, ""},
		{"a section of the file", given{User: "output: json\nreport: {output: csv, no-color: true}"}, "csv", true, ""},
		{"the section of another command", given{User: "report: {output: csv}\npeers: {output: json}"}, "csv", false, ""},
		{"a flag over both", given{Args: []string{"-o", "processes"}, User: "report: {output: csv}", Env: map[string]string{"KT_OUTPUT": "json"}}, "processes", false, ""},
		{"NO_COLOR", given{Env: map[string]string{"NO_COLOR": "1"}}, "text", true, ""},
		{"a flag over NO_COLOR", given{Args: []string{"--no-color=false"}, Env: map[string]string{"NO_COLOR": "1"}}, "text", false, ""},
		{"a form of other commands, for all of them", given{User: "output: tui"}, "text", false, ""},
		{"the same in a variable", given{Env: map[string]string{"KT_OUTPUT": "tui"}}, "text", false, ""},
		{"the same as a flag", given{Args: []string{"-o", "tui"}}, "", false, `--output "tui": `},
		{"a form of no command", given{User: "output: textual"}, "", false, `:1: output "textual": `},
		{"a key that it has not", given{User: "report: {fps: 4}"}, "", false, `unknown key "report.fps"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := loadOther(t, tc.in, NewReport)
			switch {
			case tc.err != "":
				must.Err(t, tc.err, err, "the value")
			case err != nil || r.Output != tc.output || r.NoColor != tc.noColor:
				t.Errorf("output %q, no colours %t, %v; want %q and %t", r.Output, r.NoColor, err, tc.output, tc.noColor)
			}
		})
	}
}

func TestNamesThatAgentsRefuseAreMistakesOfTheCommandLine(t *testing.T) {
	for _, tc := range []struct {
		command string
		args    []string
		want    string // how the one problem begins; "": there is none
	}{
		{"agent", []string{"--name", "vm-14.example", "--tags", "rack-a,7"}, ""},
		{"agent", []string{"--name", ".x"}, `--name ".x": `},
		{"agent", []string{"--name", "_x"}, `--name "_x": `},
		{"agent", []string{"--tags", "_a"}, `--tags "_a": `},
		{"agent", []string{"--tags", strings.Repeat("a", longestTag)}, ""},
		{"agent", []string{"--tags", strings.Repeat("a", longestTag+1)}, `--tags "aaa`},
		{"agent", []string{"--tags", "all"}, `--tags "all": a tag `},
		{"agent", []string{"--join", "a:b:c"}, `--join "a:b:c": `},
		{"collect", []string{"--run", "nightly"}, ""},
		{"collect", []string{"--run", "nightly@2026-11-21T22:00:00Z"}, ""},
		{"collect", []string{"--run", ".x"}, `--run ".x": `},
		{"collect", []string{"--run", "x@soon"}, `--run "x@soon": `},
	} {
		_, err := loadOther(t, given{Args: tc.args}, func(set *pflag.FlagSet) loader { return commands[tc.command](set).(loader) })
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%q: %v", tc.args, err)
		case tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%q gives %v, want one problem that begins with %q", tc.args, err, tc.want)
		}
	}
	for _, name := range []string{".x", "_x", "-x", "a b", strings.Repeat("x", 65)} {
		must.Err(t, fmt.Sprintf("--run %q: ", name), must.Fail(load(t, given{Args: []string{"--run", name}})), "kt produce --run %q", name)
	}
	must.Match(t, "nightly", mustLoad(t, given{Command: plan.Consume, Args: append(needed(plan.Consume), "--run", "nightly")}).Name, "the run")
}

func TestTopicsThatAreAllowedAreShownAsTheyWereTyped(t *testing.T) {
	a, err := loadOther(t, given{Args: []string{"--allow-topic", "kt-.*|test"}}, NewAgent)
	must.True(t, err == nil && a.AllowTopic.String() == "kt-.*|test", "%v, %v", a.AllowTopic, err)
}

func TestTheIntervalOfATuningIsATimeUpToAnHour(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "5s": 5 * time.Second, "1h": time.Hour, "2h": -1, "-1s": -1, "soon": -1} {
		tune, err := loadOther(t, given{Args: []string{"--interval", text}}, NewTune)
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
	p, err := loadOther(t, given{Env: env}, NewPeers)
	must.True(t, err == nil && p.Output == "json", "kt peers: output %q, %v", p.Output, err)
	must.Match(t, "json", mustLoad(t, given{Env: env}).Output, "kt produce: output")
	_, err = loadOther(t, given{Env: map[string]string{"KT_CONFIG": file + "x"}}, NewPeers)
	must.True(t, errors.Is(err, os.ErrNotExist), "%v", err)
}

func TestACalibrationTakesWhatARecordCostsAndNoMore(t *testing.T) {
	for flag, counts := range map[string]bool{
		"record-size": true, "acks": true, "command-property": true, "fetch-size": true, "engine": true, "profile": true, "transactional-id": true,
		"rate": false, "throughput": false, "duration": false, "num-records": false, "messages": false, "warmup": false, "topic": false, "delete-topic": false,
		"verify": false, "output": false, "result": false, "cluster": false, "at": false, "exec": false, "on": false, "one-at-a-time": false, "timeout": false,
		"group-protocol": false,
	} {
		must.Match(t, counts, CountsInCalibration(flag), "--%s counts: %t", flag, !counts)
	}
}

func TestAFlagThatIsLeftOutCountsOnTheCommandLineAlone(t *testing.T) {
	variables := map[string]string{"KT_RATE": "100", "KT_DURATION": "1h", "KT_ACKS": "1"}
	sys := System{Getenv: func(name string) string { return variables[name] }, LeftOut: func(flag string) bool { return !CountsInCalibration(flag) }}
	flags := []Assignment{{Name: "bootstrap-server", Values: []string{"localhost:9092"}}, {Name: "duration", Values: []string{"5s"}}}
	r := must.Have(LoadOf(plan.Produce, flags, sys))(t)
	for flag, want := range map[string]string{"rate": "", "duration": "5s", "acks": "1"} {
		must.Match(t, want, r.Flags[flag], "--%s is … (from %s)", flag, r.Sources[flag])
	}
}

func TestAnAgentOfACompletionHasItsPort(t *testing.T) {
	set := flagSet("produce")
	_ = set.Set("peers", "vm1,vm2:99")
	if got := AgentsOf(set).Peers; !slices.Equal(got, []string{"vm1:7946", "vm2:99"}) {
		t.Error(got)
	}
}

// Sizes of kt probe are as in dd where they have no B, and as everywhere in kt where they have one.
func TestSizesAsInDD(t *testing.T) {
	for text, want := range map[string]int64{
		"8192": 8192, "8k": 8 << 10, "8K": 8 << 10, "08k": 8 << 10, "80M": 80 << 20, "1GiB": 1 << 30, "1MB": 1_000_000, "1.5MB": 1_500_000, "512B": 512, "2t": 2 << 40,
	} {
		must.Match(t, want, must.Have(ddSize(text))(t), "ddSize(%q)", text)
	}
	for _, text := range []string{"", "k", "8x", "-8k", "0", "0x10", "none", "2000t"} {
		if got, err := ddSize(text); err == nil {
			t.Errorf("ddSize(%q) = %d", text, got)
		}
	}
	for _, text := range []string{"8Mb", "8kb", "8b"} {
		if got, err := ddSize(text); !errors.Is(err, plan.ErrBits) {
			t.Errorf("ddSize(%q) = %d, %v, want that it counts bits", text, got, err)
		}
	}
}

func TestAnAgeIsInDaysOrATime(t *testing.T) {
	for _, r := range []struct {
		text string
		want time.Duration // below 0: an error
	}{
		{"", 0},
		{"0", 0},
		{"0d", 0},
		{"90d", 90 * 24 * time.Hour},
		{"1.5d", 36 * time.Hour},
		{"12h", 12 * time.Hour},
		{"36500d", 36500 * 24 * time.Hour},
		{"36501d", -1},
		{"999999h", -1},
		{"-1d", -1},
		{"-1h", -1},
		{"NaNd", -1},
		{"Infd", -1},
		{"d", -1},
		{"90", -1},
		{"tomorrow", -1},
	} {
		is, err := kindOf("optional age").read([]string{r.text})
		got, _ := is.(time.Duration)
		must.True(t, (err != nil) == (r.want < 0) && (err != nil || got == r.want), "%q is %v, %v; want %v", r.text, got, err, r.want)
	}
}

func TestTheListOfRunsIsChosenByTheCommandLineAlone(t *testing.T) {
	r := begin(t, NewRuns)
	sys := System{Getenv: func(name string) string {
		return map[string]string{"KT_TAG": "x", "KT_TOPIC": "orders", "KT_VALID": "true", "KT_ROWS": "5"}[name]
	}}
	must.Do(t, r.Load(sys))
	must.True(t, len(r.Tags) == 0 && r.Topic == "" && !r.Valid && r.Rows == 5, "the environment made it %+v", r)
}

func TestEveryShippedProfileLoads(t *testing.T) {
	for _, command := range loadCommands {
		tree := profiles.Of(string(command))
		names := ProfileNames(tree)
		must.True(t, len(names) != 0, "kt %s has no profiles", command)
		for _, name := range names {
			p := mustLoad(t, given{Command: command, Args: append(needed(command), "--profile", name), Env: map[string]string{"KT_BOOTSTRAP_SERVER": "b:9092"}})
			used := 0
			for _, source := range p.Sources {
				if source == "profile "+name {
					used++
				}
			}
			text := must.Have(fs.ReadFile(tree, name+".yaml"))(t)
			if used == 0 || !strings.HasPrefix(string(text), "description: ") {
				t.Errorf("profile %s of kt %s sets %d flags and has no description, or nothing but one", name, command, used)
			}
		}
	}
	if p := mustLoad(t, given{Args: []string{"--profile", "latency"}}); p.Plan.Load.Rate.IsUnlimited() || p.Plan.Load.Warmup.Duration != plan.Duration(10*time.Second) {
		t.Errorf("profile latency has rate %s and warm-up %v", p.Plan.Load.Rate, p.Plan.Load.Warmup)
	}
	if r := mustLoad(t, given{Command: plan.Consume, Args: append(needed(plan.Consume), "--profile", "tail")}).Plan; r.Read.ToEnd || r.Load.Duration != 0 || r.Read.Timeout != 0 || r.Read.Group != "" {
		t.Errorf("profile tail ends by itself: %+v", r)
	}
}

func TestEveryFlagHasAGroupASourceAndAValue(t *testing.T) {
	for _, command := range loadCommands {
		p := mustLoad(t, given{Command: command, Args: needed(command)})
		newFlags(pflag.NewFlagSet("", pflag.ContinueOnError), command).flags.VisitAll(func(f *pflag.Flag) {
			source := "default"
			if slices.Contains(needed(command), "--"+f.Name) {
				source = "--" + f.Name
			}
			if _, ok := p.Flags[f.Name]; !ok || !slices.Contains(Groups(), groupOf(f)) || p.Sources[f.Name] != source {
				t.Errorf("kt %s --%s: group %q, source %q, value there: %t", command, f.Name, groupOf(f), p.Sources[f.Name], ok)
			}
		})
	}
}

// --verify is left out, as kt produce --verify writes what kt consume --verify reads, and --rate, which is
// of bytes only where records are written.
func TestAFlagIsTheSameInEveryCommand(t *testing.T) {
	first := make(map[string]*pflag.Flag)
	for _, command := range loadCommands {
		newFlags(pflag.NewFlagSet("", pflag.ContinueOnError), command).flags.VisitAll(func(f *pflag.Flag) {
			before := first[f.Name]
			if before == nil {
				first[f.Name] = f
				return
			}
			text := func(f *pflag.Flag) string {
				usage, _, _ := strings.Cut(f.Usage, " (default")
				return fmt.Sprintf("%s, %s, -%s, group %s: %s", f.Name, f.Value.Type(), f.Shorthand, groupOf(f), usage)
			}
			if f.Name != "verify" && f.Name != "rate" && text(f) != text(before) {
				t.Errorf("kt %s has another flag:\n%s\n%s", command, text(f), text(before))
			}
		})
	}
	shared := 0
	for name := range first {
		if newFlags(pflag.NewFlagSet("", pflag.ContinueOnError), plan.Roundtrip).flags.Lookup(name) != nil {
			shared++
		} else if !slices.Contains([]string{"include", "mirror", "repartitioned"}, name) {
			t.Errorf("kt roundtrip has no --%s", name)
		}
	}
	must.True(t, shared >= 60, "only %d flags were compared", shared)
}

func groupOf(f *pflag.Flag) string {
	group, _ := GroupOf(f)
	return group
}
