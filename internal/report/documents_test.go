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
		golden(t, "documents/"+name+".txt", wrote(t, "text", d.doc, nil, Options{Width: 100}))
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
				text := wrote(t, "text", d.doc, nil, Options{Theme: th, Width: width, Full: true})
				if strings.Contains(strings.ReplaceAll(escapes.ReplaceAllString(text, ""), " ", ""), "\n\n\n") {
					t.Errorf("%s in %s: two empty lines:\n%s", name, look, text)
				}
				for line := range strings.Lines(text) { // code is to be copied, and whole
					if name != "tune-diff" && name != "tune-explain" && name != "probe" {
						tooWide(t, name+" in "+look, line, width)
					}
				}
			}
		}
		for _, form := range []string{"text", "csv", "markdown", "json"} {
			if text := wrote(t, form, d.doc, d.json, Options{}); strings.Contains(text, "\x1b") {
				t.Errorf("%s as %s: an escape sequence came through: %q", name, form, text)
			}
		}
	}
}

// A file or a pipe gets whole lines.
func TestReasonsAreWholeWithoutATerminal(t *testing.T) {
	d := TuneDoc(found(t), TuneOptions{})
	if why := "long enough to need two lines where it is shown"; !strings.Contains(wrote(t, "text", d, nil, Options{}), why) {
		t.Errorf("%q is not in it", why)
	}
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
		if v, ok := got.Peers[0][name]; !ok || v != nil {
			t.Errorf("%s is %v, there: %t", name, v, ok)
		}
	}
	must.Has(t, "the table", oneSpace(wrote(t, "text", PeersDoc(p), nil, Options{})), "vm15 a:1 client – – away – – – – 0")
	must.Has(t, "the row", wrote(t, "csv", PeersDoc(p), nil, Options{}), "\nvm15,a:1,client,,,away,,0,,,,,,,,\n")
}

func TestACalibrationHasTheWholeShapeForProgramsAlone(t *testing.T) {
	d := calibrated()
	if text := wrote(t, "json", nil, d, Options{}); !strings.Contains(text, d.Shape) || !strings.Contains(text, `"others_cpu_share": null`) {
		t.Error(text)
	}
	if text := wrote(t, "text", CalibrationDoc(d), nil, Options{}); strings.Contains(text, "compression.type") {
		t.Error(text)
	}
}

func TestDocumentsPassOnThatTheyCannotBeWritten(t *testing.T) {
	full := errors.New("no space left on device")
	for _, form := range []string{"text", "csv", "markdown", "json"} {
		if err := Write(failing{full}, form, PeersDoc(peers()), peers(), Options{}); !errors.Is(err, full) {
			t.Errorf("%s gives %v", form, err)
		}
	}
}

func TestTheDocumentOfTuneFitsItsSchema(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	schema := must.Have(c.Compile("../../docs/tune.schema.json"))(t)
	var b bytes.Buffer
	must.Do(t, Indented(&b, found(t).Document(false)))
	must.Do(t, schema.Validate(decoded(t, b.String())))
	if err := schema.Validate(decoded(t, strings.Replace(b.String(), `"verdict": "fail"`, `"verdict": "maybe"`, 1))); err == nil {
		t.Error("a verdict that kt does not know fits the schema")
	}
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
	device := rate - 1
	read := 300.0
	latency := probe.Latency{Count: 1000, Mean: 700, P50: 600, P90: 900, P99: 1500, P999: 70000, Max: 900000}
	return &probe.Report{
		Schema: probe.Schema, Started: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Seconds: 125, Mode: probe.Standard,
		Tests:   []string{"write", "append", "mixed", "parallel", "dd"},
		Machine: probe.Machine{Hostname: "kafka-1", Kernel: "6.8.0", MemoryBytes: 64 << 30, CgroupIO: []string{"8:0 wbps=1048576"}},
		Directories: []probe.Directory{
			{
				Path: "/data/1", FileSystem: "xfs", MountPoint: "/data/1", Device: "sda1", Layers: []string{"raid10"},
				Disks: []probe.Disk{{Name: "sda", Model: "HUC\x1b[2J", Scheduler: "mq-deadline"}}, TotalBytes: 1 << 40, FreeBytes: 1 << 39, SizeBytes: 4 << 30,
				Plan: "plan with 187 MiB/s", PlanMiBPerSecond: 187,
				Results: []probe.Result{
					{Test: "write", What: "direct writes of 1 MiB in sequence, 4 at a time", Seconds: 8, MiBPerSecond: rate, DeviceMiBPerSecond: &device, Latency: latency, Grade: probe.Good, Series: make([]probe.Second, 8), Spread: probe.Spread{CV: 0.02}},
					{
						Test: "append", What: "buffered appends", MiBPerSecond: 900, Latency: latency, Grade: probe.Poor, Stalls: probe.Stalls{Over10ms: 20, Over50ms: 7, Over500ms: 1},
						Append:   &probe.Append{BurstMiBPerSecond: 2100, SustainedMiBPerSecond: 187, From: "device", Steady: true},
						Findings: []probe.Finding{{Metric: "p99.9", Value: 70, Unit: "ms", Grade: probe.Poor, Sentence: "appends stall", Source: "kt's own judgement"}},
					},
					{Test: "mixed", What: "appends, and reads beside them", MiBPerSecond: 130, Latency: latency, Alone: &latency, Read: &read, Grade: probe.OK, Notes: []string{"a note"}},
				},
				DD: []probe.Row{
					{Block: 8192, Count: 300000, Direct: true, MBPerSecond: 0.974, CPUPercent: 1, Command: "dd if=/dev/zero of=/data/1/f bs=8k count=300000 oflag=direct", Cut: true},
					{Block: 81920000, Count: 300, MBPerSecond: 1000, CPUPercent: 99, PageCache: true, Command: "dd if=/dev/zero of=/data/1/f bs=80000k count=300"},
				},
			},
			{Path: "/data/2", FileSystem: "xfs", TotalBytes: 1 << 40, FreeBytes: 1 << 39, Notes: []string{"nothing was measured here"}},
		},
		Parallel: &probe.Parallel{
			MiBPerSecond: []float64{100, 95}, AloneMiBPerSecond: []float64{rate, 190}, Sum: 195, Efficiency: 0.5, Shared: []string{"sda"},
			Findings: []probe.Finding{{Metric: "efficiency", Sentence: "they share a path", Source: "kt's own judgement", Grade: probe.Poor}},
		},
		Interrupted: true,
	}
}

// calibrated is a calibration on a host that others kept busy.
func calibrated() *calibrate.Document {
	c := result.Ceiling{RecordsPerSecond: 83_341, MiBPerSecond: 8, CPUSecondsPerMillion: 2}
	others := 0.6
	return &calibrate.Document{
		Shape: "produce wire 100 B compression.type=none acks=all", Brief: "produce wire 100 B", Ceiling: c, Clients: 1,
		TooLow: "others used 60 % of the CPUs: this ceiling is too low",
		Tried:  []calibrate.Trial{{Clients: 1, OthersCPU: &others, Ceiling: c}},
		Schedule: []calibrate.Kept{
			{Rate: 1000, OfferedShare: 1, Kept: true, Valid: true},
			{Rate: 50_000, OfferedShare: 0.8, Valid: true},
			{Rate: 1_000_000, OutOfReach: true},
		},
	}
}

func examined() *DoctorDocument {
	return &DoctorDocument{
		Schema:  DoctorSchema,
		Exit:    3,
		Cluster: result.Cluster{ID: "KmjL-VGvBSU5Y8k3UhDtOQ", Version: "v4.3", Controller: 3, Brokers: []result.Broker{{ID: 1, Addr: "kafka-1:9092"}}},
		Checks: []DoctorRow{
			{Name: "round trip", About: "broker 1", State: "pass", Text: "min 678µs, p99 12.5ms of 20", Figures: map[string]int64{"min_us": 678, "p99_us": 12500}},
			{
				Name: "listener", About: "broker 2", State: "failure", Text: "advertises kafka-2:9092: the name does not resolve from here (no such host)",
				Advice: "set advertised.listeners of broker 2 to a name that clients resolve, or add the name to DNS or /etc/hosts",
			},
			{Name: "quotas", About: "client-id kt\x1b[31m\nkt: forged", State: "warning", Text: "producer_byte_rate 1 MiB/s on each broker", Advice: "raise it, or stay below"},
			{Name: "rights", State: "unknown", Text: "not tried (--read-only)"},
		},
	}
}

func peers() *PeersDocument {
	one, many, cores, used, free, off, behind, bound := 0.4, 16.0, 8.0, 3.98, int64(20<<30), int64(300), int64(-5_000_000), int64(100)
	return NewPeers([]Peer{
		{
			Name: "vm15", Security: "SASL_SSL SCRAM-SHA-512", Address: "10.0.0.15:7946", Role: "client", Tags: []string{"clients", "rack-a"}, Version: "1.2.3", State: "running", Run: "nightly", Results: 3,
			CPUCores: &used, Cores: &cores, MemoryBytes: &free, FreeBytes: &free, ClockOffsetUS: &off, ClockBoundUS: &bound,
		},
		{Name: "vm14", Address: "10.0.0.14:7946", Role: "broker", Version: "1.2.3", State: "idle", CPUCores: &one, Cores: &many, ClockOffsetUS: &behind, ClockBoundUS: &bound},
		{
			Name: "ip-10-120-13-45.eu-central-1.compute.internal", Address: "10.120.13.45:7946", Role: "client", Version: "1.1.0", State: "away",
			Problem: "it speaks version 1 of the stream, and this kt version 2: use the same kt on all hosts",
		},
	})
}

// keptRuns are runs of every kind.
func keptRuns() []history.Run {
	at := time.Date(2026, 11, 21, 12, 10, 25, 0, time.UTC)
	yes, no, fast, slow, p99 := true, false, 1_234_567.8, 49_999.6, result.Micros(12_345)
	runs := []history.Run{
		{Name: "20261121-121025-produce-orders-50k-acks-all", AtWork: true, Command: "produce", Topic: "orders", Server: "kafka-1.example.com:9092", Tags: []string{"nightly"}, Bytes: 4096},
		{
			Name: "20261121-121024-produce-orders-50k-acks-all", Command: "produce", Topic: "orders", Server: "kafka-1.example.com:9092", RecordsPerSecond: &slow,
			Headline: "response", P99US: &p99, BoundBy: "none", Valid: &yes, Ended: "completed", Tags: []string{"nightly", "eu"}, Bytes: 1 << 20,
		},
		{
			Name: "20261121-121023-collect-produce-orders", Command: "produce", Processes: 12, Topic: strings.Repeat("long-topic-", 20), Server: "kafka-1.example.com:9092",
			RecordsPerSecond: &fast, Headline: "throughput", BoundBy: "broker acks", Valid: &no, Ended: "interrupted", Bytes: 30 << 20,
		},
		{Name: "20261121-121022-roundtrip-kt-bench-50k-acks-all", Command: "roundtrip", Topic: "kt-bench", RecordsPerSecond: &slow, Headline: "end_to_end", P99US: &p99, BoundBy: "the consumers", Valid: &yes, Ended: "cut off"},
		{Name: "20200101-000000-produce-\x1b[31mred", Problem: "line 1: it is no run file", Bytes: 5},
	}
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
