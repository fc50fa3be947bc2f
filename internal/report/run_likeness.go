package report

import (
	"strconv"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// offShows is how far a figure of a replay may be from the captured one without a warning.
const offShows = 0.05

// likeness compares a load with what was captured: a table, and below it what is not alike. There is none of other loads.
func likeness(r *result.Result) (blocks []doc.Block) {
	if r.Replay == nil {
		return nil
	}
	size, exact := func(v float64) string { return theme.Bytes(int64(v)) }, func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
	labels := map[string]struct {
		name  string
		write func(v float64) string
	}{
		"records_per_second": {"records/s", theme.PerSecond},
		"bytes_per_second":   {"bytes/s, compressed", size},
		"batch_bytes":        {"bytes of a batch, compressed", size},
		"batch_records":      {"records of a batch", theme.Number},
		"compression_ratio":  {"compression ratio", exact},
		"keys":               {"distinct keys", func(v float64) string { return theme.Count(int64(v)) }},
		"zipf":               {"Zipf exponent of the keys", exact},
	}
	t := doc.NewTable("replay", "replay of a captured load", "figure|name", "asked", "made", "off")
	for _, f := range r.Replay.Figures {
		of, made, off := labels[f.Figure], none, doc.Cell{Text: none}
		if f.Made != nil {
			made, off.Text = of.write(*f.Made), theme.Signed(*f.Off)
			off.Tone = pick(*f.Off < -offShows || *f.Off > offShows, doc.Warn, doc.Plain)
		}
		t.Add(of.name, of.write(f.Asked), made, off)
	}
	unlike := new(doc.Facts)
	unlike.List("not alike", r.Replay.Unlike...)
	return []doc.Block{t, unlike}
}
