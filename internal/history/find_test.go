package history

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestANameMeansOneRun(t *testing.T) {
	paths := []string{
		"/s/runs/20261121-121027-consume-orders.ktr",
		"/s/runs/20261121-121026-produce-orders-50k-acks-all-2.ktr",
		"/s/runs/20261121-121026-produce-orders-50k-acks-all.ktr",
		"/s/runs/by-hand.ktr",
	}
	for _, r := range must.Rows[[]struct {
		Name string
		Want int    // number in paths
		Bad  string // of the error, instead
	}](t, "find") {
		got, err := Find(paths, r.Name)
		switch {
		case r.Bad == "" && (err != nil || got != paths[r.Want]):
			t.Errorf("Find(%q) = %s, %v; want %s", r.Name, got, err, paths[r.Want])
		case r.Bad != "" && (err == nil || !strings.Contains(err.Error(), r.Bad)):
			t.Errorf("Find(%q) = %s, %v; want an error with %q", r.Name, got, err, r.Bad)
		}
		if r.Bad != "" && strings.Contains(r.Bad, "no such") && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Find(%q): %v is not the error of a missing file", r.Name, err)
		}
	}
	must.Err(t, "no run is kept here yet", must.Fail(Find(nil, "last")), "without runs")
}

func TestOnlyRunsOfTheFolderAreFoundToBeRemoved(t *testing.T) {
	f := Folder{t.TempDir()}
	path := filepath.Join(f.Dir, "a"+Ext)
	for _, name := range []string{"a", "a.ktr", "last", path} {
		must.Match(t, path, must.Have(f.FindKept([]string{path}, name))(t), "FindKept(%q)", name)
	}
	for _, name := range []string{"./a.ktr", "../a.ktr", f.Dir + "/../a.ktr", "b", "/", f.Dir + "/last", f.Dir + "/a", f.Dir + "/"} {
		if got, err := f.FindKept([]string{path}, name); err == nil {
			t.Errorf("FindKept(%q) = %s", name, got)
		}
	}
}

func TestPruningKeepsTheNewestTheYoungAndTheTagged(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var runs []Run
	for days := range 7 {
		runs = append(runs, Run{Name: string(rune('a' + days)), StartedAt: now.Add(-time.Duration(days) * 24 * time.Hour)})
	}
	runs[4].Tags = []string{"baseline"}
	runs[5].AtWork = true
	runs[6].Problem = "its schema is 3, and this kt reads 2" // it may have a tag
	day := func(n int) time.Time { return now.Add(time.Duration(-24*n) * time.Hour) }
	for _, r := range []struct {
		name string
		keep Keep
		want []string
	}{
		{"all are among the newest", Keep{Newest: 7, Since: now}, nil},
		{"more are kept than there are", Keep{Newest: 200, Since: now}, nil},
		{"all are young", Keep{Since: day(9)}, nil},
		{"one of the exact age stays", Keep{Since: day(2), Tagged: true}, []string{"d"}},
		{"old, and not among the newest", Keep{Newest: 3, Since: day(0), Tagged: true}, []string{"d"}},
		{"old, and among the newest", Keep{Newest: 4, Since: day(0), Tagged: true}, nil},
		{"tagged ones too", Keep{Newest: 2, Since: day(2)}, []string{"d", "e", "g"}},
		{"none is kept but the one at work", Keep{Since: now.Add(time.Hour)}, []string{"a", "b", "c", "d", "e", "g"}},
	} {
		must.Match(t, r.want, namesOf(r.keep.Old(runs)), "%s: what goes", r.name)
	}
}

func TestAFilterChoosesRunsThatFitInAll(t *testing.T) {
	yes, no := true, false
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	runs := []Run{
		{Name: "a", Command: "produce", Topic: "orders", Tags: []string{"x", "y"}, Valid: &yes, StartedAt: now},
		{Name: "b", Command: "consume", Topic: "orders", Tags: []string{"x"}, Valid: &no, StartedAt: now.Add(-time.Hour)},
		{Name: "c", Problem: "damaged", StartedAt: now.Add(-2 * time.Hour)},
	}
	for _, r := range []struct {
		name   string
		filter Filter
		want   []string
	}{
		{"all", Filter{}, []string{"a", "b", "c"}},
		{"a tag", Filter{Tags: []string{"x"}}, []string{"a", "b"}},
		{"all of several tags", Filter{Tags: []string{"y", "x"}}, []string{"a"}},
		{"a command", Filter{Command: "consume"}, []string{"b"}},
		{"a topic and a time", Filter{Topic: "orders", Since: now.Add(-time.Minute)}, []string{"a"}},
		{"valid ones", Filter{Valid: true}, []string{"a"}},
	} {
		must.Match(t, r.want, namesOf(r.filter.Choose(runs)), "%s", r.name)
	}
}
