package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/run"
)

func TestALostHostIsReportedOnce(t *testing.T) {
	const why = "its agent was started anew, and its processes are gone"
	gone, died := Ended{Code: 1, Text: why}, Ended{Code: 1, Text: "no room"}
	o := outcome{Lost: []string{"vm1: " + why}, Ended: map[string][]Ended{"vm1": {gone, gone}, "vm2": {{}, died}}}
	var res result.Result
	for _, p := range []struct {
		host    string
		process int
		counted bool
	}{{"vm1", 1, false}, {"vm1", 2, false}, {"vm2", 1, true}, {"vm2", 2, false}} {
		var row result.ProcessRow
		row.Host, row.Process, row.Counted = p.host, p.process, p.counted
		res.Processes = append(res.Processes, row)
	}
	var told []string
	tell := func(text string) { told = append(told, text) }
	o.reportLost(told, tell)
	o.reportParts(&res, tell)
	must.Match(t, []string{"vm1: " + why, "vm2/2: no room"}, told, "told")
	if o.reportLost(told, tell); len(told) != 2 {
		t.Errorf("it is told again: %q", told)
	}
}

// anySystem is a system that the coordinator does not reach.
type anySystem struct{ run.System }

func (anySystem) Describe(*result.Header) {}

// newest is an observer that keeps the newest second.
type newest struct{ second run.Second }

func (n *newest) Observe(s run.Second) { n.second = s }

func TestARunOnManyHostsHasTheResultOfItsFilesByteForByte(t *testing.T) {
	bubble(t, threeHosts, func(t *testing.T, w *world) {
		h := Hosts{Client: w.client(), Load: w.peers("a", "b"), Watch: w.peers("broker"), Processes: 2, Dir: t.TempDir()}
		file := must.Have(run.CreateFile(filepath.Join(t.TempDir(), "all.ktr")))(t)
		var seen newest
		res := must.Have(h.Run(t.Context(), run.Request{Plan: w.order(nil).Plan, System: anySystem{}, File: file}, &seen))(t)
		want := document(t, res)
		parts, err := filepath.Glob(filepath.Join(h.Dir, "*.ktr"))
		if err != nil || len(parts) != 7 { // two processes of two hosts, and the vitals of three
			t.Fatalf("the files are %q, %v", parts, err)
		}
		collected := merge.NewSet()
		for _, path := range append(parts, file.Path()) { // each part, and all of them once more
			b := must.Have(os.ReadFile(path))(t)
			must.Do(t, collected.Add(path, bytes.NewReader(b), int64(len(b))))
		}
		got, err := collected.Result(t.Context())
		if err != nil || collected.Len() != len(parts) {
			t.Fatalf("%d files are collected: %v", collected.Len(), err)
		}
		if !bytes.Equal(want, document(t, got)) {
			t.Errorf("collected it is another document:\n%s\n%s", want, document(t, got))
		}
		if s := seen.second.Snapshot; s.Stage != result.Finished || s.All.Acknowledged != res.Records.Acknowledged {
			t.Errorf("the last snapshot has stage %v and %d records, the result %d", s.Stage, s.All.Acknowledged, res.Records.Acknowledged)
		}
	})
}

func document(t *testing.T, r result.Result) []byte {
	t.Helper()
	return must.Have(json.Marshal(r))(t)
}

func TestTwoRunsOfTheSameHostsAtOnceEndEachWithItsOwnErrors(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		for _, name := range []string{"a", "b"} {
			w.add(name, "client", func(o *AgentOptions) { o.Parallel = 2 })
		}
		const late, notValid = "its records were late", 4
		h := Hosts{Client: w.client(), Load: w.peers("a", "b"), Processes: 1, Dir: t.TempDir()}
		long := longer(w.order(nil), 30*time.Second).Plan
		results, errs := make([]result.Result, 2), make([]error, 2)
		var running sync.WaitGroup
		running.Go(func() { results[0], errs[0] = h.Run(t.Context(), run.Request{Plan: long, System: anySystem{}}) })
		time.Sleep(10 * time.Second)
		synctest.Wait() // the processes of the first run have begun
		w.hosts["b"].behave = func(int) behaviour { return behaviour{done: Ended{Code: notValid, Text: late}} }
		running.Go(func() {
			results[1], errs[1] = h.Run(t.Context(), run.Request{Plan: w.order(nil).Plan, System: anySystem{}})
		})
		running.Wait()
		if errs[0] != nil {
			t.Errorf("the run that went well ends with %v", errs[0])
		}
		var process *ProcessError
		if !errors.As(errs[1], &process) || process.Host != "b" || process.Code != notValid || process.Text != late || process.Lost || process.Err != nil {
			t.Errorf("the other ends with %#v", errs[1])
		}
		for i := range results {
			if len(results[i].Processes) != 2 || results[i].RunID == results[1-i].RunID {
				t.Errorf("run %d is %s with the processes %+v", i, results[i].RunID, results[i].Processes)
			}
		}
	})
}

func TestTheWorstErrorOfAProcessIsTheRuns(t *testing.T) {
	const gone = "its processes are gone"
	o := outcome{Lost: []string{"vm1: " + gone}, Ended: map[string][]Ended{"vm1": {{Code: 1, Text: gone}}, "vm3": {{Code: 130}, {}}}}
	if e := o.worst(); e == nil || e.Host != "vm1" || e.Code != 1 || !e.Lost {
		t.Errorf("with a lost process and a signal it is %+v", e)
	}
	o.Ended["vm2"] = []Ended{{}, {Code: 4, Text: "late"}}
	if e := o.worst(); e == nil || e.Host != "vm2" || e.Code != 4 || e.Lost {
		t.Errorf("with a worse one it is %+v", e)
	}
	if e := new(outcome).worst(); e != nil {
		t.Errorf("of none it is %+v", e)
	}
}

func TestARunThatHostsRefuseDoesNotFit(t *testing.T) {
	bubble(t, []string{"a"}, func(t *testing.T, w *world) {
		o := w.order([]string{"a"})
		o.Plan.Topic.Name = ""
		file := must.Have(run.CreateFile(filepath.Join(t.TempDir(), "run.ktr")))(t)
		h := &Hosts{Client: w.client(), Load: o.Load, Processes: 2, Dir: t.TempDir()}
		res, err := h.Run(t.Context(), run.Request{Plan: o.Plan, System: anySystem{}, File: file})
		var misfit *result.MisfitError
		if !errors.As(err, &misfit) || res.RunID != "" {
			t.Errorf("run %q, %v", res.RunID, err)
		}
		if _, err := os.Stat(file.Path()); !os.IsNotExist(err) {
			t.Errorf("the run file is there: %v", err)
		}
	})
}

// endsWith is an observer that ends the context of a run after the first acknowledged record.
type endsWith struct{ end context.CancelFunc }

func (e endsWith) Observe(s run.Second) {
	if s.Snapshot.All.Acknowledged > 0 {
		e.end()
	}
}

func TestHostsLeaveAtOnceWhenTheContextEnds(t *testing.T) {
	bubble(t, []string{"a", "b"}, func(t *testing.T, w *world) {
		ctx, end := context.WithCancel(t.Context())
		h := Hosts{Client: w.client(), Load: w.peers("a", "b"), Processes: 1, Dir: t.TempDir()}
		o := longer(w.order(nil), time.Hour)
		res, err := h.Run(ctx, run.Request{Plan: o.Plan, System: anySystem{}}, endsWith{end})
		var process *ProcessError // the processes are killed
		if err != nil && !errors.As(err, &process) || res.Ended == result.Completed || res.Records.Acknowledged == 0 || res.ElapsedSeconds > 60 {
			t.Errorf("%s after %v s with %d records: %v", res.Ended, res.ElapsedSeconds, res.Records.Acknowledged, err)
		}
	})
}
