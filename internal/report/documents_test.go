package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/history"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/probe"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/tune"
	"github.com/kt-bench/kt/profiles"
)

// documents are those of all commands but runs and studies, with the values that they are of.
func documents(t *testing.T) map[string]struct {
	doc  *doc.Document
	json any
} {
	t.Helper()
	r, before, after := found(t), probed(400), probed(200)
	c := must.Have(probe.Compare(before, after))(t)
	after.Comparison = &c
	s, both := r.Findings[0].Setting, []*tune.Profile{r.Machine.Profile, r.Machine.Profile}
	outcomes := []tune.Outcome{{Change: r.Changes()[0], State: tune.Applied}, {Change: r.Changes()[0], State: tune.Failed, Err: errors.New("read-only file system")}}
	undone := []tune.Undone{
		{Kind: tune.OwnFile, Path: tune.SysctlFile, State: tune.Restored},
		{Setting: "vm.swappiness", Kind: tune.WriteFile, Path: "/proc/sys/vm/swappiness", Old: "60", Now: "1", State: tune.Restored},
		{Setting: "thp.enabled", Kind: tune.WriteFile, Path: "/sys/kernel/mm/transparent_hugepage/enabled", Old: "always", Now: "never", State: tune.Drifted, Err: errors.New("somebody set never")},
	}
	hints := []tune.Hint{
		{Name: "KAFKA_HEAP_OPTS", Value: "-Xms6g -Xmx6g", Where: tune.Environment, Formula: "6 GiB, for there are 62 GiB", Source: "somebody"},
		{Name: "num.io.threads", Value: "16", Where: tune.Properties, Formula: "clamp(16 CPUs, 8, 32) = 16", Source: "somebody"},
	}
	kept := NewRuns(keptRuns())
	return map[string]struct {
		doc  *doc.Document
		json any
	}{
		"tune":         {TuneDoc(r, TuneOptions{}), r.Document(false)},
		"tune-all":     {TuneDoc(r, TuneOptions{All: true, Verbose: true}), nil},
		"tune-explain": {ExplainDoc(s, both, &r.Findings[0]), nil},
		"tune-list":    {SettingsDoc([]*tune.Setting{s}), nil},
		"tune-diff":    {DiffDoc(r, DiffOptions{Manual: true}), nil},
		"tune-applied": {OutcomesDoc(outcomes, OutcomeOptions{Files: true}), nil},
		"tune-undone":  {UndoneDoc(undone, OutcomeOptions{Force: "sudo kt tune --rollback --force", Files: true}), nil},
		"tune-status":  {StatusDoc(undone, OutcomeOptions{Root: " --root /host"}), undone},
		"tune-nothing": {StatusDoc(nil, OutcomeOptions{}), nil},
		"tune-hints":   {HintsDoc(r.Machine, hints), nil},
		"probe":        {ProbeDoc(after, "before.json"), after},
		"calibrate":    {CalibrationDoc(calibrated()), calibrated()},
		"doctor":       {DoctorDoc(examined()), examined()},
		"peers":        {PeersDoc(peers()), peers()},
		"nobody":       {PeersDoc(NewPeers(nil)), NewPeers(nil)},
		"runs":         {RunsDoc(kept), kept},
	}
}

func wrote(t *testing.T, form string, d *doc.Document, v any, o Options) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, Write(&b, form, d, v, o))
	return b.String()
}

func TestDocumentsAreWhatTheGoldenFilesShow(t *testing.T) {
	for name, d := range documents(t) {
		golden(t, "documents/"+name+".txt", wrote(t, "text", d.doc, nil, Options{Options: doc.Options{Width: 100}}))
		switch name {
		case "tune-all", "probe", "calibrate", "doctor", "peers", "runs":
			golden(t, "documents/"+name+".csv", wrote(t, "csv", d.doc, nil, Options{}))
		case "tune", "tune-diff":
			golden(t, "documents/"+name+".md", wrote(t, "markdown", d.doc, nil, Options{}))
		}
		if name == "peers" || name == "runs" {
			golden(t, "documents/"+name+".json", wrote(t, "json", d.doc, d.json, Options{}))
		}
	}
}

func TestDocumentsFitTheirTerminal(t *testing.T) {
	for name, d := range documents(t) {
		for look, th := range looks() {
			for width := 60; width <= 120; width += 5 {
				text := wrote(t, "text", d.doc, nil, Options{Options: doc.Options{Theme: th, Width: width, Full: true}})
				must.True(t, !strings.Contains(strings.ReplaceAll(escapes.ReplaceAllString(text, ""), " ", ""), "\n\n\n"),
					"%s in %s: two empty lines:\n%s", name, look, text)
				for line := range strings.Lines(text) { // code is to be copied, and whole
					if name != "tune-diff" && name != "tune-explain" && name != "probe" {
						tooWide(t, name+" in "+look, line, width)
					}
				}
			}
		}
		for _, form := range []string{"text", "csv", "markdown", "json"} {
			text := wrote(t, form, d.doc, d.json, Options{})
			must.True(t, !strings.Contains(text, "\x1b"), "%s as %s: an escape sequence came through: %q", name, form, text)
		}
	}
}

// A file or a pipe gets whole lines.
func TestReasonsAreWholeWithoutATerminal(t *testing.T) {
	d := TuneDoc(found(t), TuneOptions{})
	why := "long enough to need two lines where it is shown"
	must.True(t, strings.Contains(wrote(t, "text", d, nil, Options{}), why), "%q is not in it", why)
}

func TestTuneSaysWhichFactsOfAMachineAreUnknown(t *testing.T) {
	m := &tune.Machine{Profile: found(t).Machine.Profile, Role: tune.Client, RoleFrom: "no broker runs here"}
	want := []string{"name unknown", "Linux (version unknown)", "cores unknown", "memory unknown"}
	must.Match(t, want, aboutMachine(m), "")
}

func TestWhatIsNotKnownOfAPeerIsNeitherZeroNorBlank(t *testing.T) {
	p := NewPeers([]Peer{{Name: "vm15", Address: "a:1", Role: "client", State: "away"}})
	var got struct {
		Peers []map[string]any `json:"peers"`
	}
	must.Do(t, json.Unmarshal([]byte(wrote(t, "json", nil, p, Options{})), &got))
	for _, name := range []string{"cpu_cores", "cores", "memory_bytes", "available_bytes", "clock_offset_us", "clock_bound_us"} {
		v, ok := got.Peers[0][name]
		must.True(t, ok && v == nil, "%s is %v, there: %t", name, v, ok)
	}
	must.Has(t, "the table", oneSpace(wrote(t, "text", PeersDoc(p), nil, Options{})), "vm15 a:1 client – – away – – – – 0")
	must.Has(t, "the row", wrote(t, "csv", PeersDoc(p), nil, Options{}), "\nvm15,a:1,client,,,away,,0,,,,,,,,\n")
}

func TestACalibrationHasTheWholeShapeForProgramsAlone(t *testing.T) {
	d := calibrated()
	text := wrote(t, "json", nil, d, Options{})
	must.True(t, strings.Contains(text, d.Shape) && strings.Contains(text, `"others_cpu_share": null`), "%v", text)
	text = wrote(t, "text", CalibrationDoc(d), nil, Options{})
	must.True(t, !strings.Contains(text, "compression.type"), "%v", text)
}

func TestDocumentsPassOnThatTheyCannotBeWritten(t *testing.T) {
	full := errors.New("no space left on device")
	for _, form := range []string{"text", "csv", "markdown", "json"} {
		err := Write(failing{full}, form, PeersDoc(peers()), peers(), Options{})
		must.True(t, errors.Is(err, full), "%s gives %v", form, err)
	}
}

func TestTheDocumentOfTuneFitsItsSchema(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	schema := must.Have(c.Compile("../../docs/tune.schema.json"))(t)
	var b bytes.Buffer
	must.Do(t, Indented(&b, found(t).Document(false)))
	must.Do(t, schema.Validate(decoded(t, b.String())))
	err := schema.Validate(decoded(t, strings.Replace(b.String(), `"verdict": "fail"`, `"verdict": "maybe"`, 1)))
	must.True(t, err != nil, "a verdict that kt does not know fits the schema")
}

// A schema that does not know a verdict, or a group, is out of date.
func TestTheSchemaOfTuneKnowsEveryWord(t *testing.T) {
	text := must.Have(os.ReadFile("../../docs/tune.schema.json"))(t)
	var s struct {
		Defs map[string]struct {
			Properties map[string]struct{ Enum []string }
		} `json:"$defs"`
	}
	must.Do(t, json.Unmarshal(text, &s))
	enum := s.Defs["check"].Properties
	var groups []string
	for _, g := range tune.Groups {
		groups = append(groups, string(g))
	}
	must.Match(t, groups, enum["group"].Enum, "groups")
	for _, v := range tune.Verdicts {
		must.Has(t, "the schema does not know the verdict", strings.Join(enum["verdict"].Enum, " ")+" ", string(v))
	}
}

func TestProgressOfAProbe(t *testing.T) {
	p := probe.Progress{Dir: "/data/1", Test: "append", Step: 2, Steps: 7, Elapsed: 3 * time.Second, Duration: time.Minute, MiBPerSecond: 1200, Device: 300, Preparing: true}
	must.Match(t, "2/7 /data/1 append (preparing)  3.00s of 1m00s  1,200 MiB/s  on the device 300 MiB/s", ProbeLine(p, 0), "ProbeLine(…)")
	must.Match(t, "2/7 /data/1", ProbeLine(p, 12), "ProbeLine(…, 12)")
}

func TestALoadFarAboveItsCeilingSaysThatTheCeilingIsTooLow(t *testing.T) {
	for share, want := range map[float64]string{0.62: "at 62% of what this host can offer", 829.69: "the saved ceiling is too low: run kt calibrate --save again"} {
		var r result.Result
		r.Ceiling, r.CeilingShare, r.Valid = &result.Ceiling{RecordsPerSecond: 100}, &share, true
		must.Has(t, "the verdict", fmt.Sprint(verdictOf(&r).Blocks[0].(*doc.Facts).Rows), want)
	}
}

// found is a report with one finding of each kind.
func found(t *testing.T) *tune.Report {
	t.Helper()
	profile := must.Have(tune.LoadProfile("throughput", profiles.Of("tune"), nil))(t)
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
			About: tune.About{
				ID: f.id, Group: f.group, Title: "what it is", Severity: tune.Warning, Confidence: tune.Documented, Risk: "little",
				Why: "what happens otherwise, told in one line that is long enough to need two lines where it is shown",
			},
			Detail: "Sources disagree.", Reads: []string{"/proc/sys/x"}, Sources: []string{"somebody", "somebody else"},
			Roles: tune.Roles, Applies: true, Want: "1",
		}, Reading: f.reading})
	}
	return r
}

// probed is a probe of two directories on one disk.
func probed(rate float64) *probe.Report {
	r := fixture[*probe.Report]("probed")
	first, device := &r.Directories[0].Results[0], rate-1
	first.MiBPerSecond, first.DeviceMiBPerSecond, r.Parallel.AloneMiBPerSecond[0] = rate, &device, rate
	return r
}

// calibrated is a calibration on a host that others kept busy.
func calibrated() *calibrate.Document {
	d := fixture[*calibrate.Document]("calibrated")
	d.Brief = "produce wire 100 B"
	return d
}

func examined() *DoctorDocument {
	d := fixture[*DoctorDocument]("examined")
	d.Exit = 3
	return d
}

func peers() *PeersDocument { return fixture[*PeersDocument]("peers") }

// keptRuns are runs of every kind.
func keptRuns() []history.Run {
	runs, at := fixture[[]history.Run]("runs"), time.Date(2026, 11, 21, 12, 10, 25, 0, time.UTC)
	for i := range runs {
		runs[i].Reference, runs[i].StartedAt = history.Reference(i), at.Add(-time.Duration(i)*time.Second).In(time.FixedZone("elsewhere", 3600))
	}
	return runs
}

func TestStringsThatYAML11ReadsAsAnotherTypeAreQuoted(t *testing.T) {
	for _, word := range strings.Fields("y Y yes Yes YES n N no No NO on On ON off Off OFF true True false null Null NULL ~ = << 1:20 -190:20:30 1:20.5 010 0b10 0x1F 1_000 1e3 .inf .NaN 2001-12-14 2001-12-14t21:59:43.10-05:00") {
		var out strings.Builder
		must.Have(0, asYAML(&out, func(w io.Writer) error {
			return json.NewEncoder(w).Encode(map[string]string{"current": word, word: "plain"})
		}))(t)
		must.Has(t, word, out.String(), `current: "`+word+`"`+"\n")
		must.Has(t, word, out.String(), `"`+word+`": plain`+"\n")
	}
}

func TestAmountsOfASizeHaveTheirDigits(t *testing.T) {
	for _, tc := range []struct {
		n          float64
		unit, want string
	}{{512 << 20, "bytes/s", "512 MiB/s"}, {2048, "bytes/s", "2 KiB/s"}, {900, "bytes/s", "900 B/s"}, {1.5, "scale", "scale 1.50"}, {16, "cores", "16.0 cores"}} {
		must.Match(t, tc.want, amountOf(tc.n, tc.unit), tc.unit)
	}
	d := SizeDoc(&study.SizeDocument{Rows: []study.SizeRow{{Resource: "CPU", Unit: "cores", Low: 2}}})
	row := d.Sections[0].Blocks[0].(*doc.Table).Rows[0].Cells
	must.Match(t, []string{"none is enough", none, none}, []string{row[4].Text, row[5].Text, row[6].Text}, "no number of brokers")
}

func TestProgressSaysTheOutcomeOfATrial(t *testing.T) {
	for outcome, want := range map[study.Outcome]string{"": "  9 records/s, not valid, limit none reached", study.Failed: "  fail: 9 records/s, not valid", study.Invalid: "  invalid: 9 records/s, not valid"} {
		f := study.LoadFigures{Limit: verdict.None, Measures: study.Measures[float64]{metric.Rate: 9}}
		must.Match(t, want, StudyProgress(study.Progress{What: study.Finished, Results: []study.LoadFigures{f}, Outcome: outcome}), string(outcome))
	}
}

func TestProgressSaysWhatARunOfASearchForTheBestSettingsIsFor(t *testing.T) {
	at := study.Cell{At: []study.Flag{{Name: "linger", Value: "5ms"}}}
	for want, turn := range map[string]study.Turn{
		"run 1, screening, to warm up: it does not count": {Number: 1, Phase: study.Screen, Steps: 22},
		"run 8, screening 7 of 22: linger=5ms":            {Number: 8, Cell: at, Repeat: 1, Phase: study.Screen, Step: 7, Steps: 22},
		"run 31, search 8: linger=5ms":                    {Number: 31, Cell: at, Repeat: 3, Phase: study.Seek, Step: 8},
	} {
		must.Match(t, want, StudyProgress(study.Progress{What: study.Begun, Turn: turn}), want)
	}
}
