package history

import (
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// Filter chooses runs. The zero Filter chooses all.
type Filter struct {
	Tags    []string     // a run has all of them
	Command plan.Command // "": any
	Topic   string       // "": any
	Since   time.Time    // zero: any
	Valid   bool         // only valid runs
}

// Choose returns the runs that a filter chooses, in their order.
func (f Filter) Choose(runs []Run) []Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return !f.has(&r) })
}

func (f Filter) has(r *Run) bool {
	for _, tag := range f.Tags {
		if !slices.Contains(r.Tags, tag) {
			return false
		}
	}
	return (f.Command == "" || f.Command == r.Command) && (f.Topic == "" || f.Topic == r.Topic) &&
		!r.StartedAt.Before(f.Since) && (!f.Valid || r.Valid != nil && *r.Valid)
}

// Keep is which runs stay when old ones are removed. Those at work always do.
type Keep struct {
	Newest int       // so many of the newest
	Since  time.Time // those that began then or later
	Tagged bool      // those with a tag, and those that cannot be read: they may have one
}

// Old returns the runs that do not stay, of all runs with the newest first.
func (k Keep) Old(runs []Run) []Run {
	old := slices.Clone(runs[min(k.Newest, len(runs)):])
	return slices.DeleteFunc(old, func(r Run) bool {
		return r.AtWork || !r.StartedAt.Before(k.Since) || k.Tagged && (len(r.Tags) > 0 || r.Problem != "")
	})
}
