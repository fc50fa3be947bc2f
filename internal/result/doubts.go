package result

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/suggest"
	"github.com/kt-bench/kt/internal/theme"
)

// Doubt is an objection to the figures of a run that a careful reviewer would have.
type Doubt struct {
	ID     string `json:"id"`
	Text   string `json:"text"`  // with its number
	Next   string `json:"next"`  // what to do about it
	Means  string `json:"means"` // why the figures may not say what they seem to say
	Source string `json:"source"`

	Runs int `json:"runs_with_it,omitempty"` // of a study or a comparison: so many of its runs have it, and the text is that of the first; 0: it is of all together
	Of   int `json:"runs,omitempty"`         // of so many
}

//go:embed doubts.yaml
var doubtsYAML []byte

// doubtRow is a row of doubts.yaml.
type doubtRow struct {
	ID, Text, Next, Means, Source string

	Unless metric.Expr
}

var doubtRows = tableOf[doubtRow](doubtsYAML)

// tableOf returns a function that reads the rows of a file when it is called first.
func tableOf[T any](file []byte) func() []T {
	return sync.OnceValue(func() (rows []T) {
		if err := yaml.Unmarshal(file, &rows); err != nil {
			panic(err) // the file is a part of kt
		}
		return rows
	})
}

// OneRun is the id of the doubt that repeats take back.
const OneRun = "one-run"

// doubtReaders are the conditions of doubts, by id. Each returns the values for the verbs of the text; nil: there is no doubt.
var doubtReaders = map[string]func(r *Result) []any{
	OneRun: oneRun, "one-replica": oneReplica,
	// what the run wrote and read
	"alike": alike, "no-warmup": cold, "no-roll": unrolled, "hot-partition": piled, "other-records": others, "other-topics": elsewhere, "late-consumers": late,
	// the cluster
	"min-insync": oneInSync, "leaders": fewLeaders, "log-dirs": fewDirs, "near-quota": nearQuota, "held-back": heldBack, "broker-fault": faulty,
	// hosts
	"page-cache": fromMemory, "not-on-disk": inMemory, "short-flush": shortFlush, "own-host": ownHost, "cpu-credits": credits, "steal": stolen,
	"hot-cpu": hot, "cpu-clock": clocked, "clocks": apartClocks,
}

// AllDoubts returns every doubt of the table, in its order. N stands for each number.
func AllDoubts() (all []Doubt) {
	for _, row := range doubtRows() {
		all = append(all, row.doubt(slices.Repeat([]any{"N"}, strings.Count(row.Text, "%s"))...))
	}
	return all
}

// DoubtIDs returns the ids of all doubts.
func DoubtIDs() (ids []string) {
	for _, row := range doubtRows() {
		ids = append(ids, row.ID)
	}
	return ids
}

// CheckAccepted returns an error unless each id is one of a doubt.
func CheckAccepted(ids []string) error {
	for _, id := range ids {
		if _, err := rowOf(id); err != nil {
			return plan.Refuse("accept", id, "%w", err)
		}
	}
	return nil
}

func rowOf(id string) (*doubtRow, error) {
	rows := doubtRows()
	if i := slices.IndexFunc(rows, func(d doubtRow) bool { return d.ID == id }); i >= 0 {
		return &rows[i], nil
	}
	return nil, fmt.Errorf("there is no such doubt%s", suggest.Hint(id, DoubtIDs(), ": kt help doubts lists them"))
}

// NewDoubt returns the doubt of an id with the values for the verbs of its text.
func NewDoubt(id string, values ...string) (Doubt, error) {
	row, err := rowOf(id)
	if err != nil {
		return Doubt{}, err
	}
	if n := strings.Count(row.Text, "%s"); n != len(values) {
		return Doubt{}, fmt.Errorf("it says %q, and has %d values for N: give %d", strings.ReplaceAll(row.Text, "%s", "N"), len(values), n)
	}
	texts := make([]any, len(values))
	for i, v := range values {
		texts[i] = v
	}
	return row.doubt(texts...), nil
}

// Doubt finds the doubts of a result, but for those that its user has accepted. Figures of the embedded broker are not Kafka's, and a
// reading that verifies a ledger is made for its verdict: these have none. A workload has the doubts of its loads: each says in which
// loads it is, with the text of the first.
func (r *Result) Doubt() {
	r.Doubts = nil
	for i := range r.Loads {
		name := r.Loads[i].Name
		for _, d := range r.Loads[i].Doubts {
			if at := slices.IndexFunc(r.Doubts, func(o Doubt) bool { return o.ID == d.ID }); at >= 0 {
				r.Doubts[at].Text += "; also in " + name
				continue
			}
			d.Text = name + ": " + d.Text
			r.Doubts = append(r.Doubts, d)
		}
	}
	if len(r.Loads) > 0 || r.NotAddedUp != "" || r.Embedded || r.Plan.ReadsOnly() && r.Plan.Verify {
		return
	}
	for _, row := range doubtRows() {
		if values := row.read(r); values != nil && !slices.Contains(r.Accepted, row.ID) {
			r.Doubts = append(r.Doubts, row.doubt(values...))
		}
	}
}

// Accept finds the doubts of a result anew, and of the loads of a workload, without those of some ids.
func (r *Result) Accept(ids []string) {
	r.Accepted = ids
	for i := range r.Loads {
		r.Loads[i].Accept(ids)
	}
	r.Doubt()
}

func (d *doubtRow) doubt(values ...any) Doubt {
	return Doubt{ID: d.ID, Text: fmt.Sprintf(d.Text, values...), Next: d.Next, Means: d.Means, Source: d.Source}
}

func (d *doubtRow) read(r *Result) []any {
	if read := doubtReaders[d.ID]; read != nil {
		return read(r)
	}
	if d.Unless.Metric == nil || d.Unless.Check(&r.Plan) != nil { // one without a metric is of a comparison
		return nil
	}
	if v, ok := d.Unless.Value(r.Figures()); ok && !d.Unless.Holds(v) {
		return []any{d.Unless.Metric.Unit.Show(v)}
	}
	return nil
}

// oneRun doubts every run: a study takes the doubt back where it has repeats.
func oneRun(r *Result) []any {
	return []any{seconds(r.ElapsedSeconds)}
}

func oneReplica(r *Result) []any {
	topics := slices.DeleteFunc(slices.Clone(r.Environment.AllTopics()), func(t Topic) bool { return t.ReplicationFactor != 1 })
	return when(len(topics) > 0, theme.Plural(int64(len(topics)), "topic", "topics"))
}
