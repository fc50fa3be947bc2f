package study

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// optima has simulated searches, which pages are tested with. A few of their cells were kept.
const optima = "../report/page/testdata/optima.json"

func TestWhatASearchForTheBestSettingsSays(t *testing.T) {
	read := func() (all map[string]*Document) {
		must.Do(t, json.Unmarshal(must.Have(os.ReadFile(optima))(t), &all))
		return all
	}
	says := func(what, want string, d *Document) {
		t.Helper()
		must.Match(t, want, d.Study.Optimum.sentence(d), what)
	}
	for name, d := range read() {
		says(name, d.Sentence, d)
		must.Match(t, d.Study.copied(d.Optimum.Best.At), d.Optimum.Best.Copied, name)
	}
	const better = "for rate, linger=5ms batch-size=256KiB compression=lz4 are best of 7 combinations that were tried"
	for _, tc := range []struct {
		what, of, want string
		change         func(o *OptimumDoc)
	}{
		{"one change", "better", "for rate, linger=5ms is best of 7 combinations that were tried", func(o *OptimumDoc) {
			o.Best.Changes, o.Best.Against, o.Best.Limit = o.Best.Changes[:1], nil, verdict.None
		}},
		{
			"not proven", "better", "for rate, keep the present settings: linger=5ms batch-size=256KiB compression=lz4 seemed best of 7 combinations that were tried, but are not shown to be better",
			func(o *OptimumDoc) { o.Best.Better, o.Best.Against, o.Best.Limit = false, nil, verdict.Unknown },
		},
		{"proven in runs that are not valid", "better", "for rate, linger=5ms seems best of 7 combinations that were tried, but keep the present settings: at least half of the runs with it did not keep their rate, failed records or are not valid; against the present settings, rate is 108% higher (+96% to +115%): better", func(o *OptimumDoc) {
			o.Best.Better, o.Best.Keeps, o.Best.Limit, o.Best.Changes, o.Best.Against = false, false, verdict.None, o.Best.Changes[:1], o.Best.Against[:1]
		}},
		{"kt was the limit", "better", better + "; at the best, the limit was client CPU, so the brokers may do better than that", func(o *OptimumDoc) {
			o.Best.Against, o.Best.Limit = nil, verdict.ClientCPU
		}},
		{"not told", "better", better + "; what linger and compression bring cannot be told from these runs", func(o *OptimumDoc) {
			o.Best.Against, o.Best.Limit, o.Effects[0].Brings, o.Effects[2].Brings = nil, verdict.None, BringsUnsure, BringsUnsure
		}},
		{"no limit, and the rate is not kept", "better", better + "; at least half of the runs with them did not keep their rate, failed records or are not valid", func(o *OptimumDoc) {
			o.Best.Against, o.Best.Limit, o.Best.Keeps = nil, verdict.None, false
		}},
		{
			"it breaks the limit", "limit", "for cpu, linger=20ms batch-size=256KiB are best of 8 combinations that were tried; at least half of the runs with them do not keep p99<20ms or their rate, or are not valid",
			func(o *OptimumDoc) { o.Best.Against, o.Best.Keeps = nil, false },
		},
		{
			"all break the limit", "limit", "for cpu, linger=20ms batch-size=256KiB are best of 8 combinations that were tried; no combination has a majority of valid runs that keep p99<20ms and their rate",
			func(o *OptimumDoc) {
				o.Best.Against, o.Best.Keeps = nil, false
				for i := range o.Tried {
					o.Tried[i].Kept = 0
				}
			},
		},
		{"all failed", "better", "rate failed, or was not measured, in each run", func(o *OptimumDoc) {
			for i := range o.Tried {
				delete(o.Tried[i].Measures, metric.Rate)
			}
		}},
		{"nothing yet", "cut off", "nothing was measured yet; the search is not over: kt study resume 20261129-optimum-cut goes on", func(o *OptimumDoc) { o.Tried = nil }},
	} {
		d := read()[tc.of]
		tc.change(d.Optimum)
		says(tc.what, tc.want, d)
	}
}
