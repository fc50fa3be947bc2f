package report

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/history"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// keptRuns are runs of every kind.
func keptRuns() []history.Run {
	at := time.Date(2026, 11, 21, 12, 10, 25, 0, time.UTC)
	yes, no, fast, slow, p99 := true, false, 1_234_567.8, 49_999.6, result.Micros(12_345)
	runs := []history.Run{
		{Name: "20261121-121025-produce-orders-50k-acks-all", AtWork: true, Command: "produce", Topic: "orders", Server: "kafka-1.example.com:9092", Tags: []string{"nightly"}, Bytes: 4096},
		{
			Name: "20261121-121024-produce-orders-50k-acks-all", Command: "produce", Topic: "orders", Server: "kafka-1.example.com:9092", RecordsPerSecond: &slow,
			Headline: "response", P99US: &p99, BoundBy: "none", Valid: &yes, Ended: "completed", Tags: []string{"nightly", "eu"}, Bytes: 1 << 20,
		},
		{
			Name: "20261121-121023-collect-produce-orders", Command: "produce", Processes: 12, Topic: strings.Repeat("long-topic-", 20), Server: "kafka-1.example.com:9092",
			RecordsPerSecond: &fast, Headline: "throughput", BoundBy: "broker acks", Valid: &no, Ended: "interrupted", Bytes: 30 << 20,
		},
		{Name: "20261121-121022-roundtrip-kt-bench-50k-acks-all", Command: "roundtrip", Topic: "kt-bench", RecordsPerSecond: &slow, Headline: "end_to_end", P99US: &p99, BoundBy: "the consumers", Valid: &yes, Ended: "cut off"},
		{Name: "20200101-000000-produce-\x1b[31mred", Problem: "line 1: it is no run file", Bytes: 5},
	}
	for i := range runs {
		runs[i].Reference, runs[i].StartedAt = history.Reference(i), at.Add(-time.Duration(i)*time.Second).In(time.FixedZone("elsewhere", 3600))
	}
	return runs
}

func TestTheListOfRunsFitsItsTerminal(t *testing.T) {
	for _, width := range []int{60, 80, 120, 200, 0} {
		var b bytes.Buffer
		if err := RunsFormats["text"](&b, keptRuns(), Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
				t.Errorf("at %d columns a line has %d: %q", width, n, line)
			}
		}
		for _, want := range []string{"last~4", "when (UTC)", "2026-11-21 12:10", "at work", "no run file", "12.3ms", "the consumers"} {
			if width == 60 && strings.Contains("12.3ms the consumers", want) {
				continue // there is no room for them
			}
			if !strings.Contains(b.String(), want) {
				t.Errorf("at %d columns it does not say %q:\n%s", width, want, b.String())
			}
		}
		if strings.Contains(b.String(), "\x1b") {
			t.Errorf("an escape sequence came through:\n%q", b.String())
		}
	}
}

func TestTheListOfRunsIsTheSameForProgramsEveryTime(t *testing.T) {
	for _, format := range []string{"json", "csv"} {
		var b bytes.Buffer
		if err := RunsFormats[format](&b, keptRuns(), Options{Theme: theme.New(theme.Options{})}); err != nil {
			t.Fatal(err)
		}
		golden(t, "runs/kept."+format, b.String())
	}
}
