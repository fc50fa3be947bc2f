package config

import "github.com/spf13/pflag"

// ReportOutputs are the forms in which a result is written again.
var ReportOutputs = []string{"text", "json", "jsonl", "csv", "processes", "perf-test"}

// Report is what kt report was asked to do.
type Report struct {
	Output         string
	NoColor, ASCII bool
	config         string
	set            *pflag.FlagSet
}

// NewReport defines the flags of kt report on a set.
func NewReport(set *pflag.FlagSet) *Report {
	r := &Report{set: set}
	set.SortFlags = false
	group(set, groupOutput, func() { defineFormat(set, &r.Output, ReportOutputs, &r.NoColor, &r.ASCII) })
	group(set, groupConfig, func() { defineConfigFile(set, &r.config) })
	return r
}

// Load applies environment and configuration file.
func (r *Report) Load(sys System, nearest Nearest) error {
	if _, err := loadLayers(r.set, "report", r.config, "", sys, nearest); err != nil {
		return err
	}
	return checkFormat(r.set, &r.Output, ReportOutputs, nearest)
}
