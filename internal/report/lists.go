package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/history"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// Schema is the version of the documents of agents, runs and checks of a cluster. It changes when a field changes its meaning or goes away, not
// when one is added.
const Schema = 1

// PeersDocument are agents.
type PeersDocument struct {
	Schema int    `json:"schema"`
	Peers  []Peer `json:"peers"`
}

// Peer is one agent. What is not known of it is nil, or empty.
type Peer struct {
	Name          string   `json:"name"`
	Address       string   `json:"address"` // host:port
	Role          string   `json:"role"`    // "broker" or "client"
	Tags          []string `json:"tags"`
	Version       string   `json:"version"`  // of its kt
	State         string   `json:"state"`    // what it does, in a word
	Run           string   `json:"run"`      // that it is busy with
	Results       int      `json:"results"`  // runs that it holds
	Security      string   `json:"security"` // how it connects to Kafka: protocol and mechanism
	Problem       string   `json:"problem"`  // why it cannot be worked with, for people
	CPUCores      *float64 `json:"cpu_cores"`
	Cores         *float64 `json:"cores"`
	MemoryBytes   *int64   `json:"memory_bytes"`
	FreeBytes     *int64   `json:"available_bytes"`
	ClockOffsetUS *int64   `json:"clock_offset_us"` // its clock minus ours
	ClockBoundUS  *int64   `json:"clock_bound_us"`  // by how much that may be wrong
}

// NewPeers returns agents in the order of names.
func NewPeers(peers []Peer) *PeersDocument {
	all := slices.SortedStableFunc(slices.Values(peers), func(a, b Peer) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
	for i := range all {
		all[i].Tags = append([]string{}, all[i].Tags...)
	}
	return &PeersDocument{Schema, append([]Peer{}, all...)}
}

// PeersDoc returns a table of agents.
func PeersDoc(d *PeersDocument) *doc.Document {
	t := doc.NewTable("peers", "Agents", "name|name", "address|name", "role|words|2", "tags|words|7", "version|words|8", "state|words", "run|words|4",
		"to Kafka|words|5", "CPU in use|3", "clock|1", "results|6")
	t.Empty = "nobody is there: start kt agent on each host, and name one of them with --join"
	for _, p := range d.Peers {
		cores, clock := "", ""
		if p.Cores != nil && p.CPUCores != nil {
			cores = fmt.Sprintf("%.1f of %.0f", *p.CPUCores, *p.Cores)
		}
		if offset, bound := p.ClockOffsetUS, p.ClockBoundUS; offset != nil && bound != nil {
			clock = pick(*offset >= 0, "+", "") + theme.Duration(micros(*offset)) + " ±" + theme.Duration(micros(*bound))
		}
		row := t.Add(known(p.Name, p.Address, p.Role, strings.Join(p.Tags, ","), p.Version, p.State, p.Run, p.Security, cores, clock), theme.Count(int64(p.Results)))
		row.Note, row.NoteTone, row.Tone = p.Problem, doc.Warn, pick(p.Problem != "", doc.Warn, doc.Plain)
	}
	return OfTable("kt peers", plural(len(d.Peers), "agent"), t, d.Peers)
}

// known puts a dash in the place of each text that is empty.
func known(texts ...string) []string {
	for i, text := range texts {
		texts[i] = cmp.Or(text, none)
	}
	return texts
}

// RunsDocument is a list of runs.
type RunsDocument struct {
	Schema int           `json:"schema"`
	Runs   []history.Run `json:"runs"`
}

// NewRuns returns a list of runs, with their times in UTC.
func NewRuns(runs []history.Run) *RunsDocument {
	runs = append([]history.Run{}, runs...)
	for i := range runs {
		runs[i].StartedAt = runs[i].StartedAt.UTC()
	}
	return &RunsDocument{Schema, runs}
}

// RunsDoc returns a table of runs.
func RunsDoc(d *RunsDocument) *doc.Document {
	t := doc.NewTable("runs", "Runs, the newest first", "run|whole", "when (UTC)|whole", "what|words|3", "topic|name", "at|name|6", "records/s", "p99|1",
		"limit|words|2", "valid|whole", "ended|words|5", "tags|words|4", "size|7", "file|words|8")
	for i := range d.Runs {
		r := &d.Runs[i]
		what, rate, p99, limit, valid := string(r.Command), "", "", "", ""
		if r.Processes > 0 {
			what += ", " + theme.Plural(r.Processes, "process", "processes")
		}
		if r.RecordsPerSecond != nil {
			rate = theme.PerSecond(*r.RecordsPerSecond)
		}
		if r.P99US != nil {
			p99 = theme.Duration(micros(*r.P99US))
		}
		if r.BoundBy != "" {
			limit = verdict.Limit(r.BoundBy).String()
		}
		if r.Valid != nil {
			valid = pick(*r.Valid, "yes", "no")
		}
		row := t.Add(r.Reference, r.StartedAt.Format("2006-01-02 15:04"), known(what, (&plan.Topic{Name: r.Topic}).Short(), pick(r.Embedded(), "inside kt", r.Server), rate, p99, limit,
			pick(r.AtWork, "at work", valid), r.Ended, strings.Join(r.Tags, ",")), theme.Bytes(r.Bytes), r.Name)
		row.Note, row.NoteTone = pick(r.Problem != "", r.Name+history.Ext+" cannot be read: "+r.Problem, ""), doc.Warn
		row.Tone = pick(r.Problem != "" || r.Valid != nil && !*r.Valid, doc.Warn, doc.Plain)
	}
	return OfTable("kt runs", plural(len(d.Runs), "run"), t, d.Runs)
}

// DoctorRow is one check of a cluster.
type DoctorRow struct {
	Name    string           `json:"name"`
	About   string           `json:"about"`
	State   string           `json:"state"` // pass, warning, failure or unknown
	Text    string           `json:"text"`
	Advice  string           `json:"advice"`
	Figures map[string]int64 `json:"figures,omitempty"`
}

// DoctorDocument is what was found.
type DoctorDocument struct {
	Schema  int            `json:"schema"`
	Healthy bool           `json:"healthy"` // no check failed, and none was interrupted
	Exit    int            `json:"-"`       // the exit code
	Cluster result.Cluster `json:"cluster"`
	Checks  []DoctorRow    `json:"checks"`
}

// DoctorDoc returns the checks of a cluster.
func DoctorDoc(d *DoctorDocument) *doc.Document {
	tones := map[string]doc.Tone{"pass": doc.Good, "warning": doc.Warn, "failure": doc.Bad, "unknown": doc.Muted}
	counts := make(map[string]int)
	t := doc.NewTable("checks", "Checks", "state|whole", "check|whole", "found|sentence")
	for _, c := range d.Checks {
		counts[c.State]++
		found := slices.DeleteFunc([]string{c.About, c.Text, c.Advice}, func(part string) bool { return part == "" })
		t.Add(doc.Cell{Text: c.State, Tone: tones[c.State]}, c.Name, strings.Join(found, ": "))
	}
	all := OfTable("kt doctor", "the cluster, seen from this host", t, d.Checks)
	text := plural(counts["failure"], "failure") + ", " + plural(counts["warning"], "warning") + pick(counts["unknown"] > 0, fmt.Sprintf(", %d unknown", counts["unknown"]), "")
	all.Answer = []doc.Note{{Name: "verdict", Text: text + pick(d.Healthy, "", fmt.Sprintf(" (exit code %d)", d.Exit)), Tone: pick(d.Healthy, doc.Good, doc.Bad)}}
	return all
}

// Config is the configuration of a load: its flags, and the properties of its clients. A client that
// the load does not have is nil.
type Config struct{ Flags, Security, Producer, Consumer []result.Setting }

// Write writes a line for each value, with its source.
func (c Config) Write(w io.Writer) error {
	var b strings.Builder
	row := func(format string, args ...any) { b.WriteString(theme.Clean(fmt.Sprintf(format, args...)) + "\n") }
	b.WriteString("# flags\n")
	for _, f := range c.Flags {
		row("%-42s %-24s %s", f.Name, f.Value, f.Source)
	}
	for _, client := range []struct {
		name     string
		settings []result.Setting
	}{{"security", c.Security}, {"producer", c.Producer}, {"consumer", c.Consumer}} {
		if client.settings != nil {
			fmt.Fprintf(&b, "\n# %s properties\n", client.name)
		}
		for _, s := range client.settings {
			row("%-42s %-24s %-18s %s", s.Name, s.Value, s.Source, strings.TrimSpace(s.Client+"  "+s.Note))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
