package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/stats"
)

// places calls f for each value of a document: of a list for its first one. f changes the value in place, and puts
// it back.
func places(path string, v any, set func(any), f func(path string, v any, set func(any))) {
	f(path, v, set)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			was := v[name]
			places(path+"."+name, was, func(to any) { v[name] = to }, f)
			v[name] = was
		}
	case []any:
		if len(v) > 0 {
			was := v[0]
			places(path+"[]", was, func(to any) { v[0] = to }, f)
			v[0] = was
		}
	}
}

// A page is somebody else's data: whatever a value of it is, it is read and shown, or refused.
func TestNoChangeOfAPageBreaksWhatReadsIt(t *testing.T) {
	r := runs()["roundtrip"]
	r.Series, r.Histograms, r.Warmup = r.Series[:2], result.Histograms{}, nil // they make each try slow
	began, failed := 20.0, int64(3)
	r.Outage.BeganSeconds, r.Outage.BeganWith, r.Outage.RecordsFailed = &began, stats.Exec, &failed
	r.Stages = []result.StageRow{{ToSeconds: 20, MeasuredSeconds: 20, Invalid: []string{"late"}}}
	r.Hosts, r.Processes = []result.HostRow{{Host: "vm14", Processes: 1, Busy: new(result.Busy)}}, []result.ProcessRow{{Host: "vm14", Process: 1, Counted: true}}
	value := 12_300.0
	r.Limits = []result.Limit{{Expression: "p99<20ms over 10s", Value: &value, Unit: metric.Time, Held: true, Stretches: 3, StretchesHeld: 3}}
	r.Tune = []result.TuneCheck{{Host: "vm14", Checks: 9, Findings: []result.TuneFinding{{ID: "cpu.governor", Verdict: result.TuneWarn}}}}
	r.Tags, r.Note = []string{"before"}, "é"
	doc, err := report.Document(r)
	must.Do(t, err)
	var all any
	must.Do(t, json.Unmarshal(doc, &all))
	places("", all, func(any) {}, func(path string, was any, set func(any)) {
		values := []any{nil}
		switch was := was.(type) {
		case float64:
			values = []any{-1}
		case bool:
			values = []any{!was}
		case string:
			values = []any{nil, "", "\u00e9?"}
		}
		for _, v := range values {
			set(v)
			try(t, fmt.Sprintf("%s = %v", path, v), all)
		}
		set(was)
	})
}

// try reads a document, and writes it in every form if it is read.
func try(t *testing.T, what string, doc any) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: %v", what, p)
		}
	}()
	text, err := json.Marshal(doc)
	must.Do(t, err)
	packed, err := result.Pack([]byte(`{"result":` + string(text) + `,"heat":[]}`))
	must.Do(t, err)
	r, err := result.ReadPage(bytes.NewReader([]byte(result.PageStart + result.EmbedStart + packed + result.EmbedEnd)))
	if err != nil {
		return
	}
	var out bytes.Buffer
	for _, form := range []string{"text", "markdown", "junit", "perf-test"} {
		_ = report.Formats[form](&out, r, report.Options{}) // an error is an answer
	}
	_ = newRunPage(r).write(io.Discard, "")
}
