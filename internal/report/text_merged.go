package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// merged reports whether a result is of several processes.
func merged(r result.Result) bool { return len(r.Processes) > 0 }

// party returns the run, the processes and the hosts of a merged result.
func party(r result.Result) []string {
	var tags []string
	if r.Part != nil && r.Part.Run != "" {
		tags = append(tags, "run "+r.Part.Run)
	}
	hosts := make(map[string]bool)
	for _, p := range r.Processes {
		hosts[p.Host] = true
	}
	return append(tags, fmt.Sprintf("%d %s on %s", len(r.Processes), either(len(r.Processes), "process", "processes"), plural(len(hosts), "host")))
}

// taking returns how many processes are in the figures of the whole.
func taking(r result.Result) int {
	n := 0
	for _, p := range r.Processes {
		if p.Counted {
			n++
		}
	}
	return n
}

// overlap says over which time rates are, and how well it is known.
func (t *text) overlap(r result.Result) {
	o := r.Overlap
	if o == nil {
		return
	}
	n := taking(r)
	apart := ""
	if n > 1 {
		apart = "; starts " + spread(o)
	}
	about := ""
	switch {
	case tooShort(r):
		about = "too short for a rate; "
	case o.Seconds == 0:
		about = "rates: over the " + theme.Duration(seconds(r.Throughput.Seconds)) + " from the first record to the last; "
	case n > 1 && ratesOfOverlap(r):
		about = "rates: only while all processes ran; the rest: whole run; "
	}
	switch {
	case o.Seconds > 0:
		t.sentence("overlap", plain, theme.Duration(seconds(o.Seconds))+" of "+theme.Duration(seconds(o.SpanSeconds))+apart)
	case n < 2:
		t.sentence("overlap", warn, "none: less than 1s was measured")
	case o.Together:
		t.sentence("overlap", warn, "none: the processes were measured together for less than 1s"+apart)
	default:
		t.sentence("overlap", warn, "none: the processes did not run together"+apart)
	}
	t.sentence("", muted, fmt.Sprintf("%slatencies: the histograms of %d %s, added up", about, n, either(n, "process", "processes")))
}

// ratesOfOverlap reports whether rates leave out what processes did while others did not run.
func ratesOfOverlap(r result.Result) bool {
	return r.Throughput.FirstDueSeconds == r.Overlap.FromSeconds && r.Throughput.Seconds == r.Overlap.Seconds
}

// spread returns how far the starts were apart, and how well that is known.
func spread(o *result.Overlap) string {
	s := theme.Duration(micros(o.StartSpreadUS)) + " apart"
	switch {
	case !o.Agreed:
		s += " by each host's own clock"
	case o.ClockErrorUS >= 0:
		s += " ±" + theme.Duration(micros(o.ClockErrorUS))
	}
	return s
}

// noRate stands for the rate of a run that is too short for one.
const noRate = "too short for a rate: less than 1s was measured"

// tooShort reports whether a run is too short to be quoted by a rate.
func tooShort(r result.Result) bool {
	_, ok := r.Quoted()
	return !ok
}

// maxLeftOut is how many processes a summary says something of.
const maxLeftOut = 10

// leftOut names the processes that are in no figure of the whole, and why, and writes the notes of others.
func (t *text) leftOut(r result.Result) {
	var out, noted []result.ProcessRow
	for _, p := range r.Processes {
		switch {
		case !p.Counted:
			out = append(out, p)
		case p.State == result.PartComplete && p.Note != "", p.Note == result.NothingMeasured:
			noted = append(noted, p)
		}
	}
	if len(out) > 0 {
		t.row("left out", bad, fmt.Sprintf("%d of %s, in none of the figures below", len(out), theme.Plural(len(r.Processes), "process", "processes")))
		t.named(out, func(p result.ProcessRow) string { return " " + string(p.State) + ": " + strings.Join(fate(p), "; ") })
	}
	t.noted(noted, r.Hosts)
}

// noted writes the notes of processes that count: one line for several of a host without a record.
func (t *text) noted(rows []result.ProcessRow, hosts []result.HostRow) {
	idle := make(map[string]int) // processes of a host in which nothing was measured
	for _, p := range rows {
		if p.Note == result.NothingMeasured {
			idle[p.Host]++
		}
	}
	var others []result.ProcessRow
	for _, p := range rows {
		n := idle[p.Host]
		if p.Note != result.NothingMeasured || n == 1 {
			others = append(others, p)
			continue
		}
		if n == 0 { // it has been said
			continue
		}
		idle[p.Host] = 0
		which := fmt.Sprintf("%d processes", n)
		for _, h := range hosts {
			if h.Host == p.Host && h.Processes == n {
				which = "its " + which
			} else if h.Host == p.Host {
				which = fmt.Sprintf("%d of its %d processes", n, h.Processes)
			}
		}
		t.sentence("", warn, t.name(p.Host)+": "+strings.TrimSuffix(p.Note, "it")+which)
	}
	t.named(others, func(p result.ProcessRow) string { return ": " + p.Note })
}

// named writes a sentence for each process, of as many as are read.
func (t *text) named(rows []result.ProcessRow, say func(result.ProcessRow) string) {
	for _, p := range rows[:min(maxLeftOut, len(rows))] {
		t.sentence("", warn, t.name(p.Host)+"/"+strconv.Itoa(p.Process)+say(p))
	}
	if n := len(rows) - maxLeftOut; n > 0 {
		t.row("", muted, theme.Count(int64(n))+" more: --output processes lists them")
	}
}

// stateReasons explain states without a reason of their own.
var stateReasons = map[result.PartState]string{
	result.PartComplete: "it was not counted", result.PartStopped: "it was not counted",
	result.PartRunning: "it still runs", result.PartLost: "its run file was cut off", result.PartMissing: "it left no run file",
	result.PartLate: "it began too late to be measured with the others",
}

// fate returns the records of a process that does not count, and the reason.
func fate(p result.ProcessRow) []string {
	var parts []string
	if n := p.Records.Offered; n > 0 {
		parts = append(parts, theme.Count(p.Records.Acknowledged)+" of "+plural(n, "record")+" acknowledged")
	}
	if n := p.Records.Consumed; n > 0 {
		parts = append(parts, plural(n, "record")+" read")
	}
	return append(parts, cmp.Or(p.Note, stateReasons[p.State]))
}

// runFiles writes how many files a merged result was made of.
func (t *text) runFiles(r result.Result) {
	if len(r.RunFiles) == 0 {
		return
	}
	watched := 0
	for _, s := range r.RunFiles {
		if s.Process == 0 {
			watched++
		}
	}
	about := plural(len(r.RunFiles), "run file")
	if watched > 0 {
		about += fmt.Sprintf(": %d of processes, %d of hosts that were watched", len(r.RunFiles)-watched, watched)
	}
	t.row("merged from", muted, about)
}
