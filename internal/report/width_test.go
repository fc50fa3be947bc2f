package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// crowded has long names and large numbers everywhere.
func crowded() result.Result {
	r := mergedMixed()
	const long = "ip-10-120-13-45.eu-central-1.compute.internal"
	r.Plan.Topic.Name, r.Environment.Topic.Name, r.Part.Run = strings.Repeat("orders-", 30), strings.Repeat("orders-", 30), strings.Repeat("nightly-", 20)
	for i := range r.Brokers {
		r.Brokers[i].ID, r.Brokers[i].Addr = 1001, long+":9092"
	}
	for i := range r.Hosts {
		r.Hosts[i].Host = long
		if b := r.Hosts[i].Busy; b != nil {
			b.Disks = []result.BusyDisk{{Name: strings.Repeat("disk", 9), BusyShare: 1}}
			b.Networks = []result.BusyNetwork{{Name: strings.Repeat("bond", 9), SentMiB: 1234.5, ReceivedMiB: 1234.5}}
		}
	}
	for i := range r.Processes {
		p := &r.Processes[i]
		p.Host, p.RecordsPerSecond, p.ConsumedPerSecond, p.MiBPerSecond = long, 1_234_567, 1_234_567, 1206
	}
	r.Environment.Topics = []result.Topic{{Name: r.Plan.Topic.Name, Partitions: 4}, {Name: "b", Partitions: 1}}
	for i := range r.Partitions {
		r.Partitions[i].Topic = r.Plan.Topic.Name
	}
	r.Events = []result.Event{{Text: strings.Repeat("1 → 2 ", 40)}}
	return r
}

// looks are those in which a summary may be on a terminal.
func looks() map[string]*theme.Theme {
	return map[string]*theme.Theme{
		"color": theme.New(theme.Options{Profile: colorprofile.TrueColor, Dark: true}),
		"ascii": theme.New(theme.Options{ASCII: true}),
	}
}

func tooWide(t *testing.T, name, text string, width int) {
	t.Helper()
	for line := range strings.Lines(escapes.ReplaceAllString(text, "")) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("%s: a line of %d characters on a terminal of %d:\n%s", name, n, width, line)
		}
	}
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	all := results()
	all["crowded"] = crowded()
	all["many"] = many(3, 2)
	for look, th := range looks() {
		for width := 60; width <= 120; width++ {
			o := Options{Theme: th, RunFile: "runs/orders.ktr", Width: width}
			for name, r := range all {
				tooWide(t, name+" in "+look, written(t, Text, r, o), width)
			}
		}
	}
}

// A log or a ticket has no room for more lines later, so nothing is left out of it.
func TestAFileOrAPipeGetsWholeLines(t *testing.T) {
	r := results()["outage"]
	event := strings.Repeat("a long command ", 20)
	r.Events = []result.Event{{Text: event}}
	must.Has(t, "an event is cut", oneSpace(written(t, Text, r, Options{})), strings.TrimSpace(event))
}

// Below 60 columns a summary is as for 60: nothing can be read there anyway.
func TestATerminalOfNoUseGetsTheNarrowestText(t *testing.T) {
	r := results()["merged"]
	must.Match(t, written(t, Text, r, Options{Width: 60}), written(t, Text, r, Options{Width: 5}), "written(t, Text, r, Options{Width: 5})")
}

func TestTheRunFileIsNamedInOnePiece(t *testing.T) {
	path := "/home/jo/" + strings.Repeat("runs/", 20) + "a b.ktr"
	text := written(t, Text, results()["fixed"], Options{RunFile: path, Width: 80})
	must.Has(t, "the summary", text, "    read again\n    kt report '"+path+"'\n")
}
