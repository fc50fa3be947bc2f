package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/theme"
)

// CalibrationDoc returns what a host can offer.
func CalibrationDoc(d *calibrate.Document) *doc.Document {
	t := doc.Table{ID: "runs", Caption: "The runs: how much is offered without a limit, and how precisely rates are kept", Data: true, Columns: []doc.Column{
		{Head: "rate", Data: "rate", Kind: doc.Whole},
		{Head: d.Role(2), Data: "clients"},
		{Head: "offered", Data: "records_per_second"},
		{Head: "CPU s per million", Data: "cpu_seconds_per_million", Leave: 1},
		{Head: "delay p50", Data: "own_send_delay_p50_us", Leave: 2},
		{Head: "p99", Data: "own_send_delay_p99_us"},
		{Head: "max", Data: "own_send_delay_max_us"},
		{Head: "kept", Data: "kept", Kind: doc.Whole},
	}}
	for _, c := range d.Tried {
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{
			text("unlimited"), same(strconv.Itoa(c.Clients)),
			{Text: theme.PerSecond(c.RecordsPerSecond), Data: figure(c.RecordsPerSecond)},
			{Text: theme.Number(c.CPUSecondsPerMillion), Data: figure(c.CPUSecondsPerMillion)},
			{},
			{},
			{},
			{},
		}})
	}
	for _, k := range d.Schedule { // how precisely a rate was kept
		own, rate := k.OwnSendDelayUS, doc.Cell{Text: theme.PerSecond(k.Rate), Data: exact(k.Rate)}
		row := doc.Row{Tone: doc.Bad, Note: strings.Join(k.Invalid, "; "), NoteTone: doc.Bad, Cells: []doc.Cell{
			rate, same(strconv.Itoa(d.Clients)),
			{Text: theme.Percent(k.OfferedShare), Data: figure(k.OfferedShare * k.Rate)},
			{},
			microsCell(own.P50), microsCell(own.P99), microsCell(own.Max), text("no"),
		}}
		switch {
		case k.OutOfReach:
			row.Tone, row.Cells = doc.Muted, []doc.Cell{rate, {}, {}, {}, {}, {}, {}, text("out of reach")}
		case k.Kept:
			row.Tone, row.Cells[7] = doc.Good, text("yes")
		}
		t.Rows = append(t.Rows, row)
	}
	all := ofTable("kt calibrate", d.Brief, t)
	all.Tags = []string{d.Host.Hostname}
	if d.TooLow != "" {
		all.Alerts = []string{d.TooLow}
	}
	all.Answer = []doc.Note{{Name: "ceiling", Text: fmt.Sprintf("This host can offer %s records/s, %s MiB/s: %s CPU seconds per million records, with %d %s",
		theme.PerSecond(d.Ceiling.RecordsPerSecond), theme.Number(d.Ceiling.MiBPerSecond), theme.Number(d.Ceiling.CPUSecondsPerMillion), d.Clients, d.Role(d.Clients))}}
	return all
}
