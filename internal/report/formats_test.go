package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/charmbracelet/colorprofile"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// The format of org.apache.kafka.tools.ProducerPerformance.
const javaTotal = "%d%s records sent, %f records/sec (%.2f MB/sec), %.2f ms avg latency, %.2f ms max latency, %d ms 50th, %d ms 95th, %d ms 99th, %d ms 99.9th.\n"

func TestAnIntervalOfPerfTestIsKafkas(t *testing.T) {
	var b bytes.Buffer
	w := second(3, false, nil)
	must.Do(t, writePerfInterval(&b, &w))
	must.Match(t, "1000 records sent, 1000.0 records/sec (0.49 MB/sec), 18.8 ms avg latency, 52.3 ms max latency.\n", b.String(), "the interval")
}

func TestPerfTestFirstTellsOfTheWholeRunAndThenOfItsSteadyState(t *testing.T) {
	// A slow second of warm-up, and two fast ones.
	f := result.NewFold(header(1000))
	for i, latency := range []time.Duration{100 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond} {
		at := time.Duration(i) * time.Second
		w := stats.Window{
			Start: at, End: at + time.Second, Warmup: i == 0, Offered: 1000, Acknowledged: 1000, Bytes: 1000 << 10,
			FirstDue: at, LastSent: at + time.Second, LastAck: at + time.Second,
		}
		w.Response.RecordN(latency, 1000)
		f.AddWindow(w)
	}
	f.Finish(result.Trailer{Ended: result.Completed, ElapsedSeconds: 3})
	want := fmt.Sprintf(javaTotal, 3000, "", 1000.0, 0.98, 40.0, 100.0, 10, 100, 100, 100) +
		fmt.Sprintf(javaTotal, 2000, " steady state", 1000.0, 0.98, 10.0, 10.0, 10, 10, 10, 10)
	must.Match(t, want, written(t, PerfTest, f.Result(), Options{}), "lines")
	got := written(t, PerfTest, results()["cut_off"], Options{})
	must.True(t, strings.HasPrefix(got, "1000 records sent, 1000.000000 records/sec"), "a run that ended in its warm-up had a rate too:\n%s", got)
}

func TestJSONIsTheDocument(t *testing.T) {
	for name, r := range results() {
		var back result.Result
		err := json.Unmarshal([]byte(written(t, JSON, r, Options{})), &back)
		must.Hold(t, err == nil, "%s: %v", name, err)
		must.Match(t, written(t, JSON, r, Options{}), written(t, JSON, back, Options{}), "%s reads back differently", name)
	}
}

func TestJSONLinesAreThePointsAndASummary(t *testing.T) {
	r := results()["fixed"]
	lines := strings.Split(strings.TrimSpace(written(t, JSONLines, r, Options{})), "\n")
	must.Hold(t, len(lines) == len(r.Series)+1, "%d lines for %d points", len(lines), len(r.Series))
	for i, line := range lines[:len(lines)-1] {
		var got struct {
			Type string `json:"type"`
			result.Point
		}
		must.Do(t, json.Unmarshal([]byte(line), &got))
		must.True(t, got.Type == "interval" && got.Point == r.Series[i], "line %d is %s", i+1, line)
	}
	var summary struct {
		Type      string          `json:"type"`
		Schema    int             `json:"schema"`
		Series    json.RawMessage `json:"series"`
		SendDelay result.Records  `json:"records"`
	}
	must.Do(t, json.Unmarshal([]byte(lines[len(lines)-1]), &summary))
	must.True(t, summary.Type == "summary" && summary.Schema == result.Schema && string(summary.Series) == "[]" && summary.SendDelay == r.Records,
		"the summary is %+v", summary)
}

// A row that is too short for a rate claims none, and what JSON leaves out is empty.
func TestCSVHasTheFieldsOfJSON(t *testing.T) {
	r := results()["fixed"]
	r.Series = []result.Point{{Seconds: 0.002, Acknowledged: 10, Bytes: 5120, P50: 4000}, {StartSeconds: 1, Seconds: 0.5, Acknowledged: 10, CPUCores: 1, Warmup: true}}
	rows := must.Have(csv.NewReader(strings.NewReader(written(t, CSV, r, Options{}))).ReadAll())(t)
	for name, want := range map[string][]string{
		"start_seconds": {"0", "1"}, "seconds": {"0.002", "0.5"}, "warmup": {"false", "true"}, "acknowledged": {"10", "10"}, "records_per_second": {"", "20"},
		"response_p50_us": {"4000", ""}, "cpu_cores": {"", "1"},
	} {
		at := slices.Index(rows[0], name)
		must.True(t, at >= 0 && rows[1][at] == want[0] && rows[2][at] == want[1], "%s is not %q in %q", name, want, rows)
	}
}

func TestProgressIsOneLine(t *testing.T) {
	now := time.Date(2026, 11, 21, 13, 10, 25, 999, time.FixedZone("CET", 3600))
	sample := host.Sample{ProcessCPU: 1.234, Cores: 4}
	produce, minutes := plan.Plan{}, plan.Plan{Load: plan.Load{Duration: plan.Duration(2 * time.Minute)}}
	consume, roundtrip := readHeader(plan.Consume, 0).Plan, readHeader(plan.Roundtrip, 1000).Plan
	warm, running, empty := second(4, true, nil), second(64, false, withErrors), stats.Window{}
	warm.Oldest = 52 * time.Millisecond // others waited as long
	stamped, plain, both := second(4, true, onlyReads), second(4, false, onlyReads), second(64, false, reads)
	plain.EndToEnd, plain.FetchErrors, both.Failed = stats.Histogram{}, map[string]int64{"NOT_LEADER_OR_FOLLOWER": 3}, 2
	stalled := stats.Window{End: time.Second, Oldest: 900 * time.Millisecond}
	for _, tc := range []struct {
		name        string
		w           *stats.Window
		p           *plan.Plan
		consumerLag int64
		want        string
	}{
		{"in the warm-up", &warm, &produce, 0, "00:05  warm-up  1.00k records/s  0.49 MiB/s  p50 14.7ms  p99 51.2ms  p99.9 52.2ms  err 0"},
		{"with errors, of a known length", &running, &minutes, 0, "01:05/02:00  1.00k records/s  0.49 MiB/s  p50 14.7ms  p99 51.2ms  p99.9 52.2ms  err 1,200"},
		{"in a stall", &stalled, &produce, 0, "00:01  0 records/s  0.00 MiB/s  p50 -  p99 -  p99.9 -  oldest unanswered 900ms  err 0"},
		{"reading, in the warm-up", &stamped, &consume, 12_345, "00:05  warm-up  read 1.00k/s  0.49 MiB/s  consumer lag 12.3k  end to end p50 18.0ms  p99 61.7ms  err 0"},
		{"reading what has no stamp", &plain, &consume, 0, "00:05  read 1.00k/s  0.49 MiB/s  consumer lag 0  err 3"},
		{"a roundtrip", &both, &roundtrip, 7, "01:05/01:00  sent 1.00k/s  0.49 MiB/s  read 1.00k/s  0.49 MiB/s  consumer lag 7  end to end p50 18.0ms  p99 61.7ms  err 2"},
		{"a roundtrip in a stall", &stalled, &roundtrip, 0, "00:01/01:00  sent 0/s  0.00 MiB/s  read 0/s  0.00 MiB/s  consumer lag 0  end to end p50 -  p99 -  oldest unanswered 900ms  err 0"},
		{"one that has read nothing", &empty, &roundtrip, -1, "00:00/01:00  sent 0/s  0.00 MiB/s  read 0/s  0.00 MiB/s  consumer lag not known  end to end p50 -  p99 -  err 0"},
	} {
		lag := result.LagNow{Records: max(tc.consumerLag, 0), Known: tc.consumerLag >= 0}
		must.Match(t, "2026-11-21T12:10:25Z  "+tc.want+"  cpu 1.23/4 cores", progress(now, tc.w, sample, tc.p, &lag), "%s", tc.name)
	}
}

func TestMetricsAreNamedAndOrderedAsInKafkasTools(t *testing.T) {
	for name, r := range results() {
		var b bytes.Buffer
		must.Do(t, Metrics(&b, r))
		if name == "errors" || name == "consume" {
			golden(t, "metrics/"+name+".txt", b.String())
		}
		row := regexp.MustCompile(`^(producer|consumer)(-node|-fetch-manager|-coordinator)?-metrics:[a-z-]+:\{client-id=(kt)?(, node-id=node-\d+)?\} +: \d+\.\d{3}$`)
		lines := strings.Split(strings.Trim(b.String(), "\n"), "\n")
		must.True(t, strings.HasPrefix(lines[0], "Metric Name  ") && strings.HasSuffix(lines[0], "   Value"), "%s: the heading is %q", name, lines[0])
		for i, line := range lines[1:] {
			if !row.MatchString(line) || strings.Index(line, " : ") != strings.LastIndex(lines[0], "   Value") || i > 0 && line < lines[i] {
				t.Errorf("%s: row %d is %q", name, i+1, line)
			}
		}
	}
	must.Match(t, 0, number("many"), "a setting that is no number")
}

func TestTagsSayWhatKindOfLoadItIs(t *testing.T) {
	h := header(0)
	must.Match(t, []string{"acks=all", "4 partitions", "RF 3", "512 B", "lz4", "2 producers"}, Tags(h), "tags")
	h.Tags = []string{"nightly", "eu"}
	got := Tags(h)
	must.True(t, slices.Equal(got[len(got)-2:], []string{"#nightly", "#eu"}), "the tags of the run are not at the end of %q", got)
	h.Plan.Producers, h.Config, h.Tags = 1, nil, nil
	h.Plan.Payload = plan.Payload{Kind: plan.Monotonic}
	must.Match(t, []string{"acks=", "4 partitions", "RF 3", "monotonic payloads"}, Tags(h), "tags of a plain load")
}

func TestYAMLIsTheSameDocumentAsJSON(t *testing.T) {
	r := results()["errors"]
	r.Note = hostile
	var fromYAML, fromJSON any
	text := written(t, YAML, r, Options{})
	must.Do(t, errors.Join(yaml.Unmarshal([]byte(text), &fromYAML), yaml.Unmarshal([]byte(strings.ReplaceAll(written(t, JSON, r, Options{}), hostile, theme.Clean(hostile))), &fromJSON)))
	fromJSON.(map[string]any)["headline_note"] = fromYAML.(map[string]any)["headline_note"] // JSON has it as it was
	diff := cmp.Diff(fromJSON, fromYAML)
	must.True(t, diff == "" && strings.Contains(text, "\nbound_by:\n  limit: failed records\n"), "(-json +yaml):\n%s", diff)
	harmless(t, "yaml", text, 0)
}

func TestALineHasWhatARunIsQuotedBy(t *testing.T) {
	for name, want := range map[string]string{
		"fixed":   "1,000 records/s  p50 14.7ms  p99 51.2ms  errors 0  limit none reached  valid\n",
		"consume": "1,001 records/s  p50 18.0ms  p99 61.7ms  errors 0  limit broker fetches  valid\n",
	} {
		must.Match(t, want, written(t, Line, results()[name], Options{}), "%s", name)
	}
	got := written(t, Line, results()["invalid"], Options{})
	must.True(t, strings.Contains(got, "limit kt could not keep its schedule  NOT VALID: ") && strings.Count(got, "\n") == 1, "%v", got)
}

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	must.Golden(t, filepath.Join("testdata", filepath.FromSlash(name)), got)
}

func written(t *testing.T, format Format, r result.Result, o Options) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, format(&b, r, o))
	return b.String()
}

var (
	escapes  = regexp.MustCompile("\x1b\\[[0-9;]*m")
	trailing = regexp.MustCompile(`(?m)[ \t]+$`)
)

// goldens are the results that have a golden file in each format.
var goldens = map[string][]string{
	"text":      {"fixed", "unlimited", "invalid", "errors", "outage", "consume", "roundtrip", "stages", "embedded", "merged", "merged_mixed", "merged_beside", "limits", "captured"},
	"markdown":  {"errors", "merged_mixed", "limits", "captured"},
	"json":      {"errors", "roundtrip", "merged_mixed"},
	"jsonl":     {"fixed"},
	"csv":       {"errors", "roundtrip"},
	"processes": {"roundtrip", "merged_mixed", "merged_beside"},
	"perf-test": {"errors", "consume", "roundtrip", "merged"},
	"junit":     {"limits", "invalid"},
}

func TestEveryFormatIsWhatTheGoldenFilesShow(t *testing.T) {
	all := results()
	all["limits"], all["merged_beside"] = limited(), mergedBeside()
	o := Options{RunFile: "runs/orders.ktr", Consumer: ConsumerRows{Zone: time.UTC}}
	for format, names := range goldens {
		for _, name := range names {
			text := written(t, Formats[format], all[name], o)
			golden(t, format+"/"+name+".txt", encoded.ReplaceAllString(text, `"hdr_v2_base64":$1"…"`))
		}
	}
	for name, o := range map[string]Options{
		"color":      {Options: doc.Options{Theme: theme.New(theme.Options{Profile: colorprofile.TrueColor, Dark: true})}},
		"ascii":      {Options: doc.Options{Theme: theme.New(theme.Options{ASCII: true})}},
		"60":         {Options: doc.Options{Width: 60}},
		"80_verbose": {Options: doc.Options{Width: 80, Verbose: true, Full: true}},
	} {
		r := all["merged"]
		r.Stability = &result.Stability{Label: inference.Flat, Variation: 0.012, MeansSeconds: 5}
		r.Args, r.KTVersion = append(r.Args, "--topic-config", "min.insync.replicas=2 retention.ms=1", "--header", "it's=1"), "1.2.3 (0123456789ab, 2026-11-20)"
		o.RunFile = "runs/orders.ktr"
		golden(t, "text/merged_"+name+".txt", written(t, Text, r, o))
	}
}

func TestLooksChangeNothingButTheLook(t *testing.T) {
	for name, r := range results() {
		plain := written(t, Text, r, Options{})
		colored := written(t, Text, r, Options{Options: doc.Options{Theme: theme.New(theme.Options{Profile: colorprofile.TrueColor, Dark: true})}})
		must.Match(t, plain, escapes.ReplaceAllString(colored, ""), "%s: colours change more than the colour", name)
		must.True(t, !strings.Contains(plain, "\x1b") && strings.Contains(colored, "\x1b") && !trailing.MatchString(plain),
			"%s has escape sequences without colours, or none with them, or spaces at the end of a line", name)
		for i, c := range written(t, Text, r, Options{Options: doc.Options{Theme: theme.New(theme.Options{ASCII: true})}}) {
			must.Hold(t, c <= '~' && (c >= ' ' || c == '\n'), "%s: %q at byte %d is not printable ASCII", name, c, i)
		}
	}
}

func TestTheSummaryOfASmallRunFitsATerminal(t *testing.T) {
	for _, of := range []string{"fixed", "unlimited", "embedded"} {
		r := results()[of]
		r.Plan.Producers, r.Client.Transactions = 1, 0
		if r.Embedded {
			r.Brokers = r.Brokers[:1]
		}
		text := written(t, Text, r, Options{Options: doc.Options{Width: 80}, RunFile: "runs/orders.ktr"})
		n := strings.Count(text, "\n") - max(0, len(r.Doubts)-1) // each doubt is a line
		must.True(t, n <= 26, "%s takes %d lines:\n%s", of, n, text)
	}
}

func TestASCIIKeepsNamesThatTheUserGave(t *testing.T) {
	text := written(t, Text, results()["fixed"], Options{Options: doc.Options{Theme: theme.New(theme.Options{ASCII: true})}, RunFile: "/home/jörg/läufe/1.ktr"})
	must.Has(t, "the command to read it again names another file", text, "kt report '/home/jörg/läufe/1.ktr'\n")
}

// oneSpace undoes columns and the wrapping of long lines.
func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// encoded is a histogram as HdrHistogram's encoding has it. How it is compressed
// is the business of Go's version, and not of a golden file.
var encoded = regexp.MustCompile(`"hdr_v2_base64":( ?)"[A-Za-z0-9+/=]+"`)

func TestEveryFormatPassesOnThatItCannotWrite(t *testing.T) {
	full := errors.New("no space left on device")
	names := slices.Sorted(maps.Keys(Formats))
	must.Match(t, []string{"csv", "hgrm", "json", "jsonl", "junit", "line", "markdown", "perf-test", "processes", "text", "yaml"}, names, "formats")
	for _, name := range names {
		err := Formats[name](failing{full}, results()["fixed"], Options{})
		must.True(t, errors.Is(err, full), "%s gives %v", name, err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

var _ io.Writer = failing{}

func TestADistributionIsThatOfTheHeadline(t *testing.T) {
	for _, name := range []string{"fixed", "roundtrip"} {
		r, ok := results()[name]
		must.Hold(t, ok, "there is no result %s", name)
		golden(t, "hgrm/"+name+".hgrm", written(t, HGRM, r, Options{}))
	}
	none := results()["fixed"]
	none.Histograms.Response = stats.Distribution{}
	must.Err(t, "no response time was measured", HGRM(io.Discard, none, Options{}), "a result without a latency")
}

func TestALogHasTheMeasuredSecondsUnderTheirTags(t *testing.T) {
	r := results()["fixed"]
	windows := []stats.Window{second(0, true, nil), second(1, false, nil), second(2, false, nil)}
	each := func(f func(*stats.Window)) error {
		for i := range windows {
			f(&windows[i])
		}
		return nil
	}
	var b strings.Builder
	must.Do(t, WriteHLog(&b, r, each))
	counts := make(map[string]int64)
	reader := hdrhistogram.NewHistogramLogReader(strings.NewReader(b.String()))
	for {
		h := must.Have(reader.NextIntervalHistogram())(t)
		if h == nil {
			break
		}
		counts[h.Tag()] += h.TotalCount()
		must.True(t, h.Tag() != "" || h.EndTimeMs()-h.StartTimeMs() == 1000, "an interval is from %d to %d ms", h.StartTimeMs(), h.EndTimeMs())
	}
	for tag, want := range map[string]int64{"": windows[1].Response.Count(), "service": windows[1].Service.Count(), "send-delay": windows[1].SendDelay.Count()} {
		must.True(t, counts[tag] == 2*want && want != 0, "tag %q has %d values, want %d", tag, counts[tag], 2*want)
	}
	full := errors.New("no space left on device")
	err := WriteHLog(failing{full}, r, each)
	must.True(t, errors.Is(err, full), "a full disk gives %v", err)
}

// limited is a run of ten seconds that kept some of its limits. A condition ended it.
func limited() result.Result {
	h := header(1000)
	h.Limits = []string{"p99<60ms", "rate>=50k", "errors==0", "p99<20ms over 2s for 95%", "throughput>0.1MiB/s", "lost==0", "p99<1s over 1m"}
	f := folded(h, 10, 0.4, func(w *stats.Window) {
		if w.Start == 0 {
			w.FirstDue = 0
		}
	})
	f.Finish(result.Trailer{Ended: result.Aborted, ElapsedSeconds: 10, SendingSeconds: 10, AbortedBy: "p99>50ms over 5s: 52.3ms at 10.0s"})
	return f.Result()
}

func TestJUnitCountsItsCases(t *testing.T) {
	r := limited()
	r.Limits[0].Expression = "a\x1b]<&\"' of a run file of another kt"
	text := written(t, JUnit, r, Options{})
	var got struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Cases    []struct {
			Failure *struct{} `xml:"failure"`
		} `xml:"testsuite>testcase"`
	}
	err := xml.Unmarshal([]byte(text), &got)
	must.Hold(t, err == nil, "%v:\n%s", err, text)
	failures := 0
	for _, c := range got.Cases {
		if c.Failure != nil {
			failures++
		}
	}
	must.Match(t, []int{2 + len(r.Limits), got.Tests, failures}, []int{len(got.Cases), len(got.Cases), got.Failures}, "tests and failures")
}

func TestMarkdownIsOneTableRowALimit(t *testing.T) {
	r := limited()
	r.Limits[0].Expression = "a|b\n|c"
	must.Has(t, "an expression breaks the table", written(t, Markdown, r, Options{}), `| a\|b \|c |`)
}
