package report

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

const schemaFile = "../../docs/result.schema.json"

// node is a part of the schema, as far as the tests below look at it.
type node struct {
	Ref         string          `json:"$ref"`
	Type        any             `json:"type"`
	Description string          `json:"description"`
	Required    []string        `json:"required"`
	Properties  map[string]node `json:"properties"`
	Items       *node           `json:"items"`
	Additional  json.RawMessage `json:"additionalProperties"`
	Defs        map[string]node `json:"$defs"`
}

func readSchema(t *testing.T) node {
	t.Helper()
	data := must.Have(os.ReadFile(schemaFile))(t)
	var root node
	must.Do(t, json.Unmarshal(data, &root))
	return root
}

func TestTheSchemaDescribesEveryFieldOfTheResult(t *testing.T) {
	root := readSchema(t)
	w := schemaWalk{T: t, root: root, used: make(map[string]bool)}
	w.object("result", reflect.TypeFor[result.Result](), root)
	must.Match(t, slices.Sorted(maps.Keys(root.Defs)), slices.Sorted(maps.Keys(w.used)), "definitions that the result uses")
}

// schemaWalk compares Go types with the schema.
type schemaWalk struct {
	*testing.T
	root node
	used map[string]bool // definitions that were come by
}

// histogram is how stats.Distribution writes itself.
type histogram struct {
	HDR        string `json:"hdr_v2_base64,omitempty"`
	Sum        int64  `json:"sum_us,omitempty"`
	Min        int64  `json:"min_us,omitempty"`
	Max        int64  `json:"max_us,omitempty"`
	OutOfRange int64  `json:"out_of_range,omitempty"`
	Unserved   int64  `json:"unserved,omitempty"`
}

func (w *schemaWalk) value(at string, goType reflect.Type, n node) {
	if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		w.used[name] = true
		n = w.root.Defs[name]
	}
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	switch {
	case goType == reflect.TypeFor[stats.Distribution]():
		w.object(at, reflect.TypeFor[histogram](), n)
	case goType.Kind() == reflect.Slice && n.Items != nil:
		w.value(at+"[]", goType.Elem(), *n.Items)
	case goType.Kind() == reflect.Struct && n.Properties != nil:
		w.object(at, goType, n)
	}
}

func (w *schemaWalk) object(at string, goType reflect.Type, n node) {
	names, required := []string{}, []string{}
	for _, f := range reflect.VisibleFields(goType) {
		tag, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || tag == "" || tag == "-" {
			continue
		}
		names = append(names, tag)
		if outer := goType.Field(f.Index[0]); rest == "" && f.Tag.Get("of") == "" && outer.Tag.Get("of") == "" {
			required = append(required, tag)
		}
		if p, ok := n.Properties[tag]; !ok || p.Description == "" {
			w.Errorf("%s.%s has no description in the schema", at, tag)
		} else {
			w.value(at+"."+tag, f.Type, p)
		}
	}
	slices.Sort(names)
	slices.Sort(required)
	slices.Sort(n.Required)
	must.Match(w, names, slices.Sorted(maps.Keys(n.Properties)), "fields of %s", at)
	must.Match(w, required, n.Required, "fields that %s always has", at)
	must.Match(w, "false", string(n.Additional), "%s may have other fields", at)
}

func TestTheHistogramInTheSchemaIsTheOneThatIsWritten(t *testing.T) {
	var h stats.Distribution
	h.Record(5e6)
	h.Record(-1)
	h.RecordNever(1)
	text := must.Have(json.Marshal(h))(t)
	var got map[string]any
	must.Do(t, json.Unmarshal(text, &got))
	var want []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[histogram]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		want = append(want, name)
	}
	slices.Sort(want)
	must.Match(t, want, slices.Sorted(maps.Keys(got)), "fields")
}

// A number's unit is in its name or in that of the object that it is in. What has
// none is a plain count, an id, or a ratio; the unit of a limit's value stands beside it.
func TestEveryNumberHasItsUnitInItsName(t *testing.T) {
	unit := regexp.MustCompile(`(^|_)(ns|us|ms|seconds|bytes|mib|second|cores|cpus|records|requests|share|ratio|percent|id)(_|$)`)
	plain := []string{
		"aborted_transactions", "acknowledged", "all_consumers", "all_producers", "asked", "checks", "collections", "commits", "compressibility",
		"consumed", "consumers", "count", "counted_processes", "dropped_packets", "events",
		"failed", "failed_connects", "first_consumer", "first_producer", "gomaxprocs", "groups", "keys", "made", "memory_maps_limit", "memory_maps_max", "not_in_log", "offered", "out_of_range", "partition_count", "partition_slot",
		"partition_slots", "partitions", "pid", "polls", "process", "processes", "processes_before", "processing_threads", "producers",
		"record_key_range", "replication_factor", "runs", "runs_with_it", "schema", "seed", "stretches", "stretches_empty", "stretches_held", "thermal_throttles", "topics_left_out", "transactions", "unknown", "unsent", "unserved", "value", "zipf",
	}
	// Definitions that hold nothing but counts of records, and numbers of them.
	counts := []string{"verify", "lost", "share_group"}
	root := readSchema(t)
	root.Defs["result"] = root
	used := make(map[string]bool)
	for def, n := range root.Defs {
		for name, p := range n.Properties {
			if p.Type != "integer" && p.Type != "number" {
				continue
			}
			switch {
			case slices.Contains(plain, name):
				used[name] = true
			case slices.Contains(counts, def):
			case !unit.MatchString(name) && !unit.MatchString(def):
				t.Errorf("%s.%s is a number without a unit", def, name)
			}
			for suffix, word := range map[string]string{"_ns": "nanoseconds", "_us": "microseconds"} {
				must.True(t, !strings.HasSuffix(name, suffix) || strings.Contains(p.Description, word),
					"%s.%s is described as %q, without its unit", def, name, p.Description)
			}
		}
	}
	used["schema"] = true // a constant
	must.Match(t, plain, slices.Sorted(maps.Keys(used)), "plain numbers")
	// An object whose name has the unit keeps its word everywhere.
	for def, n := range root.Defs {
		for name, p := range n.Properties {
			must.True(t, p.Ref != "#/$defs/latency_us" || strings.HasSuffix(name, "_us") || def == "latencies",
				"%s.%s holds microseconds, which its name does not tell", def, name)
		}
	}
}

func TestEveryDocumentFitsTheSchema(t *testing.T) {
	schema := compiled(t)
	for name, r := range results() {
		must.Err(t, "", schema.Validate(decoded(t, written(t, JSON, r, Options{}))), "%s", name)
	}
}

func TestTheSchemaRefusesWhatIsNoResult(t *testing.T) {
	schema := compiled(t)
	for _, tc := range must.Rows[[]struct{ Name, Old, Change string }](t, "schema_validate") {
		text := written(t, JSON, results()["fixed"], Options{})
		changed := strings.Replace(text, tc.Old, tc.Change, 1)
		must.Hold(t, changed != text, "%s: %s is not in the document", tc.Name, tc.Old)
		err := schema.Validate(decoded(t, changed))
		must.True(t, err != nil, "%s fits the schema", tc.Name)
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	return must.Have(c.Compile(schemaFile))(t)
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	return must.Have(jsonschema.UnmarshalJSON(strings.NewReader(text)))(t)
}

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
			_, ok := field(whole, path)
			must.True(t, ok == want, "%s: %s is there: %t", tc.of, path, ok)
			in, of := summary, path
			if name, ok := strings.CutPrefix(path, "series."); ok {
				in, of = interval, name
			}
			_, ok = field(in, of)
			must.True(t, ok == want, "%s: %s is there in jsonl: %t", tc.of, path, ok)
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
	n, _ := field(decoded(t, written(t, JSON, all["fixed"], Options{})), "records.failed")
	must.True(t, n == json.Number("0"), "no record failed, and failed is %v", n)
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
		v, ok := field(whole, path)
		must.True(t, !ok, "%s is %v", path, v)
	}
	if text := written(t, Text, r, Options{Options: doc.Options{Verbose: true}}); strings.Contains(text, "p99 0s") || !strings.Contains(text, "response     not measured") || !strings.Contains(text, "left out, p99 –") {
		t.Errorf("latencies of nothing in:\n%s", text)
	}
}
