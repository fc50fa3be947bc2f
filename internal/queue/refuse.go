package queue

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
)

// Refuse returns an error for each property that a system does not have. has lists those that it has, and nearest
// tells what comes nearest to others.
func Refuse(system string, given map[string]plan.Given, has []string, nearest map[string]string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(has, name) {
			continue
		}
		advice := nearest[name]
		if advice == "" {
			advice = "leave it out; there is " + strings.Join(has, ", ")
		}
		errs = append(errs, fmt.Errorf("%s (from %s): %s does not have it: %s", name, given[name].Source, system, advice))
	}
	return errors.Join(errs...)
}
