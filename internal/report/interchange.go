package report

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// HGRM writes the distribution of the headline latency in milliseconds as HdrHistogram writes one: a .hgrm file, which
// plotting tools read. Rows are those of its Java class, with five ticks for each half of the distance to 100 %.
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
		eachPercentile(h, func(value time.Duration, level float64, total int64) {
			fmt.Fprintf(b, "%12.3f %2.12f %10d", ms(value), level/100, total)
			if level < 100 {
				fmt.Fprintf(b, " %14.2f", 1/(1-level/100))
			}
			b.WriteByte('\n')
		})
		fmt.Fprintf(b, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", ms(h.Mean()), deviation(h))
		fmt.Fprintf(b, "#[Max     = %12.3f, Total count    = %12d]\n", ms(h.Served().Max()), h.Ranked())
		fmt.Fprintf(b, "#[Buckets = %12d, SubBuckets     = %12d]\n", stats.HDRBuckets, stats.HDRSubBuckets)
		fmt.Fprintf(b, "#[%s in milliseconds, run %s]\n", name, theme.Clean(r.RunID))
	})
}

// ticks is the number of levels in each half of the distance to 100 %, as HdrHistogram has by default.
const ticks = 5

// eachPercentile calls row for the levels that HdrHistogram prints: the first value at or above each level of percent, and
// how many values are at most that. A value with many of the levels has a row for each.
func eachPercentile(h *stats.Histogram, row func(value time.Duration, level float64, total int64)) {
	level, total := 0.0, int64(0)
	h.Each(func(upTo time.Duration, count int64) {
		total += count
		upTo = min(upTo, h.Served().Max())
		for 100*float64(total)/float64(h.Ranked()) >= level {
			row(upTo, level, total)
			if total == h.Ranked() {
				row(upTo, 100, total)
				return
			}
			halves := int64(math.Log(100/(100-level))/math.Ln2) + 1
			level += 100 / (ticks * math.Exp2(float64(halves)))
		}
	})
}

// deviation returns the standard deviation in milliseconds.
func deviation(h *stats.Histogram) float64 {
	mean, sum := ms(h.Mean()), 0.0
	h.Each(func(upTo time.Duration, count int64) { sum += float64(count) * (ms(upTo) - mean) * (ms(upTo) - mean) })
	return math.Sqrt(sum / float64(h.Count()))
}

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

// junitSuites is a document of JUnit, as CI systems read it.
type junitSuites struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Suite    junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Time      string      `xml:"time,attr"` // in seconds
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes a test case for the run, one for its validity, and one for each limit.
func JUnit(w io.Writer, r result.Result, _ Options) error {
	took := fmt.Sprintf("%.3f", r.ElapsedSeconds)
	s := junitSuite{Name: theme.Clean(fmt.Sprintf("kt %s %s", r.Plan.Command, subject(&r.Header))), Time: took, Timestamp: r.StartedAt.UTC().Format("2006-01-02T15:04:05")}
	add := func(class, name, out, failure string) {
		c := junitCase{Name: theme.Clean(name), Class: "kt." + class, Time: "0", Out: theme.Clean(out)}
		if class == "run" {
			c.Time = took
		}
		if failure = theme.Clean(failure); failure != "" {
			c.Failure = &junitFailure{Message: failure, Type: class, Text: failure}
			s.Failures++
		}
		s.Cases = append(s.Cases, c)
	}
	add("run", "the run ends well", "limit: "+r.BoundBy.Limit.String()+": "+r.BoundBy.Evidence, failed(r))
	add("valid", "the run is valid", "", strings.Join(invalid(&r), "; "))
	for i := range r.Limits {
		l := &r.Limits[i]
		failure := ""
		if !l.Held {
			failure = l.Expression + " is not held: " + limitText(l)
		}
		add("limit", l.Expression, limitText(l), failure)
	}
	s.Tests = len(s.Cases)
	text, err := xml.MarshalIndent(junitSuites{Tests: s.Tests, Failures: s.Failures, Suite: s}, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}

// failed returns what is wrong with a run beside its validity and its limits, "" if nothing is.
func failed(r result.Result) string {
	if text := endedEarly(&r); text != "" && r.Ended != result.DiskFull {
		return text
	}
	r.Valid, r.Limits = true, nil
	if err := run.Judge(&r, false); err != nil {
		return err.Error()
	}
	return ""
}
