package result

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

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
	ID, Reader, Text, Next, Means, Source string

	Unless metric.Expr
}

var doubtRows = sync.OnceValue(func() (rows []doubtRow) {
	if err := yaml.Unmarshal(doubtsYAML, &rows); err != nil {
		panic(err) // the file is a part of kt
	}
	return rows
})

// OneRun is the id of the doubt that repeats take back.
const OneRun = "one-run"

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

// Without returns the doubts that have none of some ids.
func Without(doubts []Doubt, accepted []string) []Doubt {
	return slices.DeleteFunc(slices.Clone(doubts), func(d Doubt) bool { return slices.Contains(accepted, d.ID) })
}

// CheckAccepted returns an error unless each id is one of a doubt.
func CheckAccepted(ids []string) error {
	for _, id := range ids {
		if _, err := AccountDoubt(id); errors.Is(err, errNoDoubt) {
			return plan.Refuse("accept", id, "%w", err)
		}
	}
	return nil
}

var errNoDoubt = errors.New("there is no such doubt")

// AccountDoubt returns the doubt of an id with the values that somebody's account has for the verbs of its text.
func AccountDoubt(id string, values ...string) (Doubt, error) {
	rows := doubtRows()
	i := slices.IndexFunc(rows, func(d doubtRow) bool { return d.ID == id })
	if i < 0 {
		return Doubt{}, fmt.Errorf("%w%s", errNoDoubt, suggest.Hint(id, DoubtIDs(), ": kt help doubts lists them"))
	}
	if n := strings.Count(rows[i].Text, "%s"); n != len(values) {
		return Doubt{}, fmt.Errorf("it says %q, and has %d values for N: give %d", AllDoubts()[i].Text, len(values), n)
	}
	var texts []any
	for _, v := range values {
		texts = append(texts, v)
	}
	return rows[i].doubt(texts...), nil
}

// NewDoubt returns the doubt of an id with the values for the verbs of its text. Without such an id it panics.
func NewDoubt(id string, values ...any) Doubt {
	rows := doubtRows()
	return rows[slices.IndexFunc(rows, func(d doubtRow) bool { return d.ID == id })].doubt(values...)
}

// Doubt finds the doubts of a result, but for those that its user has accepted. Figures of the embedded broker are not Kafka's, and a
// reading that verifies a ledger is made for its verdict: these have none.
func (r *Result) Doubt() {
	r.Doubts = nil
	if r.Embedded || r.Plan.ReadsOnly() && r.Plan.Verify {
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
	switch {
	case len(r.Loads) > 0:
		r.joinDoubts()
	case r.NotAddedUp == "":
		r.Doubt()
	}
}

// joinDoubts makes the doubts of a workload of those of its loads. Each says in which loads it is, with the text of the first.
func (r *Result) joinDoubts() {
	r.Doubts = nil
	for i := range r.Loads {
		for _, d := range r.Loads[i].Doubts {
			name := r.Loads[i].Name
			if at := slices.IndexFunc(r.Doubts, func(o Doubt) bool { return o.ID == d.ID }); at >= 0 {
				r.Doubts[at].Text += "; also in " + name
				continue
			}
			d.Text = name + ": " + d.Text
			r.Doubts = append(r.Doubts, d)
		}
	}
}

func (d *doubtRow) doubt(values ...any) Doubt {
	return Doubt{ID: d.ID, Text: fmt.Sprintf(d.Text, values...), Next: d.Next, Means: d.Means, Source: d.Source}
}

func (d *doubtRow) read(r *Result) []any {
	switch {
	case d.Unless.Metric != nil:
	case d.Reader == "": // it is of a comparison
		return nil
	default:
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
