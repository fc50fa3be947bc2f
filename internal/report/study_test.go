package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/study"
)

// What a run has not measured is an empty field of the CSV, and not 0; a throughput of 0 is measured.
func TestStudyRowLeavesOutWhatWasNotMeasured(t *testing.T) {
	var l study.LoadFigures
	*l.Of(study.P50) = 5
	d := &study.Document{Study: &study.Study{}}
	row := studyRow(d, &study.CellDoc{}, &study.RunDoc{Turn: 1, Repeat: 1}, &l)
	got := row[3 : 3+len(study.Metrics)]
	want := []string{"0", "0", "", "5", "", "", "", "", ""}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	l.Stability = "steady"
	if row := studyRow(d, &study.CellDoc{}, &study.RunDoc{}, &l); row[3+slices.Index(study.Metrics, study.Roughness)] != "0" {
		t.Errorf("roughness of a steady run: %q, want 0", row)
	}
}

// The same figure is the same number in each table: rounded, and 0 is a measured 0.
func TestRounded(t *testing.T) {
	for v, want := range map[float64]string{160474.64: "160,475", 160474.4: "160,474", 0: "0"} {
		if got := Rounded(v); got != want {
			t.Errorf("Rounded(%v) = %q, want %q", v, got, want)
		}
	}
	if got := RateOf(0); !strings.Contains(got, "unlimited") {
		t.Errorf("a target of 0 is %q", got)
	}
}
