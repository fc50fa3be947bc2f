package study

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
)

// Study is a plan of many runs: the loads, the factors that vary between runs, and the questions.
type Study struct {
	Name      string         `json:"name"`
	Of        string         `json:"of,omitempty"`               // the part with factors that had this search in it; "": none
	At        []Flag         `json:"at,omitempty"`               // the values of the factors of that part
	About     string         `json:"about"`                      // the question, in a sentence
	Found     string         `json:"found,omitempty"`            // what a published test of this question found
	Published []string       `json:"published,omitempty"`        // figures to show beside the own ones: AUTHOR-YEAR/CASE, as kreps-2014/linkedin-1
	Doubts    []result.Doubt `json:"published_doubts,omitempty"` // that hold for the account of the published figures
	Given     []Given        `json:"given,omitempty"`            // what its values leave open
	Parts     []*Study       `json:"parts,omitempty"`            // made one after the other, instead of loads of its own
	Prepare   []Load         `json:"prepare,omitempty"`          // made once, before the runs that read from them
	Loads     []Load         `json:"loads,omitempty"`            // at once in every run; the first one is judged
	Factors   []Factor       `json:"factors,omitempty"`
	Pair      bool           `json:"pair,omitempty"`           // the n-th values of all factors go together
	Discard   int            `json:"discard"`                  // runs before the others that do not count: they warm the brokers up
	Repeats   int            `json:"repeats"`                  // of each cell
	Bytes     int64          `json:"bytes_per_load,omitempty"` // of the values that a load writes, instead of its number of records; 0: as it says
	Order     string         `json:"order"`
	Seed      uint64         `json:"seed"` // of a shuffled order
	Rest      plan.Duration  `json:"rest"` // between two runs
	Ask       []Question     `json:"ask,omitempty"`
	Find      *Search        `json:"find,omitempty"`    // the highest rate that holds is searched for, and factors and repeats mean nothing
	Without   *Without       `json:"without,omitempty"` // a broker is stopped while its runs are made
	Trial     *Proposal      `json:"trial,omitempty"`   // runs without a change and with it take turns, and factors mean nothing
	Optimum   *Optimum       `json:"optimum,omitempty"` // the best values of the factors together are searched for
}

// Load is one load of a run.
type Load struct {
	Name    string `json:"name,omitempty"`  // "": the only one
	Command string `json:"command"`         // produce, consume, roundtrip, or run: a workload, the one load of its study
	Flags   []Flag `json:"flags"`           // of a workload: those of kt run, and LOAD.FLAG or FLAG as kt run --set has them
	Reads   string `json:"reads,omitempty"` // the prepared load whose topic it takes; "": that of the run

	Typed []Flag `json:"typed,omitempty"` // those of the person who started the study; without a name: a value of any

	File  string `json:"file,omitempty"`  // of a workload, which is named after it; it is read once, before the study begins
	About string `json:"about,omitempty"` // of a workload: a sentence

	// Captured is what a load of a workload was on the cluster that it was captured from; nil: the load is not captured.
	Captured *result.Asked `json:"captured,omitempty"`

	Loads  []Load            `json:"loads,omitempty"` // of a workload: they run at once, and reads is one of them
	Topic  string            `json:"-"`               // of a workload: what the names of its own topics begin with; "": kt-run- and an ID
	Settle plan.Duration     `json:"-"`               // of a workload in a search: how long its warm-up is; then stages have their highest rate. 0: it is as its file says
	Places map[string]string `json:"-"`               // FILE:LINE:COLUMN in that file, by "load NAME", "flag NAME FLAG" and "reads NAME"; nil: none are known
}

// IsWorkload reports whether the load is a workload: its run has a section for each of its loads.
func (l *Load) IsWorkload() bool { return l.Command == string(plan.Workload) }

// loads returns the loads of a study, those that are prepared first, to read or to change them.
func (s *Study) loads() (all []*Load) {
	for _, loads := range [][]Load{s.Prepare, s.Loads} {
		for i := range loads {
			all = append(all, &loads[i])
		}
	}
	return all
}

// SLO returns what each run of a search has to keep.
func (s *Study) SLO() []metric.Expr {
	return slices.Concat(cmp.Or(s.Find, new(Search)).SLO, cmp.Or(s.Optimum, new(Optimum)).SLO)
}

func (l *Load) value(name string) (value string) {
	for _, f := range l.Flags {
		if f.Name == name {
			value = f.Value
		}
	}
	return value
}

func (l *Load) has(name string) bool {
	return slices.ContainsFunc(l.Flags, func(f Flag) bool { return f.Name == name })
}

func (l *Load) drop(names ...string) {
	l.Flags = slices.DeleteFunc(l.Flags, func(f Flag) bool { return slices.Contains(names, f.Name) })
}

// String returns the load as a command line.
func (l Load) String() string {
	return strings.TrimSpace(l.Command+" "+l.File) + strings.Join(mapped(l.Flags, func(f Flag) string { return " --" + f.Name + " " + f.Value }), "")
}

// readsOld reports whether the load reads a topic that the user named, which a study neither makes nor deletes.
func (l Load) readsOld() bool {
	return l.Command == "consume" && l.Reads == "" && l.has("topic")
}

// Flag is a flag of a load. A flag that may be repeated can occur several times.
type Flag struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Factor is what varies. Its name is a flag of the loads of a run, or topic.SETTING; LOAD.FLAG and
// LOAD.topic.SETTING are of one load, which may be a prepared one.
type Factor struct {
	Name   string   `json:"name"`
	Values []string `json:"values,omitempty"`
	Search *Span    `json:"search,omitempty"` // the values are searched for here instead
	About  string   `json:"about,omitempty"`  // why it is varied, in a sentence
	Group  string   `json:"group,omitempty"`  // factors of a group have the same values, and change together where the best is searched for

	Client   string `json:"client,omitempty"`   // producer or consumer, that has a property for it
	Property string `json:"property,omitempty"` // "": it is none of Kafka's clients
}

// values returns the values that the factor has before any run is made.
func (f *Factor) values() (values []string) {
	if f.Search == nil {
		return f.Values
	}
	s, err := f.Search.steps()
	if err != nil {
		return []string{f.Search.From, f.Search.To} // they are left open, or Check refuses them
	}
	for n := s.from; n < s.to; n *= 2 { // each twice the one before, up to the last
		values = append(values, s.kind.write(n))
		if n > s.to/2 {
			break
		}
	}
	return append(values, s.kind.write(s.to))
}

// searched returns the factor whose best value is searched for; nil: all values are listed.
func (s *Study) searched() *Factor {
	if i := slices.IndexFunc(s.Factors, func(f Factor) bool { return f.Search != nil }); i >= 0 {
		return &s.Factors[i]
	}
	return nil
}

// IsOpen reports whether the runs decide how many there are.
func (s *Study) IsOpen() bool {
	return s.Find != nil || s.Optimum != nil || s.searched() != nil || s.Trial != nil && len(s.Trial.Looks) > 1
}

// Question is asked of a finished study: which value of a factor is best, or how a figure grows with it.
type Question struct {
	Best    string `json:"best,omitempty"`    // a factor
	Scaling string `json:"scaling,omitempty"` // a factor whose values are numbers
	By      Metric `json:"by"`
}

// Factor returns the factor that the question is about.
func (q Question) Factor() string { return cmp.Or(q.Best, q.Scaling) }

// The orders of runs.
const (
	Shuffled = "shuffled" // each block of one run a cell by chance, so that drift looks like no effect
	Listed   = "listed"
	ABBA     = "abba" // two cells in turns, each first in half of them
)

// Orders are all orders of runs.
var Orders = []string{Shuffled, Listed, ABBA}

// topicPrefix begins the name of a factor that is a setting of the topic of each run.
const topicPrefix = "topic."

// Default is the value of a setting that a run does not set, so that it is as without the study.
const Default = "default"

// Cell is one choice of values: one for each factor, in the order of the factors.
type Cell struct {
	Index int
	At    []Flag

	called string // "": by its values
}

// String returns what a cell is called: "partitions=4 acks=all".
func (c Cell) String() string {
	return cmp.Or(c.called, strings.Join(mapped(c.At, func(f Flag) string { return f.Name + "=" + f.Value }), " "))
}

func (s *Study) factorNames() []string {
	return mapped(s.Factors, func(f Factor) string { return f.Name })
}

// mapped returns what a function makes of each of some values.
func mapped[T, U any](all []T, of func(T) U) (made []U) {
	for _, one := range all {
		made = append(made, of(one))
	}
	return made
}

// Cells returns every choice of values once: the last factor varies fastest. Without factors there is one.
func (s *Study) Cells() (cells []Cell) {
	if p := s.Trial; p != nil { // the load as it is, and with the changes
		return []Cell{{0, nil, "without " + p.String()}, {1, p.Changes, "with " + p.String()}}
	}
	if s.Optimum != nil {
		return s.Optimum.cells(s)
	}
	all := [][]Flag{nil}
	if s.Pair && len(s.Factors) > 0 {
		all = make([][]Flag, len(s.Factors[0].Values))
	}
	for _, f := range s.Factors {
		var longer [][]Flag
		for i, at := range all {
			for j, v := range f.values() {
				if !s.Pair || i == j {
					longer = append(longer, append(slices.Clone(at), Flag{f.Name, v}))
				}
			}
		}
		all = longer
	}
	seen := make(map[string]bool)
	for _, at := range all {
		c := Cell{Index: len(cells), At: at}
		if text := c.String(); !seen[text] {
			seen[text], cells = true, append(cells, c)
		}
	}
	return cells
}

// at returns a load with the values of a cell that are of it. A prepared load has those that name it alone.
func (s *Study) at(c Cell, l Load) Load {
	l.Flags = slices.Clone(l.Flags)
	for _, f := range c.At {
		load, flag := s.target(f.Name)
		isOf := load == l.Name || load == "" && !s.isPrepared(l.Name)
		if isOf && !isOutside(flag) && (f.Value != Default || strings.HasPrefix(flag, topicPrefix)) {
			l.set(flag, f.Value)
		}
	}
	for _, of := range s.Prepare { // what is read are all topics that it made
		if of.Name != l.Reads || s.isPrepared(l.Name) || l.has("topics") {
			continue
		}
		if of = s.at(c, of); of.has("topics") {
			l.set("topics", of.value("topics"))
		}
	}
	size, err := plan.ParseSize(cmp.Or(l.value("record-size"), strconv.Itoa(plan.DefaultRecordSize)))
	if s.Bytes > 0 && l.Command != "consume" && err == nil { // CheckLoads tells the error
		l.drop("duration")
		l.set("num-records", strconv.FormatInt(max(1, int64(float64(s.Bytes)/size.Mean())), 10))
	}
	return l
}

// prepared returns what a prepared load with the values of a cell is called: one is made for each of its values.
func (s *Study) prepared(c Cell, l Load) string {
	name := l.Name
	for _, f := range c.At {
		if load, _ := s.target(f.Name); load == l.Name {
			name += "-" + f.Value
		}
	}
	return name
}

// set returns the values that are no defaults.
func set(at []Flag) []Flag {
	return slices.DeleteFunc(slices.Clone(at), func(f Flag) bool { return f.Value == Default })
}

// Values returns the values by the names of their factors.
func (c Cell) Values() map[string]string {
	at := make(map[string]string)
	for _, f := range c.At {
		at[f.Name] = f.Value
	}
	return at
}

// target returns the load that a factor is of, and its flag. load is empty for all loads of a run.
func (s *Study) target(factor string) (load, flag string) {
	before, after, ok := strings.Cut(factor, ".")
	if ok && slices.ContainsFunc(s.loads(), func(l *Load) bool { return l.Name == before }) {
		return before, after
	}
	return "", factor
}

// settleFlag is what a search calls the warm-up of its trials of a workload.
const settleFlag = "settle"

// set gives a flag a value instead of those that it has. A topic setting is one of several, and a number of hosts leaves the first of --on.
func (l *Load) set(name, value string) {
	if setting, ok := strings.CutPrefix(name, topicPrefix); ok && !l.IsWorkload() { // whose loads have it
		l.Flags = slices.DeleteFunc(l.Flags, func(f Flag) bool { return f.Name == "topic-config" && strings.HasPrefix(f.Value, setting+"=") })
		if value != Default {
			l.Flags = append(l.Flags, Flag{"topic-config", setting + "=" + value})
		}
		return
	}
	switch {
	case l.IsWorkload() && name == "topic":
		l.Topic = value
		return
	case l.IsWorkload() && name == settleFlag:
		d, _ := plan.ParseDuration(value) // as a search writes it
		l.Settle = plan.Duration(d)
		return
	}
	n, err := plan.ParseCount(value)
	for i := range l.Flags {
		f := &l.Flags[i]
		if hosts := strings.Split(f.Value, ","); name == "hosts" && f.Name == "on" && err == nil && n >= 1 && int(n) <= len(hosts) {
			f.Value = strings.Join(hosts[:n], ",")
		}
	}
	l.drop(name)
	l.Flags = append(l.Flags, Flag{name, value})
}
