package config

import "github.com/spf13/pflag"

// ReportOutputs are the forms in which a result is written again.
var ReportOutputs = []string{"text", "json", "jsonl", "csv", "processes", "perf-test"}

// Report is the settings of kt report.
type Report struct{ form }

// NewReport defines the flags of kt report on a set.
func NewReport(set *pflag.FlagSet) *Report {
	r := new(Report)
	r.defineForm(set, "report", ReportOutputs, nil)
	return r
}

// Load applies environment and configuration file.
func (r *Report) Load(sys System, nearest Nearest) error {
	if err := r.layers(sys, nearest); err != nil {
		return err
	}
	return r.checkForm(nearest)
}
