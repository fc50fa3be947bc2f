//go:build !race

package merge

import (
	"bytes"
	"testing"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// loadOf is the run file of one load of a workload, of ten seconds.
func loadOf(t testing.TB, name string, process, target, rate int, limits ...string) []byte {
	t.Helper()
	return partFile{
		run: "shop", epoch: "e", host: "h", process: process, plan: canned.Plan(float64(target)), events: steady(0, 10, rate), trailer: trailerOf(10),
		change: func(h *result.Header) { h.Part.Load, h.Limits = name, limits },
	}.bytes(t)
}

func TestAWorkloadHasASectionForEachLoadAndTheVerdictOfTheOneThatSuffered(t *testing.T) {
	type load struct {
		Name         string
		Target, Rate int
		Limits       []string
	}
	for _, row := range must.Rows[[]struct {
		Name     string
		Loads    []load
		Suffered string
		Says     string
		Broken   []string
	}](t, "loads") {
		var files [][]byte
		records := int64(0)
		for i, l := range row.Loads {
			files = append(files, loadOf(t, l.Name, i+1, l.Target, l.Rate, l.Limits...))
			records += int64(10 * l.Rate)
		}
		r := merged(t, files...)
		must.Match(t, row.Suffered, r.Suffered, "%s: the load that suffered; %s", row.Name, r.BoundBy.Evidence)
		must.Has(t, row.Name, r.BoundBy.Evidence, row.Says)
		must.True(t, r.Plan.Command == plan.Workload && r.Part.Run == "shop" && r.Records.Acknowledged == records, "%s: %s %s, %d of %d records", row.Name, r.Plan.Command, r.Part.Run, r.Records.Acknowledged, records)
		var broken []string
		for _, l := range r.Limits {
			if !l.Held {
				broken = append(broken, l.Expression)
			}
		}
		must.Match(t, row.Broken, broken, "%s: limits that are not held", row.Name)
		for i := range r.Loads {
			l, alone := r.Loads[i], replayed1(t, files[i])
			must.True(t, l.Name == row.Loads[i].Name, "%s: load %d is %s", row.Name, i+1, l.Name)
			must.Match(t, marshal(t, alone), marshal(t, l.Result), "%s: load %s, and its run file by itself", row.Name, l.Name)
		}
	}
}

func TestLimitsOfAWorkloadAreJudgedAnew(t *testing.T) {
	c := collection(t, setOf(t, loadOf(t, "b", 2, 100, 100, "errors==0"), loadOf(t, "a", 1, 100, 100)))
	for limit, want := range map[string][]string{
		"a.p99<1ms": {"a.p99<1ms", "b.errors==0"}, "p99<1ms": {"a.p99<1ms", "b.p99<1ms"},
	} {
		r := must.Have(Read(bytes.NewReader(c), int64(len(c)), limit))(t)
		var judged []string
		for _, l := range r.Limits {
			judged = append(judged, l.Expression)
		}
		must.Match(t, want, judged, "%s", limit)
	}
	for limit, want := range map[string]string{"c.p99<1ms": "the loads are a, b", "consumer-lag<5": "the loads are a, b", "a.p98x<1": "there is no metric"} {
		_, err := Read(bytes.NewReader(c), int64(len(c)), limit)
		must.Err(t, want, err, "%s", limit)
	}
}

// Collections are made by hand too.
func TestFilesThatAreOfNoLoadOfAWorkloadAreRefused(t *testing.T) {
	whole := func(files ...[]byte) (result.Result, error) {
		c := collection(t, setOf(t, files...))
		return Read(bytes.NewReader(c), int64(len(c)))
	}
	_, err := whole(loadOf(t, "a", 1, 100, 100), loadOf(t, "", 2, 100, 100))
	must.Err(t, "it is of no load of the workload", err, "a file without a load")
	r := must.Have(whole(loadOf(t, "a", 1, 100, 100), loadOf(t, "a", 2, 100, 100), loadOf(t, "b", 3, 100, 100)))(t)
	must.True(t, len(r.Loads) == 2 && r.Loads[0].Records.Acknowledged == 2000 && r.Records.Acknowledged == 3000, "two files of a load: %d loads, %+v", len(r.Loads), r.Records)
	for _, name := range []string{"a\x1b[31m", "a b", "../a"} {
		f := loadOf(t, name, 1, 100, 100)
		must.Err(t, "which is no name", NewSet().Add("x", bytes.NewReader(f), int64(len(f)), false), "%q", name)
	}
}

// A captured load is compared as a whole, whatever number of processes made it.
func TestACapturedLoadOfManyProcessesIsComparedAsOne(t *testing.T) {
	captured := func(name string, process int, asked *result.Asked) []byte {
		return partFile{
			run: "shop", epoch: "e", host: "h", process: process, plan: canned.Plan(100), events: steady(0, 10, 100), trailer: trailerOf(10),
			change: func(h *result.Header) { h.Part.Load, h.Part.Asked = name, asked },
		}.bytes(t)
	}
	asked := &result.Asked{Rate: 400}
	r := merged(t, captured("a", 1, asked), captured("a", 2, asked), captured("b", 3, nil))
	off := *r.Loads[0].Replay.Figures[0].Off
	must.True(t, off > -0.51 && off < -0.49, "200 of 400 records/s are off by %v", off)
	must.True(t, r.Replay == nil && r.Part.Asked == nil && r.Loads[1].Replay == nil, "what was not captured is compared too")
}

// A signal has its own exit code, unless records are lost.
func TestAWorkloadWithALoadWhoseRecordsAreLostHasLostRecords(t *testing.T) {
	r := merged(t, loadOf(t, "a", 1, 100, 100), loadOf(t, "b", 2, 100, 100))
	must.True(t, !r.Lost() && r.Suffered == "", "%s suffered, and nothing is lost", r.Suffered)
	r.Loads[0].AbortedBy = "errors>1"
	r.JoinLoads(r.Loads)
	must.Has(t, "a load that --abort-on ended", r.BoundBy.Evidence, "a was ended by errors>1")
	r.Loads[1].Verify = &ledger.Verdict{Lost: 1}
	r.JoinLoads(r.Loads)
	must.True(t, r.Lost() && r.Suffered == "b", "a record of b is lost, and %q suffered", r.Suffered)
}

// Each load of a workload that many hosts make is merged by itself, in whatever order its files come.
func TestAWorkloadOfManyHostsIsMergedLoadByLoad(t *testing.T) {
	var files [][]byte
	for _, host := range []string{"h1", "h2"} {
		for i, name := range []string{"orders", "tail"} {
			files = append(files, partFile{
				run: "shop", epoch: "e", host: host, process: i + 1, plan: canned.Plan(100), events: steady(0, 10, 100*(i+1)), trailer: trailerOf(10),
				change: func(h *result.Header) { h.Part.Load = name },
			}.bytes(t))
		}
	}
	r := merged(t, files...)
	must.True(t, r.Records.Acknowledged == 6000, "%d records of both", r.Records.Acknowledged)
	for i, want := range []int64{2000, 4000} {
		l := &r.Loads[i]
		must.True(t, l.Records.Acknowledged == want && len(l.Processes) == 2 && l.NotAddedUp == "", "%s: %d records of %d processes %s", l.Name, l.Records.Acknowledged, len(l.Processes), l.NotAddedUp)
	}
	must.Match(t, marshal(t, r), marshal(t, merged(t, files[3], files[1], files[0], files[2])), "files in another order")
}
