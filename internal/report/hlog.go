package report

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// HLog is the name of the log of HdrHistogram, which is written of the windows of a run and not of its result.
const HLog = "hlog"

// WriteHLog writes the measured latencies of each second as a log of HdrHistogram 1.3, in nanoseconds, as its Java tools
// expect. windows calls its function for every window of the run. The headline latency has no tag, because those tools
// leave out lines with a tag unless they are asked for one. The others have the tags response, service and send-delay.
//
// The header is not that of hdrhistogram-go: it writes whole seconds there, and so moves all times by up to one.
func WriteHLog(w io.Writer, r result.Result, windows func(each func(w *stats.Window) error) error) error {
	out := bufio.NewWriter(w)
	at := r.StartedAt
	if r.Start != nil {
		at = r.Start.At
	}
	fmt.Fprintf(out, "#[Logged with kt, run %s]\n#[Histogram log format version 1.3]\n", theme.Clean(r.RunID))
	fmt.Fprintf(out, "#[StartTime: %.3f (seconds since epoch), %s]\n", float64(at.UnixMilli())/1000, at.UTC().Format(time.UnixDate))
	fmt.Fprintln(out, `"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"`)
	tag := "response"
	if !r.Plan.Reads() {
		tag = ""
	}
	err := windows(func(w *stats.Window) error {
		if w.Warmup {
			return nil
		}
		for _, one := range []struct {
			tag string
			h   *stats.Histogram
		}{{"", &w.EndToEnd}, {tag, &w.Response}, {"service", &w.Service}, {"send-delay", &w.SendDelay}} {
			if err := writeInterval(out, one.tag, w, one.h); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// writeInterval writes a line, unless nothing was measured.
func writeInterval(out io.Writer, tag string, w *stats.Window, h *stats.Histogram) error {
	if h.Count() == 0 {
		return nil
	}
	text, err := h.Nanoseconds()
	if err != nil {
		return err
	}
	if tag != "" {
		tag = "Tag=" + tag + ","
	}
	_, err = fmt.Fprintf(out, "%s%.3f,%.3f,%.3f,%s\n", tag, w.Start.Seconds(), w.Seconds(), ms(h.Served().Max()), text)
	return err
}
