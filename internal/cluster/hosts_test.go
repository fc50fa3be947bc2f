package cluster

import (
	"slices"
	"testing"

	"github.com/kt-bench/kt/internal/result"
)

func TestALostHostIsReportedOnce(t *testing.T) {
	const why = "its agent was started anew, and its processes are gone"
	gone, died := Ended{Code: 1, Text: why}, Ended{Code: 1, Text: "no room"}
	o := Outcome{Lost: []string{"vm1: " + why}, Ended: map[string][]Ended{"vm1": {gone, gone}, "vm2": {{}, died}}}
	var res result.Result
	for _, p := range []struct {
		host    string
		process int
		counted bool
	}{{"vm1", 1, false}, {"vm1", 2, false}, {"vm2", 1, true}, {"vm2", 2, false}} {
		var row result.ProcessRow
		row.Host, row.Process, row.Counted = p.host, p.process, p.counted
		res.Processes = append(res.Processes, row)
	}
	var told []string
	tell := func(text string) { told = append(told, text) }
	o.tellLost(told, tell)
	o.tellParts(&res, tell)
	if want := []string{"vm1: " + why, "vm2/2: no room"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if o.tellLost(told, tell); len(told) != 2 {
		t.Errorf("it is told again: %q", told)
	}
}
