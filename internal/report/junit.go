package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
)

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
