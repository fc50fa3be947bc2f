package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/host"
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
	if got := written(t, PerfTest, results()["cut_off"], Options{}); !strings.HasPrefix(got, "1000 records sent, 1000.000000 records/sec") {
		t.Errorf("a run that ended in its warm-up had a rate too:\n%s", got)
	}
}

func TestJSONIsTheDocument(t *testing.T) {
	for name, r := range results() {
		var back result.Result
		if err := json.Unmarshal([]byte(written(t, JSON, r, Options{})), &back); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		must.Match(t, written(t, JSON, r, Options{}), written(t, JSON, back, Options{}), "%s reads back differently", name)
	}
}

func TestJSONLinesAreThePointsAndASummary(t *testing.T) {
	r := results()["fixed"]
	lines := strings.Split(strings.TrimSpace(written(t, JSONLines, r, Options{})), "\n")
	if len(lines) != len(r.Series)+1 {
		t.Fatalf("%d lines for %d points", len(lines), len(r.Series))
	}
	for i, line := range lines[:len(lines)-1] {
		var got struct {
			Type string `json:"type"`
			result.Point
		}
		must.Do(t, json.Unmarshal([]byte(line), &got))
		if got.Type != "interval" || got.Point != r.Series[i] {
			t.Errorf("line %d is %s", i+1, line)
		}
	}
	var summary struct {
		Type      string          `json:"type"`
		Schema    int             `json:"schema"`
		Series    json.RawMessage `json:"series"`
		SendDelay result.Records  `json:"records"`
	}
	must.Do(t, json.Unmarshal([]byte(lines[len(lines)-1]), &summary))
	if summary.Type != "summary" || summary.Schema != result.Schema || string(summary.Series) != "[]" || summary.SendDelay != r.Records {
		t.Errorf("the summary is %+v", summary)
	}
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
		if at < 0 || rows[1][at] != want[0] || rows[2][at] != want[1] {
			t.Errorf("%s is not %q in %q", name, want, rows)
		}
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
		{
			"in the warm-up", &warm, &produce, 0,
			"00:05  warm-up  1.00k records/s  0.49 MiB/s  p50 14.7ms  p99 51.2ms  p99.9 52.2ms  err 0",
		},
		{
			"with errors, of a known length", &running, &minutes, 0,
			"01:05/02:00  1.00k records/s  0.49 MiB/s  p50 14.7ms  p99 51.2ms  p99.9 52.2ms  err 1,200",
		},
		{
			"in a stall", &stalled, &produce, 0,
			"00:01  0 records/s  0.00 MiB/s  p50 -  p99 -  p99.9 -  oldest unanswered 900ms  err 0",
		},
		{
			"reading, in the warm-up", &stamped, &consume, 12_345,
			"00:05  warm-up  read 1.00k/s  0.49 MiB/s  consumer lag 12.3k  end to end p50 18.0ms  p99 61.7ms  err 0",
		},
		{
			"reading what has no stamp", &plain, &consume, 0,
			"00:05  read 1.00k/s  0.49 MiB/s  consumer lag 0  err 3",
		},
		{
			"a roundtrip", &both, &roundtrip, 7,
			"01:05/01:00  sent 1.00k/s  read 1.00k/s  0.49 MiB/s  consumer lag 7  end to end p50 18.0ms  p99 61.7ms  err 2",
		},
		{
			"a roundtrip in a stall", &stalled, &roundtrip, 0,
			"00:01/01:00  sent 0/s  read 0/s  0.00 MiB/s  consumer lag 0  end to end p50 -  p99 -  oldest unanswered 900ms  err 0",
		},
		{
			"one that has read nothing", &empty, &roundtrip, -1,
			"00:00/01:00  sent 0/s  read 0/s  0.00 MiB/s  consumer lag not known  end to end p50 -  p99 -  err 0",
		},
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
		if !strings.HasPrefix(lines[0], "Metric Name  ") || !strings.HasSuffix(lines[0], "   Value") {
			t.Errorf("%s: the heading is %q", name, lines[0])
		}
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
	if got := Tags(h); !slices.Equal(got[len(got)-2:], []string{"#nightly", "#eu"}) {
		t.Errorf("the tags of the run are not at the end of %q", got)
	}
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
	if diff := cmp.Diff(fromJSON, fromYAML); diff != "" || !strings.Contains(text, "\nbound_by:\n  limit: failed records\n") {
		t.Errorf("(-json +yaml):\n%s", diff)
	}
	harmless(t, "yaml", text, 0)
}

func TestALineHasWhatARunIsQuotedBy(t *testing.T) {
	for name, want := range map[string]string{
		"fixed":   "1,000 records/s  p50 14.7ms  p99 51.2ms  errors 0  limit none reached  valid\n",
		"consume": "1,001 records/s  p50 18.0ms  p99 61.7ms  errors 0  limit broker fetches  valid\n",
	} {
		must.Match(t, want, written(t, Line, results()[name], Options{}), "%s", name)
	}
	if got := written(t, Line, results()["invalid"], Options{}); !strings.Contains(got, "limit kt could not keep its schedule  NOT VALID: ") || strings.Count(got, "\n") != 1 {
		t.Error(got)
	}
}
