package report

import (
	"fmt"
	"strings"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/theme"
)

// CalibrationDoc returns what a host can offer.
func CalibrationDoc(d *calibrate.Document) *doc.Document {
	t := doc.NewTable("runs", "The runs: how much is offered without a limit, and how precisely rates are kept",
		"rate|whole", d.Role(2), "offered", "CPU s per million|1", "delay p50|2", "p99", "max", "kept|whole")
	type row struct {
		*calibrate.Trial
		*calibrate.Kept
	}
	var list []row
	for _, c := range d.Tried {
		list = append(list, row{Trial: &c})
		t.Add("unlimited", c.Clients, theme.PerSecond(c.RecordsPerSecond), theme.Number(c.CPUSecondsPerMillion), "", "", "", "")
	}
	for _, k := range d.Schedule { // how precisely a rate was kept
		list = append(list, row{Kept: &k})
		own, rate := k.OwnSendDelayUS, theme.PerSecond(k.Rate)
		if k.OutOfReach {
			t.Add(rate, "", "", "", "", "", "", "out of reach").Tone = doc.Muted
			continue
		}
		kept := t.Add(rate, d.Clients, theme.Percent(k.OfferedShare), "", theme.Duration(micros(own.P50)), theme.Duration(micros(own.P99)), theme.Duration(micros(own.Max)), "no")
		if kept.Tone, kept.Note, kept.NoteTone = doc.Bad, strings.Join(k.Invalid, "; "), doc.Bad; k.Kept {
			kept.Tone, kept.Cells[7].Text = doc.Good, "yes"
		}
	}
	all := OfTable("kt calibrate", d.Brief, t, list)
	all.Tags = []string{d.Host.Hostname}
	if d.TooLow != "" {
		all.Alerts = []string{d.TooLow}
	}
	all.Answer = []doc.Note{{Name: "ceiling", Text: fmt.Sprintf("This host can offer %s records/s, %s MiB/s: %s CPU seconds per million records, with %d %s",
		theme.PerSecond(d.Ceiling.RecordsPerSecond), theme.Number(d.Ceiling.MiBPerSecond), theme.Number(d.Ceiling.CPUSecondsPerMillion), d.Clients, d.Role(d.Clients))}}
	return all
}
