package study

import (
	"maps"
	"slices"

	"github.com/kt-bench/kt/internal/result"
)

// Fact is a setting, or a fact of the environment, with its value in each of several runs.
type Fact struct {
	What   string
	Values []string // "": the run has none
}

// Differ returns the facts that differ between runs, by their names.
func Differ(runs []*result.Result) (list []Fact) {
	all := make(map[string][]string)
	for i, r := range runs {
		for name, value := range factsOf(r) {
			if all[name] == nil {
				all[name] = make([]string, len(runs))
			}
			all[name][i] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if values := all[name]; len(slices.Compact(slices.Clone(values))) > 1 {
			list = append(list, Fact{name, values})
		}
	}
	return list
}
