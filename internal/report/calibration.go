package report

import (
	"bytes"
	"fmt"
	"io"

	"github.com/kt-bench/kt/internal/calibrate"
	"github.com/kt-bench/kt/internal/theme"
)

// CalibrationJSON writes what a host can offer as its document.
func CalibrationJSON(w io.Writer, d calibrate.Document, _ Options) error {
	return theme.JSON(w, d, "  ")
}

// Calibration writes what a host can offer, for people.
func Calibration(w io.Writer, d calibrate.Document, o Options) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.line("")
		t.heading("kt calibrate "+string(t.th.Glyphs.Arrow)+" "+d.Brief, []string{d.Host.Hostname})
		if d.TooLow != "" {
			t.alert(d.TooLow)
		}
		t.line("")
		t.row("ceiling", strong, fmt.Sprintf("%s records/s   %s MiB/s", theme.PerSecond(d.Ceiling.RecordsPerSecond), theme.Number(d.Ceiling.MiBPerSecond)))
		t.row("cost", plain, fmt.Sprintf("%s CPU seconds per million records", theme.Number(d.Ceiling.CPUSecondsPerMillion)))
		t.row(d.Role(2), plain, fmt.Sprintf("%d %s most", d.Clients, either(d.Clients, "offers", "offer")))
		for _, tried := range d.Tried {
			t.row("", muted, fmt.Sprintf("%d: %s records/s, %s CPU seconds per million", tried.Clients, theme.PerSecond(tried.RecordsPerSecond), theme.Number(tried.CPUSecondsPerMillion)))
		}
		for i, k := range d.Schedule {
			name, style := "", good
			if i == 0 {
				name = "schedule"
			}
			text := theme.PerSecond(k.Rate) + " records/s: "
			switch {
			case k.OutOfReach:
				style, text = muted, text+"out of reach"
			case !k.Kept:
				style, text = bad, text+"not kept, "+precision(k)
			default:
				text += precision(k)
			}
			t.row(name, style, text)
			for _, why := range k.Invalid {
				t.sentence("", bad, why)
			}
		}
		t.line("")
	})
}

// precision returns how precisely a rate was kept.
func precision(k calibrate.Kept) string {
	own := k.OwnSendDelayUS
	return fmt.Sprintf("%s offered, own send delay p50 %s, p99 %s, max %s", theme.Percent(k.OfferedShare),
		theme.Duration(micros(own.P50)), theme.Duration(micros(own.P99)), theme.Duration(micros(own.Max)))
}
