package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"text/template"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// HGRM writes the distribution of the headline latency in milliseconds as HdrHistogram writes one: a .hgrm file, which
// plotting tools read. Rows are those of its Java class, with five ticks for each half of the distance to 100 %: the first value at or
// above each level of percent, and how many values are at most that. A value with many of the levels has a row for each.
func HGRM(w io.Writer, r result.Result, _ Options) error {
	name, h := "response time", &r.Histograms.Response.Histogram
	if r.Plan.Reads() {
		name, h = "end-to-end latency", &r.Histograms.EndToEnd.Histogram
	}
	if h.Count() == 0 {
		return fmt.Errorf("no %s was measured, so there is no distribution: see --output text", name)
	}
	return buffered(w, func(b *bytes.Buffer) {
		fmt.Fprintf(b, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
		row := func(value time.Duration, level float64, total int64) {
			fmt.Fprintf(b, "%12.3f %2.12f %10d", ms(value), level/100, total)
			if level < 100 {
				fmt.Fprintf(b, " %14.2f", 1/(1-level/100))
			}
			b.WriteByte('\n')
		}
		const ticks = 5
		level, total, mean, squares := 0.0, int64(0), ms(h.Mean()), 0.0
		h.Each(func(upTo time.Duration, count int64) {
			squares += float64(count) * (ms(upTo) - mean) * (ms(upTo) - mean)
			total += count
			upTo = min(upTo, h.Served().Max())
			for 100*float64(total)/float64(h.Ranked()) >= level {
				if row(upTo, level, total); total == h.Ranked() {
					row(upTo, 100, total)
					return
				}
				halves := int64(math.Log(100/(100-level))/math.Ln2) + 1
				level += 100 / (ticks * math.Exp2(float64(halves)))
			}
		})
		fmt.Fprintf(b, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean, math.Sqrt(squares/float64(h.Count())))
		fmt.Fprintf(b, "#[Max     = %12.3f, Total count    = %12d]\n", ms(h.Served().Max()), h.Ranked())
		fmt.Fprintf(b, "#[Buckets = %12d, SubBuckets     = %12d]\n", stats.HDRBuckets, stats.HDRSubBuckets)
		fmt.Fprintf(b, "#[%s in milliseconds, run %s]\n", name, theme.Clean(r.RunID))
	})
}

// HLog is the name of the log of HdrHistogram, which is written of the windows of a run and not of its result.
const HLog = "hlog"

// WriteHLog writes the measured latencies of each second as a log of HdrHistogram 1.3, in nanoseconds, as its Java tools
// expect. windows calls its function for every window of the run. The headline latency has no tag, because those tools
// leave out lines with a tag unless they are asked for one. The others have the tags response, service and send-delay.
//
// The header is not that of hdrhistogram-go: it writes whole seconds there, and so moves all times by up to one.
func WriteHLog(w io.Writer, r result.Result, windows func(each func(w *stats.Window)) error) error {
	if err := r.OneLoad(); err != nil {
		return fmt.Errorf("--output hlog: %w", err)
	}
	out, at := bufio.NewWriter(w), r.StartedAt
	if r.Start != nil {
		at = r.Start.At
	}
	fmt.Fprintf(out, "#[Logged with kt, run %s]\n#[Histogram log format version 1.3]\n", theme.Clean(r.RunID))
	fmt.Fprintf(out, "#[StartTime: %.3f (seconds since epoch), %s]\n", float64(at.UnixMilli())/1000, at.UTC().Format(time.UnixDate))
	fmt.Fprintln(out, `"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"`)
	response := pick(r.Plan.Reads(), "Tag=response,", "")
	var failed error // to encode a histogram
	err := windows(func(w *stats.Window) {
		for _, one := range []struct {
			tag string
			h   *stats.Histogram
		}{{"", &w.EndToEnd}, {response, &w.Response}, {"Tag=service,", &w.Service}, {"Tag=send-delay,", &w.SendDelay}} {
			if w.Warmup || one.h.Count() == 0 {
				continue
			}
			text, err := one.h.Nanoseconds()
			failed = cmp.Or(failed, err)
			fmt.Fprintf(out, "%s%.3f,%.3f,%.3f,%s\n", one.tag, w.Start.Seconds(), w.Seconds(), ms(one.h.Served().Max()), text)
		}
	})
	return cmp.Or(err, failed, out.Flush())
}

// junit is a document of JUnit, as CI systems read it.
var junit = template.Must(template.New("").Funcs(template.FuncMap{"xml": func(text string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(theme.Clean(text)))
	return b.String(), err
}}).Parse(xml.Header + `<testsuites tests="{{len .Cases}}" failures="{{.Failures}}">
  <testsuite name="{{xml .Name}}" tests="{{len .Cases}}" failures="{{.Failures}}" time="{{.Time}}" timestamp="{{.At}}">
{{- range $case := .Cases}}
    <testcase name="{{xml .Name}}" classname="kt.{{.Class}}" time="{{.Time}}">
{{- with .Failure}}
      <failure message="{{xml .}}" type="{{$case.Class}}">{{xml .}}</failure>{{end}}
{{- with .Out}}
      <system-out>{{xml .}}</system-out>{{end}}
    </testcase>{{end}}
  </testsuite>
</testsuites>
`))

// JUnit writes a test case for the run, one for its validity, and one for each limit.
func JUnit(w io.Writer, r result.Result, _ Options) error {
	type test struct{ Class, Name, Time, Out, Failure string }
	took, failed := fmt.Sprintf("%.3f", r.ElapsedSeconds), endedEarly(&r)
	if failed == "" || r.Ended == result.DiskFull {
		alone := r // its validity and its limits have cases of their own
		alone.Valid, alone.Limits, failed = true, nil, ""
		if err := run.Judge(&alone, false); err != nil {
			failed = err.Error()
		}
	}
	cases := []test{
		{"run", "the run ends well", took, "limit: " + r.BoundBy.Limit.String() + ": " + r.BoundBy.Evidence, failed},
		{"valid", "the run is valid", "0", "", strings.Join(invalid(&r), "; ")},
	}
	for i := range r.Limits {
		l := &r.Limits[i]
		cases = append(cases, test{"limit", l.Expression, "0", limitText(l), pick(l.Held, "", l.Expression+" is not held: "+limitText(l))})
	}
	failures := 0
	for _, c := range cases {
		if c.Failure != "" {
			failures++
		}
	}
	var text bytes.Buffer
	err := junit.Execute(&text, map[string]any{
		"Name": fmt.Sprintf("kt %s %s", r.Plan.Command, r.Subject()), "Time": took, "At": r.StartedAt.UTC().Format("2006-01-02T15:04:05"), "Cases": cases, "Failures": failures,
	})
	if err != nil {
		return err
	}
	_, err = w.Write(text.Bytes())
	return err
}
