package probe

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func aReport(path string, results ...Result) *Report {
	return &Report{Schema: Schema, Mode: Quick, Machine: Machine{Hostname: "a"}, Directories: []Directory{{Path: path, Results: results}}}
}

func TestCompare(t *testing.T) {
	before := aReport("/d",
		Result{Test: testWrite, MiBPerSecond: 100, Latency: Latency{P50: 100, P99: 1000, P999: 5000}},
		Result{Test: testSync, Latency: Latency{P50: 100, P99: 1000, P999: 5000}})
	before.Machine.Writeback = map[string]string{"vm.dirty_ratio": "20", "vm.dirty_bytes": "0"}
	before.Directories[0].Disks = []Disk{{Name: "sda", Scheduler: "bfq"}}
	after := aReport("/d",
		Result{Test: testWrite, MiBPerSecond: 140, Latency: Latency{P50: 110, P99: 700, P999: 9000}},
		Result{Test: testRead, MiBPerSecond: 10})
	after.Machine.Writeback = map[string]string{"vm.dirty_ratio": "60", "vm.dirty_bytes": "0"}
	after.Directories[0].Disks = []Disk{{Name: "sda", Scheduler: "none"}}

	got := must.Have(Compare(before, after))(t)
	var changes []string
	for _, c := range got.Changes {
		changes = append(changes, c.Test+" "+c.Metric+" "+string(c.Effect))
	}
	must.Match(t, []string{"write rate better", "write p50 unchanged", "write p99 better", "write p99.9 worse"}, changes, "Compare: changes")
	must.Match(t, []Difference{{"vm.dirty_ratio", "20", "60"}, {"/d sda scheduler", "bfq", "none"}}, got.Settings, "Compare: settings")
	must.Match(t, []string{"/d read: only after", "/d sync: only before"}, got.Missing, "Compare: missing")
}

func TestAnUnevenRateMustChangeMore(t *testing.T) {
	before := aReport("/d", Result{Test: testWrite, MiBPerSecond: 100, Spread: Spread{CV: 0.2}})
	after := aReport("/d", Result{Test: testWrite, MiBPerSecond: 130})
	got, err := Compare(before, after)
	if err != nil || got.Changes[0].Effect != Unchanged {
		t.Errorf("Compare = %+v, %v, want a change of 30 %% unchanged where seconds vary by 20 %%", got.Changes, err)
	}
}

func TestEarlierReports(t *testing.T) {
	for _, r := range must.Rows[[]struct {
		Sentence, Text, Says string
	}](t, "compare") {
		if got, err := Earlier([]byte(r.Text)); got != nil || err == nil || !strings.Contains(err.Error(), r.Says) {
			t.Errorf("%s: Earlier(%q) = %v, %v, want an error with %q", r.Sentence, r.Text, got, err, r.Says)
		}
	}
	text := must.Have(json.Marshal(aReport("/d", Result{Test: testWrite, MiBPerSecond: 1})))(t)
	got, err := Earlier(text)
	if err != nil || len(got.Directories) != 1 || got.Directories[0].found(testWrite) != 1 {
		t.Errorf("Earlier(%s) = %+v, %v, want the report", text, got, err)
	}
}

func TestComparableBeforeAnythingIsMeasured(t *testing.T) {
	two := aReport("/a")
	two.Directories = append(two.Directories, Directory{Path: "/b"})
	if err := Comparable(two, []string{"/b", "/c"}); err != nil {
		t.Errorf("Comparable of one directory in common = %v", err)
	}
	must.Err(t, "no directory in common", Comparable(two, []string{"/c"}), "Comparable of none in common")
	if err := Comparable(aReport("/a"), []string{"/c"}); err != nil {
		t.Errorf("Comparable of one and one = %v, want them paired", err)
	}
}

func TestWhatIsNotFitToBeCompared(t *testing.T) {
	two := aReport("/a")
	two.Directories = append(two.Directories, Directory{Path: "/b"})
	must.Err(t, "no directory in common", must.Fail(Compare(two, aReport("/c"))), "Compare of other directories")
	other := aReport("/e")
	other.Mode, other.Machine.Hostname = Soak, "b"
	got, err := Compare(aReport("/d"), other)
	if err != nil || len(got.Notes) != 3 {
		t.Errorf("Compare = %q, %v, want notes on the mode, the host and the directory", got.Notes, err)
	}
}
