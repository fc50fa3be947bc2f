//go:build integration

package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// HdrHistogram's Java classes come with Kafka.
func TestHdrHistogramsJavaToolsReadWhatKtWrites(t *testing.T) {
	t.Parallel()
	path := must.Have(binary())(t)
	dir := t.TempDir()
	kt := func(args ...string) []byte {
		c := exec.Command(path, args...)
		var stderr bytes.Buffer
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil && c.ProcessState.ExitCode() != exitNotValid { // on a busy machine
			t.Fatalf("kt %v: %v\n%s", args, err, stderr.String())
		}
		return out
	}
	file, log := filepath.Join(dir, "run.ktr"), filepath.Join(dir, "run.hlog")
	text := kt("roundtrip", "--rate", "2000", "--duration", "4s", "--warmup", "1s", "--result", file, "--output", "json")
	var res result.Result
	var encoded struct {
		Histograms struct {
			EndToEnd struct {
				HDR string `json:"hdr_v2_base64"`
			} `json:"end_to_end"`
		}
	}
	for _, into := range []any{&res, &encoded} {
		must.Do(t, json.Unmarshal(text, into))
	}
	must.Do(t, os.WriteFile(log, kt("report", file, "--output", "hlog"), 0o600))
	java := exec.Command("../scripts/kafka", "tool", "testdata/ReadHistograms.java", log, encoded.Histograms.EndToEnd.HDR)
	var stderr bytes.Buffer
	java.Stderr = &stderr
	out, err := java.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	tags, tables, _ := strings.Cut(string(out), "       Value")
	unprocessed, processed, _ := strings.Cut(tables, "processed\n")
	checkTags(t, tags, &res)
	checkRows(t, percentileRows(string(kt("report", file, "--output", "hgrm"))), percentileRows(unprocessed))
	checkProcessed(t, processed, res.Latency.EndToEnd)
}

// checkTags checks the lines that Java prints of a log.
func checkTags(t *testing.T, lines string, res *result.Result) {
	t.Helper()
	wants := map[string]*result.Latency{
		"-": res.Latency.EndToEnd, "response": &res.Latency.Response, "service": &res.Latency.Service, "send-delay": &res.Latency.SendDelay,
	}
	for line := range strings.Lines(lines) {
		var tag string
		var start, intervals, count, p50, p99, most int64
		if _, err := fmt.Sscan(line, &tag, &start, &intervals, &count, &p50, &p99, &most); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want := wants[tag]
		delete(wants, tag)
		if want == nil || count != want.Count || intervals < 3 || start != res.Start.At.UnixMilli() {
			t.Errorf("tag %s has %d values in %d intervals from %d on, want %+v from %d on", tag, count, intervals, start, want, res.Start.At.UnixMilli())
			continue
		}
		for name, is := range map[string][2]int64{"p50": {p50, int64(want.P50)}, "p99": {p99, int64(want.P99)}, "max": {most, int64(want.Max)}} {
			if got, us := float64(is[0])/1000, float64(is[1]); got < us || got > us*1.001+0.001 {
				t.Errorf("%s of tag %s is %v µs, want %v", name, tag, got, us)
			}
		}
	}
	if len(wants) > 0 {
		t.Errorf("there is no tag of %v", wants)
	}
}

var percentileRow = regexp.MustCompile(`(?m)^ +([0-9.]+) ([0-9.]+) +([0-9]+)( +[0-9.]+)?$`)

// percentileRows returns the numbers of a percentile distribution: value, percentile, count.
func percentileRows(text string) (rows [][3]float64) {
	for _, m := range percentileRow.FindAllStringSubmatch(text, -1) {
		var row [3]float64
		for i := range row {
			row[i], _ = strconv.ParseFloat(m[i+1], 64) // the pattern has numbers alone
		}
		rows = append(rows, row)
	}
	return rows
}

// checkRows compares the rows of kt with those of Java, which rounds the maximum up.
func checkRows(t *testing.T, got, want [][3]float64) {
	t.Helper()
	if len(got) != len(want) || len(got) < 20 {
		t.Fatalf("%d rows, Java has %d", len(got), len(want))
	}
	most := got[len(got)-1][0]
	for i, g := range got {
		w := want[i]
		if g[0] != min(w[0], most) || w[0] > most*1.001 || math.Abs(g[1]-w[1]) > 1e-11 || g[2] != w[2] {
			t.Errorf("row %d is %v, Java's is %v", i, g, w)
		}
	}
}

// checkProcessed checks what HistogramLogProcessor prints of a log.
func checkProcessed(t *testing.T, text string, want *result.Latency) {
	t.Helper()
	m := regexp.MustCompile(`Max += +([0-9.]+), Total count += +([0-9]+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("HistogramLogProcessor prints\n%s", text)
	}
	most, _ := time.ParseDuration(m[1] + "ms")
	if us := float64(most.Nanoseconds()) / 1000; m[2] != strconv.FormatInt(want.Count, 10) || us < float64(want.Max) || us > float64(want.Max)*1.001+1 {
		t.Errorf("HistogramLogProcessor has %s values up to %v, want %d up to %d µs", m[2], most, want.Count, want.Max)
	}
}
