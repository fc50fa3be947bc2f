package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/result"
)

// field is a field of a document by its path, with the first element of a list.
func field(v any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		if list, ok := v.([]any); ok {
			if len(list) == 0 {
				return nil, false
			}
			v = list[0]
		}
		object, _ := v.(map[string]any)
		next, ok := object[name]
		if !ok {
			return nil, false
		}
		v = next
	}
	return v, true
}

func TestAFieldThatDoesNotApplyIsAbsent(t *testing.T) {
	writing := []string{
		"records.offered", "errors", "throughput.records_per_second", "batches", "latency_us.response.p99", "histograms.response", "effective_config",
		"series.acknowledged", "brokers.requests", "partitions.records", "plan.producers",
	}
	rate := []string{"throughput.target_records_per_second", "latency_us.send_delay", "histograms.send_delay", "series.send_delay_p99_us"}
	reading := []string{"records.consumed", "fetch.records_per_second", "series.consumed", "brokers.fetch"}
	all := results()
	for _, tc := range []struct {
		of       string
		has, not [][]string
	}{
		{"fixed", [][]string{writing, rate}, [][]string{reading}},
		{"unlimited", [][]string{writing}, [][]string{reading, rate}},
		{"consume", [][]string{reading}, [][]string{writing, rate}},
		{"roundtrip", [][]string{writing, rate, reading}, nil},
	} {
		r := all[tc.of]
		whole := decoded(t, written(t, JSON, r, Options{}))
		lines := strings.Split(written(t, JSONLines, r, Options{}), "\n")
		interval, summary := decoded(t, lines[0]), decoded(t, lines[len(lines)-2])
		check := func(path string, want bool) {
			if _, ok := field(whole, path); ok != want {
				t.Errorf("%s: %s is there: %t", tc.of, path, ok)
			}
			in, of := summary, path
			if name, ok := strings.CutPrefix(path, "series."); ok {
				in, of = interval, name
			}
			if _, ok := field(in, of); ok != want {
				t.Errorf("%s: %s is there in jsonl: %t", tc.of, path, ok)
			}
		}
		for _, list := range tc.has {
			for _, path := range list {
				check(path, true)
			}
		}
		for _, list := range tc.not {
			for _, path := range list {
				check(path, false)
			}
		}
	}
	if n, _ := field(decoded(t, written(t, JSON, all["fixed"], Options{})), "records.failed"); n != json.Number("0") {
		t.Errorf("no record failed, and failed is %v", n)
	}
}

func TestAProcessHasTheFieldsOfItsCommand(t *testing.T) {
	r := results()["merged_mixed"]
	rows, _ := field(decoded(t, written(t, JSON, r, Options{})), "processes")
	for i, row := range rows.([]any) {
		_, offered := field(row, "records.offered")
		_, consumed := field(row, "records.consumed")
		if w, c := does(r.Processes[i].Command); (w || c) && (offered != w || consumed != c) {
			t.Errorf("%s has offered records: %t, and read ones: %t", r.Processes[i].Command, offered, consumed)
		}
	}
}

func TestALatencyOfNothingIsAbsent(t *testing.T) {
	r := results()["fixed"]
	r.Latency, r.Warmup.Response, r.Brokers[0].Latency = result.Latencies{}, result.Latency{}, result.Latency{}
	whole := decoded(t, written(t, JSON, r, Options{}))
	for _, path := range []string{"latency_us.response", "latency_us.send_delay", "warmup.response_us", "brokers.request_latency_us"} {
		if v, ok := field(whole, path); ok {
			t.Errorf("%s is %v", path, v)
		}
	}
	if text := written(t, Text, r, Options{Verbose: true}); strings.Contains(text, "p99 0s") || !strings.Contains(text, "response     not measured") || !strings.Contains(text, "left out, p99 –") {
		t.Errorf("latencies of nothing in:\n%s", text)
	}
}
