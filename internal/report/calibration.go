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
	all := &doc.Document{Command: "kt calibrate", Subject: d.Brief, Tags: []string{d.Host.Hostname}}
	if d.TooLow != "" {
		all.Alerts = []string{d.TooLow}
	}
	all.Answer = []doc.Note{{Name: "ceiling", Text: fmt.Sprintf("This host can offer %s records/s, %s MiB/s: %s CPU seconds per million records, with %d %s",
		theme.PerSecond(d.Ceiling.RecordsPerSecond), theme.Number(d.Ceiling.MiBPerSecond), theme.Number(d.Ceiling.CPUSecondsPerMillion), d.Clients, d.Role(d.Clients))}}
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
	for _, tried := range d.Tried {
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Cell{
			{Text: "unlimited"},
			{Text: strconv.Itoa(tried.Clients), Data: strconv.Itoa(tried.Clients)},
			{Text: theme.PerSecond(tried.RecordsPerSecond), Data: figure(tried.RecordsPerSecond)},
			{Text: theme.Number(tried.CPUSecondsPerMillion), Data: figure(tried.CPUSecondsPerMillion)},
			{},
			{},
			{},
			{},
		}})
	}
	for i := range d.Schedule {
		t.Rows = append(t.Rows, keptRow(d.Clients, &d.Schedule[i]))
	}
	all.Sections = []doc.Section{{ID: "runs", Tables: []doc.Table{t}}}
	return all
}

// keptRow is how precisely a rate was kept.
func keptRow(clients int, k *calibrate.Kept) doc.Row {
	row := doc.Row{Tone: doc.Good, Note: strings.Join(k.Invalid, "; "), NoteTone: doc.Bad}
	n, own, offered := strconv.Itoa(clients), k.OwnSendDelayUS, k.OfferedShare*k.Rate
	row.Cells = []doc.Cell{{Text: theme.PerSecond(k.Rate), Data: strconv.FormatFloat(k.Rate, 'f', -1, 64)}, {Text: n, Data: n}, {Text: theme.Percent(k.OfferedShare), Data: figure(offered)}, {}}
	for _, v := range []int64{int64(own.P50), int64(own.P99), int64(own.Max)} {
		row.Cells = append(row.Cells, doc.Cell{Text: theme.Duration(micros(v)), Data: strconv.FormatInt(v, 10)})
	}
	switch {
	case k.OutOfReach:
		row.Tone, row.Cells = doc.Muted, append([]doc.Cell{row.Cells[0]}, make([]doc.Cell, 6)...)
		row.Cells = append(row.Cells, doc.Cell{Text: "out of reach"})
	case k.Kept:
		row.Cells = append(row.Cells, doc.Cell{Text: "yes"})
	default:
		row.Tone, row.Cells = doc.Bad, append(row.Cells, doc.Cell{Text: "no"})
	}
	return row
}
