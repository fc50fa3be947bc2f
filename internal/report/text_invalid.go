package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// invalid returns the reasons why a result is not valid. Many processes with one reason are counted, and the
// worst is named.
func invalid(r result.Result) []string {
	if !merged(r) {
		return r.Invalid
	}
	type group struct {
		processes    int
		worst, which string
	}
	groups := make(map[string]*group)
	var order []string
	said := make(map[string]bool) // in the document, with the process
	of := 0
	var own []string // of the last process that counts
	for _, p := range r.Processes {
		if !p.Counted {
			continue
		}
		of++
		own = p.Invalid
		name := p.Host + "/" + strconv.Itoa(p.Process)
		for _, reason := range p.Invalid {
			said[name+": "+reason] = true
			kind := kindOf(reason)
			g := groups[kind]
			if g == nil {
				g = new(group)
				groups[kind], order = g, append(order, kind)
			}
			if g.processes++; g.processes == 1 || lateBy(reason) > lateBy(g.worst) {
				g.worst, g.which = reason, name
			}
		}
	}
	var all []string
	for _, kind := range order {
		g := groups[kind]
		if g.processes == 1 {
			all = append(all, g.which+": "+g.worst)
			continue
		}
		which := "such as "
		if lateBy(g.worst) > 0 {
			which = "worst "
		}
		all = append(all, fmt.Sprintf("%d of %d processes, %s%s: %s", g.processes, of, which, g.which, g.worst))
	}
	for _, reason := range r.Invalid {
		// The reasons of a single process are those of the whole, without its name.
		if !said[reason] && (of > 1 || !slices.Contains(own, reason)) {
			all = append(all, reason)
		}
	}
	return all
}

// kindOf returns the text of a reason before its first figure.
func kindOf(reason string) string {
	if at := strings.IndexAny(reason, "0123456789"); at >= 0 {
		return reason[:at]
	}
	return reason
}

// lateBy returns the first time in a reason: by how much records left late. It is 0 where there
// is none.
func lateBy(reason string) time.Duration {
	for word := range strings.FieldsSeq(reason) {
		if d, err := time.ParseDuration(word); err == nil {
			return d
		}
	}
	return 0
}

// notValid tells why the run is not valid.
func (t *text) notValid(r result.Result) {
	if !r.Valid {
		t.sentence("NOT VALID", bad, strings.Join(invalid(r), "; "))
	}
}
