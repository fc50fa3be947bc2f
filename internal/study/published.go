package study

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/profiles"
)

// PublishedCase is one test that somebody published.
type PublishedCase struct {
	Source  string `json:"source"` // a short name of its author and year
	Case    string `json:"case"`
	Account string `json:"account"`        // its author and year
	Link    string `json:"link,omitempty"` // "": not recorded
}

// Published is a figure of a published test beside that of this study.
type Published struct {
	PublishedCase

	At               map[string]string `json:"at"` // the factors that it varied too
	RecordsPerSecond float64           `json:"records_per_second"`
	Here             float64           `json:"records_per_second_here,omitempty"` // the median of the cell; 0: not one cell alone is alike
	Ratio            float64           `json:"ratio,omitempty"`                   // here over published; 0: there is none
	Latencies        []Latency         `json:"latencies,omitempty"`
	Differs          []string          `json:"differs,omitempty"` // of the load here: why there is no ratio
	Environment      string            `json:"environment"`       // of the published test
	EnvironmentHere  string            `json:"environment_here,omitempty"`
}

// Latency is a latency of a published test beside that of this study. Both are of the time from when a record was handed to the client
// until it was acknowledged, as Kafka's own tools count it.
type Latency struct {
	Of        string  `json:"of"` // mean, p50, p95 or p99
	Published float64 `json:"published_us"`
	Here      float64 `json:"here_us,omitempty"` // the median of the runs of the cell; 0: as RecordsPerSecond
}

// Latencies are those that stand beside published ones.
var Latencies = []string{metric.Mean, metric.P50, "p95", metric.P99}

// sent returns the metric of a latency that is counted from when a record was handed to the client.
func sent(latency string) Metric { return Metric("service." + latency) }

// String returns the factors of the figure: "partitions=4".
func (p *Published) String() string {
	return Cell{At: mapped(slices.Sorted(maps.Keys(p.At)), func(name string) Flag { return Flag{name, p.At[name]} })}.String()
}

// publishedRow is what a test measured once.
type publishedRow struct {
	SystemFigure `yaml:",inline"`

	Command, System  string
	RecordsPerSecond float64           `yaml:"records-per-second"`
	Settings         map[string]string `yaml:",inline"` // by the names of flags
}

// publishedRows returns the rows of some cases.
func publishedRows(cases []string) (rows []publishedRow, err error) {
	text, err := fs.ReadFile(profiles.Of("published"), "tests.yaml")
	var sources map[string]struct {
		Account, Link string
		Cases         map[string][]publishedRow
	}
	if err == nil {
		err = yaml.Unmarshal(text, &sources)
	}
	for _, name := range cases {
		source, of, _ := strings.Cut(name, "/")
		for _, row := range sources[source].Cases[of] {
			row.PublishedCase = PublishedCase{source, of, sources[source].Account, sources[source].Link}
			rows = append(rows, row)
		}
	}
	return rows, err
}

// beside returns a published figure with that of the cell with the same values, if it is one alone.
func (d *Document) beside(row publishedRow) Published {
	p := Published{PublishedCase: row.PublishedCase, RecordsPerSecond: row.RecordsPerSecond, At: make(map[string]string), Environment: row.Of}
	factors := d.Study.factorNames()
	for _, factor := range factors {
		_, flag := d.Study.target(factor)
		value := row.Settings[flag]
		if n, err := strconv.Atoi(value); err == nil && (flag == "producers" || flag == "consumers") { // the row has those of a process
			for _, times := range []string{"hosts", "processes"} {
				if by, err := strconv.Atoi(row.Settings[times]); err == nil && !slices.Contains(factors, times) {
					n *= by
				}
			}
			value = strconv.Itoa(n)
		}
		if value != "" {
			p.At[factor] = value
		}
	}
	for _, of := range Latencies {
		if ms, err := strconv.ParseFloat(row.Settings["latency-"+of+"-ms"], 64); err == nil {
			p.Latencies = append(p.Latencies, Latency{Of: of, Published: 1000 * ms})
		}
	}
	load := slices.IndexFunc(d.Study.Loads, func(l Load) bool { return l.Command == row.Command })
	alike := slices.DeleteFunc(slices.Clone(d.Cells), func(c CellDoc) bool { return !fits(c.At, p.At) })
	if load < 0 || len(p.At) == 0 || len(alike) != 1 || len(alike[0].Runs) == 0 {
		return p
	}
	c := &alike[0]
	if here := spread(c.of(load).values(metric.Rate)); here.N > 0 {
		p.Here, p.EnvironmentHere = here.Median, c.Runs[0].Loads[load].cluster
		for i := range p.Latencies {
			l := &p.Latencies[i]
			l.Here = spread(c.of(load).values(sent(l.Of))).Median
		}
		// A setting that only one of them has is no difference, except the rate: without one a load is as fast as it can.
		l := d.Study.at(c.cell, d.Study.Loads[load])
		for _, name := range []string{"record-size", "acks", "compression", "batch-size", "max-in-flight", "replication-factor", "rate"} {
			x, y := l.value(name), row.Settings[name]
			if name == "rate" {
				x, y = cmp.Or(strings.TrimPrefix(cmp.Or(x, l.value("throughput")), "-1"), "unlimited"), cmp.Or(y, "unlimited")
			}
			if x != "" && y != "" && x != y && (amount(x) == 0 || amount(x) != amount(y)) {
				p.Differs = append(p.Differs, fmt.Sprintf("%s %s, published %s", name, x, y))
			}
		}
		if len(p.Differs) == 0 {
			p.Ratio = p.Here / p.RecordsPerSecond
		}
	}
	return p
}

// fits reports whether a cell has all of some values.
func fits(at, values map[string]string) bool {
	both := maps.Clone(at)
	maps.Copy(both, values)
	return maps.Equal(both, at)
}
