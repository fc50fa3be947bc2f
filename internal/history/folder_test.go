package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/secret"
)

// writeRun writes a run file of some seconds.
func writeRun(t testing.TB, path string, seconds int, tags ...string) {
	t.Helper()
	var file canned.File
	f := must.Have(result.NewRunFile(&file, result.Header{Schema: result.Schema, RunID: "id", Plan: canned.Plan(100), Tags: tags}))(t)
	for _, e := range canned.Written(1, seconds) {
		e.To(f)
	}
	must.Do(t, f.Close(result.Trailer{Ended: result.Completed, ElapsedSeconds: float64(seconds)}))
	must.Do(t, os.WriteFile(path, file.Bytes(), 0o600))
}

func touch(t *testing.T, path string, at time.Time) {
	t.Helper()
	must.Do(t, os.Chtimes(path, at, at))
}

func runsOf(t *testing.T, f Folder) []Run {
	t.Helper()
	return must.Have(f.Runs())(t)
}

func namesOf(runs []Run) (names []string) {
	for _, r := range runs {
		names = append(names, r.Name)
	}
	return names
}

func TestAFolderThatIsNotThereHasNoRuns(t *testing.T) {
	for _, dir := range []string{"", filepath.Join(t.TempDir(), "none")} {
		runs := runsOf(t, Folder{dir})
		must.True(t, len(runs) == 0, "%q has %v", dir, runs)
	}
}

func TestRunsComeInTheOrderOfTheirStarts(t *testing.T) {
	f := Folder{t.TempDir()}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, changed := range map[string]time.Time{
		"20261121-115900-produce-b":   now.Add(time.Hour), // a long run: what counts is its start
		"20261121-120000-produce-c":   now,
		"20261121-120000-produce-c-2": now.Add(time.Second),
		"by-hand":                     now.Add(-time.Hour), // without a time in its name
	} {
		path := filepath.Join(f.Dir, name+Ext)
		writeRun(t, path, 1)
		touch(t, path, changed)
	}
	must.Do(t, os.WriteFile(filepath.Join(f.Dir, "notes.txt"), nil, 0o600))
	must.Do(t, os.Mkdir(filepath.Join(f.Dir, "folder"+Ext), 0o700))
	runs := runsOf(t, f)
	want := []string{"20261121-120000-produce-c-2", "20261121-120000-produce-c", "20261121-115900-produce-b", "by-hand"}
	must.Match(t, want, namesOf(runs), "order")
	must.Match(t, []string{"last", "last~3"}, []string{runs[0].Reference, runs[3].Reference}, "references are %s and %s", runs[0].Reference, runs[3].Reference)
	files, err := f.Files()
	must.True(t, err == nil && len(files) == 4 && files[3] == filepath.Join(f.Dir, "by-hand"+Ext), "the files are %v, %v", files, err)
}

func TestTheIndexGivesTheRowsThatReadingGives(t *testing.T) {
	f := Folder{t.TempDir()}
	writeRun(t, filepath.Join(f.Dir, "a"+Ext), 3, "nightly")
	must.Do(t, os.WriteFile(filepath.Join(f.Dir, "b"+Ext), []byte("junk\n"), 0o600))
	read := runsOf(t, f)
	must.Match(t, read, runsOf(t, f), "rows of the index")
	a := read[slices.IndexFunc(read, func(r Run) bool { return r.Name == "a" })]
	if a.Topic != "orders" || a.Server != "a:9092" || !slices.Equal(a.Tags, []string{"nightly"}) || *a.RecordsPerSecond <= 0 || a.P99US != nil /* more than 1 % of its records failed */ || a.BoundBy == "" || a.Problem != "" {
		t.Errorf("the row of a run is %+v", a)
	}
	for name, spoil := range map[string]func(index string) error{
		"damaged":            func(index string) error { return os.WriteFile(index, []byte(`{"schema":1,"runs":[{`), 0o600) },
		"of another version": func(index string) error { return os.WriteFile(index, []byte(`{"schema":99,"runs":[]}`), 0o600) },
		"not there":          os.Remove,
		"a folder":           func(index string) error { return os.Remove(index) },
	} {
		index := filepath.Join(f.Dir, indexName)
		must.Do(t, spoil(index))
		if name == "a folder" {
			must.Do(t, os.Mkdir(index, 0o700))
		}
		must.Match(t, read, runsOf(t, f), "rows with an index that is %s", name)
		_ = os.Remove(index) // or it is the next that is spoilt
		runsOf(t, f)
	}
	left, _ := filepath.Glob(filepath.Join(f.Dir, ".new-*"))
	must.True(t, len(left) == 0, "it left %v", left)
}

func TestARowIsReadAgainWhenItsFileHasChanged(t *testing.T) {
	f := Folder{t.TempDir()}
	path := filepath.Join(f.Dir, "a"+Ext)
	writeRun(t, path, 1)
	runsOf(t, f)
	writeRun(t, path, 2, "new")
	r := runsOf(t, f)[0]
	must.True(t, slices.Equal(r.Tags, []string{"new"}), "the row is %+v", r)
	must.Do(t, os.Remove(path))
	runs := runsOf(t, f)
	must.True(t, len(runs) == 0 && len(f.readIndex()) == 0, "after its file has gone there are %v and %v", runs, f.readIndex())
}

func TestTheRowOfAFinishedRunIsThatOfItsFile(t *testing.T) {
	f := Folder{t.TempDir()}
	old, path := filepath.Join(f.Dir, "20200101-000000-old"+Ext), filepath.Join(f.Dir, "20210101-000000-new"+Ext)
	writeRun(t, old, 1)
	runsOf(t, f)
	writeRun(t, path, 3, "nightly")
	file := must.Have(os.Open(path))(t)
	defer func() { _ = file.Close() }() // it is only read
	fold := must.Have(result.Replay(file, nil))(t)
	res := fold.Result()
	f.Add(filepath.Join(t.TempDir(), "elsewhere"+Ext), &res)
	f.Add(path, &res)
	must.Match(t, 2, len(f.readIndex()), "rows of the index")
	added := runsOf(t, f)
	must.Do(t, os.Remove(filepath.Join(f.Dir, indexName)))
	must.Match(t, runsOf(t, f), added, "rows")
}

func TestTheIndexHoldsNoSecret(t *testing.T) {
	secret.Learn("Zq9-Geheim")
	f := Folder{t.TempDir()}
	writeRun(t, filepath.Join(f.Dir, "a"+Ext), 1)
	runs := runsOf(t, f)
	runs[0].Tags = []string{"Zq9-Geheim"}
	f.writeIndex(runs)
	data, err := os.ReadFile(filepath.Join(f.Dir, indexName))
	must.True(t, err == nil && !strings.Contains(string(data), "Geheim") && len(f.readIndex()) == 1, "the index is %s, %v", data, err)
}

func TestARunAtWorkIsARowOfItsHeader(t *testing.T) {
	f := Folder{t.TempDir()}
	file := must.Have(os.Create(filepath.Join(f.Dir, "a"+Ext)))(t)
	defer result.Release(file)
	result.Claim(file)
	r := runsOf(t, f)[0]
	must.True(t, r.AtWork && r.Problem == "", "a run that connects is %+v", r)
	w := must.Have(result.NewRunFile(file, result.Header{Schema: result.Schema, Plan: canned.Plan(100)}))(t)
	for _, e := range canned.Written(1, 2) {
		e.To(w)
	}
	if r := runsOf(t, f)[0]; !r.AtWork || r.Topic != "orders" || r.Valid != nil || r.RecordsPerSecond != nil {
		t.Errorf("a run at work is %+v", r)
	}
	must.True(t, len(f.readIndex()) == 0, "the index holds a run at work")
	must.Err(t, "at work", Remove(file.Name()), "removing it")
}

func TestManyMayListRunsAtOnce(t *testing.T) {
	f := Folder{t.TempDir()}
	for i := range 5 {
		writeRun(t, filepath.Join(f.Dir, fmt.Sprintf("20261121-12000%d-a%s", i, Ext)), 1)
	}
	want := namesOf(runsOf(t, f))
	done := make(chan []string)
	for i := range 8 {
		go func() {
			if i%2 == 0 {
				_ = os.Remove(filepath.Join(f.Dir, indexName)) // another may have
			}
			runs, _ := f.Runs()
			done <- namesOf(runs)
		}()
	}
	for range 8 {
		must.Match(t, want, <-done, "runs")
	}
}

func TestRemoveTakesTheLedgerToo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a"+Ext)
	writeRun(t, path, 1)
	must.Do(t, os.WriteFile(filepath.Join(dir, "a.ledger"), []byte("12345"), 0o600))
	info, err := os.Stat(path)
	must.True(t, err == nil && Size(path) == info.Size()+5, "the size is %d, %v", Size(path), err)
	must.Do(t, Remove(path))
	left, _ := os.ReadDir(dir)
	must.True(t, len(left) == 0, "%v are left", left)
	err = Remove(path)
	must.True(t, err != nil, "it was removed twice")
}

// The list of a full state folder, from its index and without: go test ./internal/history -run - -bench Runs
func BenchmarkRuns(b *testing.B) {
	f := Folder{b.TempDir()}
	writeRun(b, filepath.Join(f.Dir, "first"+Ext), 60)
	data := must.Have(os.ReadFile(filepath.Join(f.Dir, "first"+Ext)))(b)
	for i := range 199 {
		must.Do(b, os.WriteFile(filepath.Join(f.Dir, fmt.Sprintf("run-%d%s", i, Ext)), data, 0o600))
	}
	for _, indexed := range []bool{true, false} {
		b.Run(fmt.Sprintf("indexed=%v", indexed), func(b *testing.B) {
			_, _ = f.Runs() // so that there is an index
			defer func() { b.ReportMetric(float64(len(data)), "bytes/file") }()
			for b.Loop() {
				if !indexed {
					_ = os.Remove(filepath.Join(f.Dir, indexName))
				}
				if runs, err := f.Runs(); err != nil || len(runs) != 200 {
					b.Fatal(len(runs), err)
				}
			}
		})
	}
}

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
		must.True(t, r.Bad == "" || !strings.Contains(r.Bad, "no such") || errors.Is(err, fs.ErrNotExist),
			"Find(%q): %v is not the error of a missing file", r.Name, err)
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
		got, err := f.FindKept([]string{path}, name)
		must.True(t, err != nil, "FindKept(%q) = %s", name, got)
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
		{Name: "c", Problem: "damaged", Topic: "x,many-{00..99}", StartedAt: now.Add(-2 * time.Hour)},
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
		{"a topic of several", Filter{Topic: "many-07"}, []string{"c"}},
		{"an expression of topics", Filter{Topic: "x,many-{00..99}"}, []string{"c"}},
		{"a topic beside several", Filter{Topic: "many-7"}, nil},
		{"valid ones", Filter{Valid: true}, []string{"a"}},
	} {
		must.Match(t, r.want, namesOf(r.filter.Choose(runs)), "%s", r.name)
	}
}
