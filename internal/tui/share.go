package tui

import (
	"maps"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// shareLimits returns the limits of the share group whose records are read; nil: it is no share group.
func (s *scene) shareLimits() *result.ShareLimits {
	if s.Environment == nil {
		return nil
	}
	return s.Environment.Share
}

// shareGroup returns what became of the records that a share group delivered, most important first; nil: it is no share group.
func (s *scene) shareGroup() []line {
	if s.shareLimits() == nil {
		return nil
	}
	of := func(name string, n int64) line { return line{muted(name + " " + theme.Rate(float64(n)))} }
	w := &s.All
	return []line{of("acquired", w.Consumed), of("in work", max(0, w.Consumed-w.Settled())), of("acknowledged", w.Settled()-w.AckFailed)}
}

// deliveries returns how many records were delivered for which time.
func (s *scene) deliveries() string {
	var all []string
	for _, times := range slices.Sorted(maps.Keys(s.All.Deliveries)) {
		all = append(all, times+". "+theme.Rate(float64(s.All.Deliveries[times])))
	}
	return strings.Join(all, " ")
}
