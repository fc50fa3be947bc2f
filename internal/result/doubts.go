package result

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/theme"
)

// Doubt is an objection to the figures of a run that a careful reviewer would have.
type Doubt struct {
	ID     string `json:"id"`
	Text   string `json:"text"` // with its number
	Next   string `json:"next"` // what to do about it
	Source string `json:"source"`
}

//go:embed doubts.yaml
var doubtsYAML []byte

// doubtRow is a row of doubts.yaml.
type doubtRow struct {
	ID, Reader, Text, Next, Source string

	Unless metric.Expr
}

var doubtRows = sync.OnceValue(func() (rows []doubtRow) {
	if err := yaml.Unmarshal(doubtsYAML, &rows); err != nil {
		panic(err) // the file is a part of kt
	}
	return rows
})

// doubtReaders are the functions that rows name. Each returns the values for the verbs of the text; nil: there is no doubt.
var doubtReaders = map[string]func(r *Result) []any{
	"one run":     oneRun,
	"one replica": oneReplica,

	// what the run wrote and read
	"alike": alike, "cold": cold, "unrolled": unrolled, "piled": piled, "others": others, "elsewhere": elsewhere, "late": late,
	// the cluster
	"one in sync": oneInSync, "few leaders": fewLeaders, "few dirs": fewDirs, "near quota": nearQuota, "held back": heldBack, "faulty": faulty,
	// hosts
	"from memory": fromMemory, "in memory": inMemory, "short flush": shortFlush, "own host": ownHost, "credits": credits, "stolen": stolen,
	"hot": hot, "clocked": clocked, "apart clocks": apartClocks,
}

// Doubt finds the doubts of a result, but for those that its user has accepted. Figures of the embedded broker are not Kafka's, so it finds none.
func (r *Result) Doubt() {
	r.Doubts = nil
	if r.Embedded {
		return
	}
	for _, row := range doubtRows() {
		if values := row.read(r); values != nil && !slices.Contains(r.Accepted, row.ID) {
			r.Doubts = append(r.Doubts, Doubt{ID: row.ID, Text: fmt.Sprintf(row.Text, values...), Next: row.Next, Source: row.Source})
		}
	}
}

func (d *doubtRow) read(r *Result) []any {
	if d.Unless.Metric == nil {
		return doubtReaders[d.Reader](r)
	}
	if d.Unless.Check(&r.Plan) != nil {
		return nil
	}
	if v, ok := d.Unless.Value(r.Figures()); ok && !d.Unless.Holds(v) {
		return []any{d.Unless.Metric.Unit.Show(v)}
	}
	return nil
}

// oneRun doubts every run: a study takes the doubt back where it has repeats.
func oneRun(r *Result) []any {
	return []any{theme.Duration(time.Duration(r.ElapsedSeconds * float64(time.Second)))}
}

func oneReplica(r *Result) []any {
	topics := slices.DeleteFunc(slices.Clone(r.Environment.AllTopics()), func(t Topic) bool { return t.ReplicationFactor != 1 })
	if len(topics) == 0 {
		return nil
	}
	return []any{theme.Plural(int64(len(topics)), "topic", "topics")}
}
