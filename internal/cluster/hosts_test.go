package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		res := must.Have(h.Run(t.Context(), one(run.Request{Plan: w.order(nil).Plan, System: anySystem{}, File: file}, &seen)))(t)
		want := document(t, res)
		parts, err := filepath.Glob(filepath.Join(h.Dir, "*.ktr"))
		must.Hold(t, err == nil && len(parts) == 7, "the files are %q, %v", parts, err) // two processes of two hosts, and the vitals of three
		collected := merge.NewSet()
		for _, path := range append(parts, file.Path()) { // each part, and all of them once more
			b := must.Have(os.ReadFile(path))(t)
			must.Do(t, collected.Add(path, bytes.NewReader(b), int64(len(b)), false))
		}
		got, err := collected.Result(t.Context())
		must.Hold(t, err == nil && collected.Len() == len(parts), "%d files are collected: %v", collected.Len(), err)
		must.True(t, bytes.Equal(want, document(t, got)), "collected it is another document:\n%s\n%s", want, document(t, got))
		if s := seen.second.Snapshot; s.Stage != result.Finished || s.All.Acknowledged != res.Records.Acknowledged {
			t.Errorf("the last snapshot has stage %v and %d records, the result %d", s.Stage, s.All.Acknowledged, res.Records.Acknowledged)
		}
	})
}

func TestSeveralLoadsAreOneRunOfTheirHosts(t *testing.T) {
	bubble(t, threeHosts, func(t *testing.T, w *world) {
		h := Hosts{Client: w.client(), Load: w.peers("a", "b"), Watch: w.peers("broker"), Processes: 2, Dir: t.TempDir()}
		orders, small := w.order(nil).Plan, longer(w.order(nil), 8*time.Second).Plan
		small.Topic.Name, small.Load.Rate.PerSecond, orders.Topic.Delete, small.Topic.Delete = "u", 600, true, true
		var seen [2]newest
		file := must.Have(run.CreateFile(filepath.Join(t.TempDir(), "all.ktr")))(t)
		res := must.Have(h.Run(t.Context(),
			OneLoad{Name: "orders", Request: run.Request{Plan: orders, System: anySystem{}, File: file, Part: &result.Part{Run: "shop"}}, Observers: []run.Observer{&seen[0]}},
			OneLoad{Name: "small", Request: run.Request{Plan: small, System: anySystem{}, Limits: []string{"errors==0"}}, Observers: []run.Observer{&seen[1]}},
		))(t)
		must.Hold(t, len(res.Loads) == 2 && res.Part.Run == "shop" && res.Records.Acknowledged == 6000+4800, "the loads are %+v", res.Loads)
		for i, name := range []string{"orders", "small"} {
			l := &res.Loads[i]
			must.True(t, l.Name == name && l.Records.Acknowledged == []int64{6000, 4800}[i] && l.Overlap.Agreed && len(l.Limits) == i, "%s has %+v", l.Name, l.Records)
			must.True(t, l.Start.Agreed.At.Equal(res.Start.Agreed.At), "%s begins at %v", name, l.Start.Agreed.At)
			for n, row := range l.Processes {
				must.True(t, row.Counted && row.Host == []string{"a", "b"}[n/2] && row.Process == 2*i+n%2+1, "%s has the process %s/%d", name, row.Host, row.Process)
			}
			must.True(t, len(l.Processes) == 4 && len(l.Hosts) == 2 && l.Hosts[0].Busy != nil, "%s has the hosts %+v", name, l.Hosts)
			must.True(t, seen[i].second.Snapshot.All.Acknowledged == l.Records.Acknowledged && seen[i].second.Snapshot.Stage == result.Finished, "of %s is shown %+v", name, seen[i].second.Snapshot.All)
		}
		must.True(t, len(res.Hosts) == 1 && res.Hosts[0].Host == "broker" && res.Hosts[0].Busy != nil, "watched are %+v", res.Hosts)
		must.True(t, res.Client.CPUCores > 1.5*res.Loads[0].Client.CPUCores, "the whole used %v cores", res.Client.CPUCores)
		must.True(t, w.topic["t"] == 0 && w.topic["u"] == 0 && len(w.topic) == 2, "topics that are left: %v", w.topic)
		first := w.hosts["a"].jobs
		must.True(t, first[0].Part.Load == "orders" && first[1].Part.Load == "small" || first[1].Part.Load == "orders" && first[2].Part.Load == "small", "the first process of each load is not begun first")
		again := must.Have(merge.ReadFile(file.Path()))(t)
		must.True(t, bytes.Equal(document(t, res), document(t, again)), "read back it is another document")
	})
}

func TestOnlyTheLoadOfAConditionIsEndedByIt(t *testing.T) {
	for load, want := range map[string]string{"": "orders.p99>1s: 2 s", "orders": "p99>1s: 2 s", "small": ""} {
		p := &Part{Job: ProcessJob{Job: Job{Part: result.Part{Load: load}}}, in: bufio.NewReader(strings.NewReader(`{"stop": true, "why": "orders.p99>1s: 2 s"}` + "\n")), Stop: func() {}}
		p.follow()
		var r run.Request
		p.Fit(&r)
		must.Match(t, want, r.Aborted(), "the load %q was ended by", load)
	}
}

func TestAProcessThatDiesIsMissingInItsLoadAlone(t *testing.T) {
	bubble(t, []string{"a", "b"}, func(t *testing.T, w *world) {
		w.hosts["b"].behave = onlyIn(2, behaviour{diesAt: 3 * time.Second})
		h := Hosts{Client: w.client(), Load: w.peers("a", "b"), Processes: 1, Dir: t.TempDir()}
		named := func(name string) OneLoad {
			p := w.order(nil).Plan
			p.Topic.Name = name
			return OneLoad{Name: name, Request: run.Request{Plan: p, System: anySystem{}}}
		}
		res, err := h.Run(t.Context(), named("orders"), named("small"))
		var process *ProcessError
		must.Hold(t, errors.As(err, &process) && process.Lost && process.Host == "b", "it ends with %v", err)
		orders, small := &res.Loads[0], &res.Loads[1]
		must.True(t, orders.Apart == nil && orders.Records.Acknowledged == 6000, "orders has %+v", orders.Apart)
		must.True(t, small.Apart != nil && small.Apart.Processes == 1 && strings.HasPrefix(small.Apart.Reasons[0], "b/2 is lost"), "small has %+v", small.Apart)
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
		running.Go(func() { results[0], errs[0] = h.Run(t.Context(), one(run.Request{Plan: long, System: anySystem{}})) })
		time.Sleep(10 * time.Second)
		synctest.Wait() // the processes of the first run have begun
		w.hosts["b"].behave = func(int) behaviour { return behaviour{done: Ended{Code: notValid, Text: late}} }
		running.Go(func() {
			results[1], errs[1] = h.Run(t.Context(), one(run.Request{Plan: w.order(nil).Plan, System: anySystem{}}))
		})
		running.Wait()
		must.True(t, errs[0] == nil, "the run that went well ends with %v", errs[0])
		var process *ProcessError
		if !errors.As(errs[1], &process) || process.Host != "b" || process.Code != notValid || process.Text != late || process.Lost || process.Err != nil {
			t.Errorf("the other ends with %#v", errs[1])
		}
		for i := range results {
			must.True(t, len(results[i].Processes) == 2 && results[i].RunID != results[1-i].RunID,
				"run %d is %s with the processes %+v", i, results[i].RunID, results[i].Processes)
		}
	})
}

func TestTheWorstErrorOfAProcessIsTheRuns(t *testing.T) {
	const gone = "its processes are gone"
	o := outcome{Lost: []string{"vm1: " + gone}, Ended: map[string][]Ended{"vm1": {{Code: 1, Text: gone}}, "vm3": {{Code: 130}, {}}}}
	e := o.worst()
	must.True(t, e != nil && e.Host == "vm1" && e.Code == 1 && e.Lost, "with a lost process and a signal it is %+v", e)
	o.Ended["vm2"] = []Ended{{}, {Code: 4, Text: "late"}}
	e = o.worst()
	must.True(t, e != nil && e.Host == "vm2" && e.Code == 4 && !e.Lost, "with a worse one it is %+v", e)
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
		res, err := h.Run(t.Context(), one(run.Request{Plan: o.Plan, System: anySystem{}, File: file}))
		var misfit *result.MisfitError
		must.True(t, errors.As(err, &misfit) && res.RunID == "", "run %q, %v", res.RunID, err)
		_, err = os.Stat(file.Path())
		must.True(t, os.IsNotExist(err), "the run file is there: %v", err)
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
		res, err := h.Run(ctx, one(run.Request{Plan: o.Plan, System: anySystem{}}, endsWith{end}))
		var process *ProcessError // the processes are killed
		if err != nil && !errors.As(err, &process) || res.Ended == result.Completed || res.Records.Acknowledged == 0 || res.ElapsedSeconds > 60 {
			t.Errorf("%s after %v s with %d records: %v", res.Ended, res.ElapsedSeconds, res.Records.Acknowledged, err)
		}
	})
}

func TestHostsAreChosenByNameTagAndRole(t *testing.T) {
	silent := errors.New("vm15 (10.0.0.5:7946): it did not answer")
	peer := func(name, role string, err error, tags ...string) Peer {
		p := Peer{Err: err}
		p.Name, p.Role, p.Tags = name, role, tags
		return p
	}
	among := []Peer{
		peer("vm16", "client", nil, "fast"), peer("vm14", "client", nil), peer("kafka1", "broker", nil, "fast"), peer("vm15", "client", silent, "slow"),
		peer("all", "broker", nil, "clients"), // kt gives no agent such a name
	}
	for _, r := range []struct {
		name  string
		words []string
		want  []string
		err   string
	}{
		{"by name", []string{"vm14"}, []string{"vm14"}, ""},
		{"once, in the order of names", []string{"vm16", "vm14", "vm16"}, []string{"vm14", "vm16"}, ""},
		{"by a tag, which a broker's host may have", []string{"fast"}, []string{"kafka1", "vm16"}, ""},
		{"brokers", []string{"brokers"}, []string{"all", "kafka1"}, ""},
		{"clients are no broker with that tag", []string{"clients"}, []string{"vm14", "vm15", "vm16"}, "--on: vm15 (10.0.0.5:7946): it did not answer"},
		{"all are all but brokers, and one does not answer", []string{"all"}, []string{"vm14", "vm15", "vm16"}, "--on: vm15 (10.0.0.5:7946): it did not answer"},
		{"a tag of one that does not answer", []string{"slow"}, []string{"vm15"}, "--on: vm15 (10.0.0.5:7946): it did not answer"},
		{"one that does not answer and is not meant", []string{"vm14", "vm16"}, []string{"vm14", "vm16"}, ""},
		{"nobody", []string{"vm17"}, nil, "--on vm17: no agent has that name, tag or role; did you mean vm14?"},
	} {
		got, err := choose("on", r.words, among)
		var names []string
		for _, p := range got {
			names = append(names, p.Name)
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		must.True(t, slices.Equal(names, r.want) && text == r.err, "%s: %q, %q, want %q, %q", r.name, names, text, r.want, r.err)
	}
}

func TestWhoIsThereIsToldWhenNobodyIsMeant(t *testing.T) {
	broker := Peer{}
	broker.Name, broker.Role, broker.Tags = "kafka1", "broker", []string{"fast"}
	for word, want := range map[string]string{
		"clients": "--on clients: no agent has that name, tag or role; there are kafka1 (broker; tags fast)",
		"all":     "--on all: no agent has that name, tag or role; all leaves out the hosts of brokers, which have to be named; there are kafka1 (broker; tags fast)",
		"broker":  "--on broker: no agent has that name, tag or role; did you mean brokers?",
	} {
		must.Match(t, want, fmt.Sprint(must.Fail(choose("on", []string{word}, []Peer{broker}))), "the error")
	}
}

func TestTwoAgentsOfOneNameAreTwo(t *testing.T) {
	at := func(name, addr string) Peer {
		p := Peer{Addr: addr}
		p.Name, p.Role = name, RoleClient
		return p
	}
	among := []Peer{at("vm1", "10.0.0.1:7946"), at("vm1", "10.0.0.2:7946"), at("vm2", "10.0.0.3:7946")}
	on, err := choose("on", []string{"vm1", "all", "vm1"}, among)
	must.Hold(t, err == nil && len(on) == 3, "chosen are %+v, %v", on, err)
	o := loadOrder{Run: "r", Epoch: "e", Hosts: Hosts{Processes: 1, Load: on}}
	want := "two agents are called vm1, at 10.0.0.1:7946 and 10.0.0.2:7946: give each a --name of its own, or name it once if it is one"
	must.Match(t, want, fmt.Sprint(o.check()), "the order")
	o.Load, o.Watch = on[:1], on[2:]
	must.Err(t, "", o.check(), "one of them")
}

func TestANameOfManyAgentsStandsForNoneOfThem(t *testing.T) {
	ip := netip.MustParseAddr
	for _, c := range []struct {
		ips  []netip.Addr
		want []string
	}{
		{nil, []string{"kt-agent:7946"}},
		{[]netip.Addr{ip("10.0.0.1")}, []string{"kt-agent:7946"}},
		{[]netip.Addr{ip("::ffff:10.0.0.1"), ip("10.0.0.2"), ip("fd00::1")}, []string{"10.0.0.1:7946", "10.0.0.2:7946", "[fd00::1]:7946"}},
	} {
		must.Match(t, c.want, spread("kt-agent:7946", "7946", c.ips), "%v", c.ips)
	}
}

func TestAnAgentIsCalledWhatItsGossipCarries(t *testing.T) {
	for _, tc := range []struct {
		name string
		info Info
		want string // "": it may
	}{
		{"a name and tags of the longest", Info{Name: strings.Repeat("n", 64), Role: "client", Version: "v1", Tags: []string{strings.Repeat("t", 32)}}, ""},
		{"a name that is longer", Info{Name: strings.Repeat("n", 65), Role: "client", Version: "v1", Tags: nil}, "--name"},
		{"a tag that is longer", Info{Name: "a", Role: "client", Version: "v1", Tags: []string{strings.Repeat("t", 33)}}, "--tags"},
		{"a tag that looks like a setting", Info{Name: "a", Role: "client", Version: "v1", Tags: []string{"rack=7"}}, "--tags"},
		{"too many tags", Info{Name: "a", Role: "client", Version: "v1", Tags: make([]string, 17)}, "--tags"},
		{"no name", Info{Role: "client"}, "--name"},
		{"no role", Info{Name: "a"}, "--role"},
		{"another role", Info{Name: "a", Role: "king"}, "--role"},
	} {
		if err := tc.info.check(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestFoldersThatKilledCommandsHaveLeftAreRemoved(t *testing.T) {
	state, now := t.TempDir(), time.Now()
	at := func(name string) string { return filepath.Join(state, "kt", name) }
	for _, name := range []string{"collect-stale", "collect-used", "collect-new", "runs"} {
		must.Do(t, os.MkdirAll(filepath.Join(at(name), "x"), 0o700))
	}
	old := now.Add(-8 * 24 * time.Hour)
	for _, name := range []string{"collect-stale", "collect-used", "runs"} {
		must.Do(t, os.Chtimes(at(name), old, old))
	}
	f := must.Have(os.Open(at("collect-used")))(t)
	defer f.Close()
	result.Claim(f)

	dir, remove := must.Both(Scratch(filepath.Join(state, "kt"), now))(t)
	if f, err := os.Open(dir); err != nil || !result.Claimed(f) {
		t.Errorf("the new folder is not claimed: %v", err)
	}
	remove()
	left, _ := filepath.Glob(at("*"))
	must.Match(t, []string{at("collect-new"), at("collect-used"), at("runs")}, left, "left")

	t.Setenv("TMPDIR", t.TempDir())
	must.Do(t, os.WriteFile(at("file"), nil, 0o600)) // no folder can be made in it
	dir, remove = must.Both(Scratch(filepath.Join(at("file"), "kt"), now))(t)
	must.Match(t, os.TempDir(), filepath.Dir(dir), "where a state folder cannot be written")
	remove()
}

func TestAHostThatIsNotFollowedAnyMoreWaitsForNobodyToTakeItsNews(t *testing.T) {
	bubble(t, []string{"a"}, func(t *testing.T, w *world) {
		dir := t.TempDir()
		s := must.Have(newSession(w.client(), w.order([]string{"a"}), runOptions{Dir: dir}))(t)
		s.connect(t.Context())
		for len(s.wires.news) < cap(s.wires.news) {
			s.wires.news <- hostNews{}
		}
		must.Do(t, os.Mkdir(filepath.Join(dir, "a-p1-R.ktr"), 0o700)) // so that there is news: no copy is kept
		f, _ := s.copies.copyOf(fileEntry{RunID: "R", Host: "a", Process: 1}, nil)
		following := &s.hosts[0].following
		following.start(f)
		synctest.Wait()
		following.stop()
		ended := make(chan struct{})
		go func() {
			following.live.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("it waits still")
		}
		s.close()
	})
}
