package study

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

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
	Differs          []string          `json:"differs,omitempty"`                 // of the load here: why there is no ratio
	Environment      string            `json:"environment"`                       // of the published test
	EnvironmentHere  string            `json:"environment_here,omitempty"`
}

// String returns the factors of the figure: "partitions=4".
func (p *Published) String() string {
	var at []Flag
	for _, name := range slices.Sorted(maps.Keys(p.At)) {
		at = append(at, Flag{name, p.At[name]})
	}
	return Cell{At: at}.String()
}

// publish adds the figures that the study names. Several of one source for the same factors stand each for itself.
func (d *Document) publish() error {
	d.Published = []Published{}
	rows, err := publishedRows("runs.csv", d.Study.Published)
	for _, row := range rows {
		d.Published = append(d.Published, d.beside(row))
	}
	return err
}

// publishedRow is a row of a table of published figures, by the names of the columns.
type publishedRow map[string]string

// number returns a number of the row; 0: it has none. A test reads them all.
func (r publishedRow) number(column string) float64 {
	v, _ := strconv.ParseFloat(r[column], 64)
	return v
}

func (r publishedRow) test() PublishedCase {
	source, name, _ := strings.Cut(r["case"], "/")
	return PublishedCase{source, name, r["account"], r["link"]}
}

// publishedRows returns the rows of a table that are of some cases, each with its source.
func publishedRows(table string, cases []string) (rows []publishedRow, err error) {
	sources := make(map[string]publishedRow)
	for _, name := range []string{"sources.csv", table} {
		text, err := fs.ReadFile(profiles.Of("published"), name)
		if err != nil {
			return nil, err
		}
		lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			return nil, fmt.Errorf("published figures: %w", err)
		}
		for _, line := range lines[1:] {
			row := make(publishedRow)
			for i, column := range lines[0] {
				row[column] = line[i]
			}
			if source, _, ok := strings.Cut(row["case"], "/"); !ok {
				sources[row["source"]] = row
			} else if maps.Copy(row, sources[source]); slices.Contains(cases, row["case"]) {
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// beside returns a published figure with that of the cell with the same values, if it is one alone.
func (d *Document) beside(row publishedRow) Published {
	p := Published{PublishedCase: row.test(), RecordsPerSecond: row.number("records-per-second"), At: make(map[string]string), Environment: row["environment"]}
	factors := d.Study.factorNames()
	for _, factor := range factors {
		_, flag := d.Study.target(factor)
		value := row[flag]
		if n, err := strconv.Atoi(value); err == nil && (flag == "producers" || flag == "consumers") { // the row has those of a process
			for _, times := range []string{"hosts", "processes"} {
				if by, err := strconv.Atoi(row[times]); err == nil && !slices.Contains(factors, times) {
					n *= by
				}
			}
			value = strconv.Itoa(n)
		}
		if value != "" {
			p.At[factor] = value
		}
	}
	load := slices.IndexFunc(d.Study.Loads, func(l Load) bool { return l.Command == row["command"] })
	alike := slices.DeleteFunc(slices.Clone(d.Cells), func(c CellDoc) bool { return !fits(c.At, p.At) })
	if load < 0 || len(p.At) == 0 || len(alike) != 1 || len(alike[0].Runs) == 0 {
		return p
	}
	c := &alike[0]
	if here := spread(c.of(load).values(metric.Rate)); here.N > 0 && p.RecordsPerSecond > 0 {
		p.Here, p.EnvironmentHere = here.Median, c.Runs[0].Loads[load].cluster
		// A setting that only one of them has is no difference, except the rate: without one a load is as fast as it can.
		l := d.Study.at(c.cell, d.Study.Loads[load])
		for _, name := range []string{"record-size", "acks", "compression", "batch-size", "max-in-flight", "replication-factor", "rate"} {
			x, y := l.value(name), row[name]
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
	for name, value := range values {
		if at[name] != value {
			return false
		}
	}
	return true
}
