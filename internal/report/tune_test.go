package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/charmbracelet/colorprofile"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
	"github.com/kt-bench/kt/profiles"
)

// found is a report with one finding of each kind.
func found(t *testing.T) *tune.Report {
	t.Helper()
	profile, err := tune.LoadProfile("throughput", profiles.Of("tune"), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &tune.Machine{
		FS: host.NewFS(fstest.MapFS{}), Profile: profile, Role: tune.Broker, RoleFrom: "process 4711",
		Hostname: "kafka-1", Kernel: "6.8.0", CPUs: 16, Memory: 62 << 30, Virtual: "kvm",
		Process: &tune.Process{Process: host.Process{PID: 4711, Unit: "kafka.service"}},
		Dirs:    []tune.Dir{{Path: "/data/1"}},
	}
	r := &tune.Report{Machine: m}
	for _, f := range []struct {
		id      string
		group   tune.Group
		reading tune.Reading
	}{
		{"vm.swappiness", tune.Memory, tune.Reading{
			Verdict: tune.Warn, Current: "60", Wanted: "≤ 1", Persisted: "60", PersistedIn: "/etc/sysctl.d/99-sysctl.conf",
			Changes: []tune.Change{tune.Sysctl("vm.swappiness", "vm.swappiness", "60", "1")},
		}},
		{"vm.max_map_count", tune.Memory, tune.Reading{Verdict: tune.Fail, Current: "65530", Wanted: "≥ 400000", Note: "60000 are in use"}},
		{"thp.enabled", tune.Memory, tune.Reading{Verdict: tune.OK, Current: "madvise", Wanted: "madvise"}},
		{"limits.open_files", tune.Limits, tune.Reading{Verdict: tune.Unknown, Note: "needs root"}},
		{"cpu.governor", tune.CPU, tune.Absent("a virtual machine has none")},
		{"disk.scheduler", tune.Disks, tune.Reading{
			Verdict: tune.Info, Current: "sda\x1b[2J|: bfq", Wanted: "none", Note: "<b>sda</b>",
			Command: "echo none > /sys/block/sda/queue/scheduler",
		}},
	} {
		r.Findings = append(r.Findings, tune.Finding{Setting: &tune.Setting{
			ID: f.id, Group: f.group, Title: "what it is", Roles: tune.Roles, Severity: tune.Warning, Confidence: tune.Documented,
			Why:    "what happens otherwise, told in one line that is long enough to need two lines where it is shown",
			Detail: "Sources disagree.", Reads: []string{"/proc/sys/x"}, Sources: []string{"somebody", "somebody else"},
			Risk: "little", Applies: true, Want: "1",
		}, Reading: f.reading})
	}
	return r
}

func plainTheme() *theme.Theme { return theme.New(theme.Options{}) }

func TestTuneFormats(t *testing.T) {
	for name, format := range TuneFormats {
		for _, verbose := range []bool{false, true} {
			var b bytes.Buffer
			if err := format(&b, found(t), TuneOptions{Verbose: verbose, All: verbose}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), "\x1b") {
				t.Errorf("%s: what a file of the machine holds reached the terminal: %q", name, b.String())
			}
			file := "tune/" + name
			if verbose {
				file += "-verbose"
			}
			golden(t, file, b.String())
		}
	}
}

func TestTuneTextHasColoursOnATerminal(t *testing.T) {
	var b bytes.Buffer
	if err := TuneText(&b, found(t), TuneOptions{Theme: theme.New(theme.Options{Profile: colorprofile.TrueColor, Dark: true})}); err != nil {
		t.Fatal(err)
	}
	golden(t, "tune/text-colour", b.String())
}

func TestTheRestOfTune(t *testing.T) {
	r := found(t)
	both := []*tune.Profile{r.Machine.Profile, r.Machine.Profile}
	outcomes := []tune.Outcome{
		{Change: r.Changes()[0], State: tune.Applied},
		{Change: r.Changes()[0], State: tune.Failed, Err: errors.New("read-only file system")},
	}
	undone := []tune.Undone{
		{Kind: tune.OwnFile, Path: tune.SysctlFile, State: tune.Restored},
		{Setting: "vm.swappiness", Kind: tune.WriteFile, Path: "/proc/sys/vm/swappiness", Old: "60", Now: "1", State: tune.Restored},
		{Setting: "thp.enabled", Kind: tune.WriteFile, Path: "/sys/kernel/mm/transparent_hugepage/enabled", Old: "always", Now: "never", State: tune.Drifted, Err: errors.New("somebody set never")},
	}
	hints := []tune.Hint{
		{Name: "KAFKA_HEAP_OPTS", Value: "-Xms6g -Xmx6g", Where: tune.Environment, Formula: "6 GiB, for there are 62 GiB", Source: "somebody"},
		{Name: "num.io.threads", Value: "16", Where: tune.Properties, Formula: "clamp(16 CPUs, 8, 32) = 16", Source: "somebody"},
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"explain": func(b *bytes.Buffer) error {
			return Explain(b, r.Findings[0].Setting, both, &r.Findings[0], plainTheme())
		},
		"diff": func(b *bytes.Buffer) error { return TuneDiff(b, r, DiffOptions{Theme: plainTheme(), Manual: true}) },
		"outcomes": func(b *bytes.Buffer) error {
			return counts(1)(TuneOutcomes(b, outcomes, OutcomeOptions{Theme: plainTheme(), Files: true}))
		},
		"undone": func(b *bytes.Buffer) error {
			return counts(1)(TuneUndone(b, undone, OutcomeOptions{Theme: plainTheme(), Force: "sudo kt tune --rollback --force", Files: true, Width: 80}))
		},
		"status": func(b *bytes.Buffer) error {
			return TuneStatus(b, undone, OutcomeOptions{Theme: plainTheme(), Root: " --root /host"})
		},
		"nothing": func(b *bytes.Buffer) error { return TuneStatus(b, nil, OutcomeOptions{Theme: plainTheme()}) },
		"hints": func(b *bytes.Buffer) error {
			return TuneHints(b, r.Machine, hints, plainTheme())
		},
		"list":   func(b *bytes.Buffer) error { return TuneList(b, []*tune.Setting{r.Findings[0].Setting}, plainTheme()) },
		"manual": func(b *bytes.Buffer) error { return tuneManual(b, []*tune.Setting{r.Findings[0].Setting}, both) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		golden(t, "tune/"+name, b.String())
	}
}

// counts holds a number of failures against what it is to be.
func counts(want int) func(int, error) error {
	return func(got int, err error) error {
		if err == nil && got != want {
			return errors.New("another number of failures than was written")
		}
		return err
	}
}

func TestTheDocumentOfTuneFitsItsSchema(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	schema, err := c.Compile("../../docs/tune.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := TuneJSON(&b, found(t), TuneOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(decoded(t, b.String())); err != nil {
		t.Error(err)
	}
	if err := schema.Validate(decoded(t, strings.Replace(b.String(), `"verdict": "fail"`, `"verdict": "maybe"`, 1))); err == nil {
		t.Error("a verdict that kt does not know fits the schema")
	}
}

// A schema that does not know a verdict, or a group, is out of date.
func TestTheSchemaOfTuneKnowsEveryWord(t *testing.T) {
	text, err := os.ReadFile("../../docs/tune.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Defs map[string]struct {
			Properties map[string]struct{ Enum []string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	enum := s.Defs["check"].Properties
	var groups []string
	for _, g := range tune.Groups {
		groups = append(groups, string(g))
	}
	if diff := cmp.Diff(groups, enum["group"].Enum); diff != "" {
		t.Errorf("groups (-kt +schema):\n%s", diff)
	}
	for _, v := range tune.Verdicts {
		if !strings.Contains(strings.Join(enum["verdict"].Enum, " ")+" ", string(v)) {
			t.Errorf("the schema does not know the verdict %s", v)
		}
	}
}
