package cluster

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// bubble runs a test with agents of the given names. Names that begin with broker get that role.
func bubble(t *testing.T, names []string, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, n := range names {
			role := "client"
			if strings.HasPrefix(n, "broker") {
				role = "broker"
			}
			w.add(n, role)
		}
		f(t, w)
		w.end()
	})
}

// bubbleOf is a bubble as a subtest.
func bubbleOf(t *testing.T, name string, names []string, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, names, f) })
}

var threeHosts = []string{"a", "b", "c", "broker"}

func (w *world) run(o loadOrder, change ...func(*runOptions)) (outcome, string, error) {
	r := runOptions{Dir: w.t.TempDir()}
	for _, c := range change {
		c(&r)
	}
	if err := o.check(); err != nil {
		return outcome{}, r.Dir, err
	}
	out, err := w.client().run(w.t.Context(), o, r)
	return out, r.Dir, err
}

// partOf returns the result of one run file.
func partOf(t *testing.T, path string) result.Result {
	t.Helper()
	f := must.Have(os.Open(path))(t)
	defer f.Close()
	fold, err := result.Replay(f, nil)
	must.Hold(t, err == nil, "%s: %v", path, err)
	return fold.Result()
}

// acknowledged returns the records of the load in run files, and checks how each process ended.
func acknowledged(t *testing.T, files []string, ended string) (n int64) {
	t.Helper()
	for _, f := range loads(files) {
		r := partOf(t, f)
		n += r.Records.Acknowledged
		must.Match(t, ended, r.Ended, "%s ended", f)
	}
	return n
}

// loads returns the run files of processes, without those of watched machines.
func loads(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool { return strings.Contains(filepath.Base(f), "-p0-") })
}

// idle checks that only the given number of files is left of a run on each host.
func (w *world) idle(t *testing.T, files int) {
	t.Helper()
	for name, h := range w.hosts {
		must.Match(t, "", h.agent.busy(), "%s is busy with", name)
		found, _ := filepath.Glob(filepath.Join(h.dir, "*"))
		must.True(t, files < 0 || len(found) == files, "%s has the files %q, want %d", name, found, files)
	}
}

func TestThreeHostsMakeExactlyOneLoad(t *testing.T) {
	bubble(t, threeHosts, func(t *testing.T, w *world) {
		o := w.order([]string{"c", "a", "b"}, "broker")
		o.Plan.Topic.Delete = true
		var ticks []run.Second
		out, dir := must.Both(w.run(o, func(r *runOptions) { r.Observe = func(_ int, t run.Second) { ticks = append(ticks, t) } }))(t)
		out.left(t, 6)
		here, _ := filepath.Glob(filepath.Join(dir, "*"))
		must.True(t, slices.Equal(here, out.Files), "the folder holds %q, and the outcome names %q", here, out.Files)
		must.Match(t, []int{6, 10}, []int{len(loads(out.Files)), len(out.Files)}, "the files are %q", out.Files)
		want := map[string][]Ended{"a": {{}, {}}, "b": {{}, {}}, "c": {{}, {}}}
		must.Match(t, want, out.Ended, "done")
		must.Match(t, 6000, acknowledged(t, out.Files, result.Completed), "records in the files, of 1,200/s for 5 s")
		shown := stats.Window{}
		for _, tick := range ticks {
			for _, win := range tick.Windows {
				shown.Add(&win)
			}
		}
		must.True(t, shown.Acknowledged == 6000 && shown.Partitions[0].Records == 6000,
			"%d records on the screen, by partition %+v", shown.Acknowledged, shown.Partitions)
		last := ticks[len(ticks)-1]
		must.True(t, last.Snapshot.Stage == result.Finished && len(last.Hosts) == 4, "the last tick is %+v", last)
		must.Match(t, 0, w.topics(), "topics that are left")
		w.sameFiles(t, out.Files)
		w.idle(t, -1)
	})
}

// sameFiles checks that the files are those of the agents, byte for byte.
func (w *world) sameFiles(t *testing.T, files []string) {
	t.Helper()
	var theirs [][]byte
	for _, h := range w.hosts {
		found, _ := filepath.Glob(filepath.Join(h.dir, "*.ktr"))
		for _, f := range found {
			b, _ := os.ReadFile(f)
			theirs = append(theirs, b)
		}
	}
	must.True(t, len(files) == len(theirs), "%d files here, %d with the agents", len(files), len(theirs))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		if !slices.ContainsFunc(theirs, func(o []byte) bool { return bytes.Equal(b, o) }) {
			t.Errorf("no agent has %s", f)
		}
	}
}

func TestAllProcessesBeginAtOneInstantWhateverTheirClocksSay(t *testing.T) {
	bubble(t, []string{"a"}, func(t *testing.T, w *world) {
		w.add("b", "client", func(o *AgentOptions) { o.Now = func() time.Time { return time.Now().Add(5 * time.Second) } })
		w.add("c", "client", func(o *AgentOptions) { o.Now = func() time.Time { return time.Now().Add(-5 * time.Second) } })
		var last run.Second
		out, _ := must.Both(w.run(w.order([]string{"a", "b", "c"}), func(r *runOptions) { r.Observe = func(_ int, t run.Second) { last = t } }))(t)
		var starts []time.Time
		for _, h := range w.hosts {
			starts = append(starts, h.started...)
		}
		must.Hold(t, len(starts) == 6, "%d processes began", len(starts))
		for _, s := range starts {
			must.True(t, s.Equal(starts[0]), "processes began at %v", starts)
		}
		wantOffset := map[string]time.Duration{"a": 0, "b": 5 * time.Second, "c": -5 * time.Second}
		agreedAt := make(map[time.Time]bool)
		for _, f := range loads(out.Files) {
			r := partOf(t, f)
			g := startIn(t, f).Agreed
			agreedAt[g.At] = true
			must.Match(t, []time.Duration{wantOffset[r.Part.Host], 0, 0}, []time.Duration{g.Offset, g.Late, g.Bound}, "%s: agreed start %+v", r.Part.Host, g)
		}
		must.Match(t, 1, len(agreedAt), "agreed starts %v", agreedAt)
		for _, h := range last.Hosts {
			must.True(t, h.Offset == wantOffset[h.Name] && h.Note == "", "on the screen %s is off by %v, note %q", h.Name, h.Offset, h.Note)
		}
	})
}

func startIn(t *testing.T, path string) *result.Start {
	t.Helper()
	for line := range bytes.Lines(canned.Text(must.Have(os.ReadFile(path))(t))) {
		var l struct{ Start *result.Start }
		if decodeLoose(line, &l) == nil && l.Start != nil {
			return l.Start
		}
	}
	t.Fatalf("%s has no start", path)
	return nil
}

func TestTheFirstProcessMakesTheTopicBeforeTheOthersOpen(t *testing.T) {
	bubble(t, threeHosts, func(t *testing.T, w *world) {
		w.hosts["a"].behave = onlyIn(1, behaviour{readyIn: 3 * time.Second})
		go func() {
			<-time.After(2 * time.Second)
			must.Match(t, 1, w.hosts["a"].count()+w.hosts["b"].count()+w.hosts["c"].count(), "processes were started before the topic was there")
		}()
		must.Both(w.run(w.order([]string{"a", "b", "c"})))(t)
		makers := 0
		for _, h := range w.hosts {
			for _, j := range h.jobs {
				if j.CreateTopic {
					makers++
				}
			}
		}
		must.Match(t, []int{1, 1}, []int{makers, w.topics()}, "%d processes made %d topics", makers, w.topics())
	})
}

func (h *testHost) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.spawned
}

func TestARunThatCannotBeginLeavesNothingBehind(t *testing.T) {
	for _, tc := range []struct {
		name    string
		change  func(w *world, o *loadOrder)
		options func(*AgentOptions) // of host b
		spawned int                 // on all hosts; -1: it does not matter
		want    string
	}{
		{"one host's limit is below its share", nil, func(o *AgentOptions) { o.Limits.Rate = 399 }, 0, "b refuses: --max-rate 399: this host's share is 400 records/s"},
		{"two limits are", nil, func(o *AgentOptions) { o.Limits.Rate, o.Limits.Producers = 399, 1 }, 0, "400 records/s; --max-producers 1: "},
		{"a client cannot connect", func(w *world, _ *loadOrder) {
			w.hosts["b"].behave = func(p int) behaviour {
				if p == 2 {
					return behaviour{failed: "broker:9092 does not answer\x1b[2J"}
				}
				return behaviour{readyIn: 5 * time.Second}
			}
		}, nil, -1, "b, process 2: broker:9092 does not answer?[2J"},
		{"the process that makes the topic fails", func(w *world, _ *loadOrder) {
			w.hosts["a"].behave = func(int) behaviour { return behaviour{failed: "not authorized"} }
		}, nil, 1, "a, process 1: not authorized"},
		{"a process hangs while it connects", func(w *world, _ *loadOrder) {
			w.hosts["c"].behave = func(p int) behaviour { return behaviour{readyIn: time.Duration(p-1) * time.Hour} }
		}, nil, -1, "c did not get ready in time"},
		{"an agent is not there", func(_ *world, o *loadOrder) { o.Load = append(o.Load, Peer{Info: Info{Name: "d"}, Addr: "d"}) }, nil, 0, "d (d): dial d: nobody is there"},
		{"an agent has another name by now", func(_ *world, o *loadOrder) { o.Load[1].Name = "z" }, nil, 0, "z: the agent at b is called b"},
		{"a process cannot be started", func(_ *world, o *loadOrder) { o.Processes = 1 }, func(o *AgentOptions) {
			o.Spawn = func(context.Context) (*Process, error) { return nil, errors.New("fork: out of memory") }
		}, -1, "b, process 1: start the process: fork: out of memory"},
		{"fewer producers than processes", func(_ *world, o *loadOrder) { o.Plan.Producers = 5 }, nil, 0, "--producers 5: 6 processes share them out"},
		{"the broker inside kt", func(_ *world, o *loadOrder) { o.Plan.Bootstrap = nil }, nil, 0, "a refuses: --bootstrap-server"},
		{"two agents of one name", func(_ *world, o *loadOrder) { o.Load[1].Name = "a" }, nil, 0, "two agents are called a"},
		{"no agent at all", func(_ *world, o *loadOrder) { o.Load = nil }, nil, 0, "no agent makes the load"},
		{"a run with a name that is a path", func(_ *world, o *loadOrder) { o.Run = "../x" }, nil, 0, `--run "../x"`},
	} {
		bubbleOf(t, tc.name, []string{"a"}, func(t *testing.T, w *world) {
			options := tc.options
			if options == nil {
				options = func(*AgentOptions) {}
			}
			w.add("b", "client", options)
			w.add("c", "client")
			w.add("broker", "broker")
			o := w.order([]string{"a", "b", "c"}, "broker")
			if tc.change != nil {
				tc.change(w, &o)
			}
			_, dir, err := w.run(o)
			must.Err(t, tc.want, err, "the error")
			spawned := 0
			for _, h := range w.hosts {
				spawned += h.count()
			}
			must.True(t, tc.spawned < 0 || spawned == tc.spawned, "%d processes were started, want %d", spawned, tc.spawned)
			here, _ := filepath.Glob(filepath.Join(dir, "*"))
			must.True(t, len(here) == 0, "the folder holds %q", here)
			<-time.After(stopGrace + 2*abortGrace) // of a process that has to be killed
			w.idle(t, 0)
			must.Match(t, 0, w.topics(), "topics that are left")
		})
	}
}

func TestASecondRunIsRefusedByTheNameOfTheFirst(t *testing.T) {
	bubble(t, threeHosts, func(t *testing.T, w *world) {
		first := make(chan error, 1)
		go func() {
			_, _, err := w.run(w.order([]string{"a", "b"}))
			first <- err
		}()
		<-time.After(4 * time.Second)
		o := w.order([]string{"b", "c"})
		o.Run = "second"
		_, _, err := w.run(o)
		must.Err(t, "b refuses: it is busy with run nightly: wait until that is over, or start the agent with --parallel 2", err, "the error")
		must.Err(t, "", <-first, "the first run")
		if _, _, err := w.run(o); err == nil || !strings.Contains(err.Error(), "b refuses: epoch") && !strings.Contains(err.Error(), "c refuses: epoch") {
			t.Errorf("an epoch could be used twice: %v", err)
		}
		o.Epoch = "another"
		_, _, err = w.run(o)
		must.True(t, err == nil, "after the first run: %v", err)
	})
}

// A killed agent leaves its processes to finish, so the next one must not begin beside them,
// nor remove what they write.
func TestProcessesOfAnAgentThatIsGoneAreNotForgotten(t *testing.T) {
	bubble(t, threeHosts, func(t *testing.T, w *world) {
		b := w.hosts["b"]
		left := filepath.Join(b.dir, ownFile("19991231-235959-before", 2))
		leave(t, left, "R", &result.Part{Run: "before", Host: "b", Process: 2}, 10)
		f := must.Have(os.Open(left))(t)
		result.Claim(f)
		o := w.order([]string{"a", "b"})
		_, _, err := w.run(o)
		must.Err(t, "b refuses: a process of an earlier agent is still at work on 19991231-235959-before-p2.ktr: wait until that is over, or end the processes (kt part) of its run", err, "the error")
		b.agent.store.keep = 1
		must.Do(t, b.agent.store.prune(1))
		_, err = os.Stat(left)
		must.True(t, err == nil, "a file that is being written was removed: %v", err)
		must.Do(t, f.Close())
		o.Epoch = "another"
		_, _, err = w.run(o)
		must.True(t, err == nil, "after the process has ended: %v", err)
		_, err = os.Stat(left)
		must.True(t, err != nil, "the file of a process that has ended was kept beyond --keep 1")
	})
}

func TestAProcessThatDiesIsLostAndTheOthersGoOn(t *testing.T) {
	bubble(t, threeHosts, func(t *testing.T, w *world) {
		w.hosts["b"].behave = onlyIn(1, behaviour{diesAt: 3 * time.Second})
		out, _ := must.Both(w.run(w.order([]string{"a", "b", "c"})))(t)
		must.Match(t, []string{"b: process 1: the process died: exit status 2: panic: out of luck?[31m"}, out.Lost, "lost")
		d := out.Ended["b"]
		must.True(t, d[0].Code == 1 && d[1].Code == 0, "host b ended %+v", d)
		ended := make(map[string]int)
		for _, f := range loads(out.Files) {
			ended[partOf(t, f).Ended]++
		}
		must.Match(t, []int{5, 1}, []int{ended[result.Completed], ended[result.CutOff]}, "the files ended %v", ended)
		w.idle(t, -1)
	})
}

func TestAProcessThatTalksNonsenseIsKilled(t *testing.T) {
	for _, noise := range []string{"hello", `{"second":{"windows":[{"bogus":1}]}}`, `{"ready":null}`, `{"done":{"exit_code":0},"failed":"x"}`} {
		bubble(t, []string{"a", "b"}, func(t *testing.T, w *world) {
			w.hosts["b"].behave = func(p int) behaviour { return behaviour{noise: []string{noise, ""}[p-1]} }
			out, _ := must.Both(w.run(w.order([]string{"a", "b"})))(t)
			out.left(t, -1, "b: process 1: the process died: the process sent an invalid message")
		})
	}
}

func longer(o loadOrder, d time.Duration) loadOrder {
	o.Plan.Load.Duration = plan.Duration(d)
	return o
}

func TestAHostThatIsCutOffForAWhileLosesNothing(t *testing.T) {
	bubble(t, threeHosts, func(t *testing.T, w *world) {
		w.cut("b", 10*time.Second, 20*time.Second)
		states := make(map[string]int)
		shown := stats.Window{}
		out, _ := must.Both(w.run(longer(w.order([]string{"a", "b", "c"}, "broker"), 40*time.Second), func(r *runOptions) {
			r.Observe = func(_ int, tick run.Second) {
				states[tick.Hosts[1].Name+" "+tick.Hosts[1].State]++
				for _, win := range tick.Windows {
					shown.Add(&win)
				}
			}
		}))(t)
		out.left(t, 6)
		n := states["b away"]
		must.True(t, n >= 5 && n <= 15, "host b was away for %d s of 10: %v", n, states)
		must.True(t, states["b running"] >= 15, "host b was %v", states)
		if missing := 40*1200 - shown.Acknowledged; missing < 0 || missing > 3*400 {
			t.Errorf("%d records on the screen: more is missing than what was on its way when the network was cut", shown.Acknowledged)
		}
		w.sameFiles(t, out.Files)
		w.idle(t, -1)
	})
}

func TestAHostThatIsKilledLeavesACutOffCopy(t *testing.T) {
	bubble(t, threeHosts, func(t *testing.T, w *world) {
		w.cut("b", 12*time.Second, 0)
		began := time.Now()
		var note string
		out, _ := must.Both(w.run(longer(w.order([]string{"a", "b", "c"}, "broker"), 30*time.Second), func(r *runOptions) {
			r.Observe = func(_ int, t run.Second) { note = t.Hosts[1].State + ": " + t.Hosts[1].Note }
		}))(t)
		took := time.Since(began)
		must.True(t, took <= 30*time.Second+comebackGrace+10*time.Second, "it took %v", took)
		if len(out.Lost) != 1 || !strings.HasPrefix(out.Lost[0], "b: it was not heard for") || !strings.Contains(out.Lost[0], "kt collect --run nightly") {
			t.Errorf("lost %q", out.Lost)
		}
		must.True(t, strings.HasPrefix(note, "lost: it was not heard for"), "the screen says %q", note)
		var copies []string
		for _, f := range loads(out.Files) {
			if partOf(t, f).Part.Host == "b" {
				copies = append(copies, f)
			}
		}
		must.Hold(t, len(copies) == 2 && len(loads(out.Files)) == 6, "the files are %q", out.Files)
		for _, f := range copies {
			r := partOf(t, f)
			must.True(t, r.Ended == result.CutOff && r.Part.Host == "b" && r.Records.Acknowledged >= 8*200 && startIn(t, f).Agreed != nil,
				"%s: part %+v, ended %s, %d records", f, r.Part, r.Ended, r.Records.Acknowledged)
		}
		w.hosts["b"].setCut(false)
		w.hosts["b"].breakAll()
		<-time.After(2 * absentGrace)
		w.idle(t, -1)
		// The complete files replace the copies, because they have the same run ids.
		files, problems := w.client().Results(t.Context(), w.peers("b"), "nightly", t.TempDir())
		must.Hold(t, len(problems) == 0 && len(files) == 3, "files %q, problems %v", files, problems)
		ids := make(map[string]bool)
		for _, f := range loads(files) {
			r := partOf(t, f)
			ids[r.RunID] = r.Ended == result.Completed
		}
		for _, f := range copies {
			must.True(t, ids[partOf(t, f).RunID], "no whole file has the id of %s", f)
		}
	})
}

func TestWithoutItsCoordinatorARunGoesToItsEnd(t *testing.T) {
	bubble(t, threeHosts, func(t *testing.T, w *world) {
		ctx, die := context.WithCancel(t.Context())
		cut := func(cut bool) {
			for _, h := range w.hosts {
				h.setCut(cut)
			}
		}
		go func() {
			<-time.After(5 * time.Second)
			cut(true) // it dies without a word
			die()
		}()
		o := w.order([]string{"a", "b", "c"}, "broker")
		_, err := w.client().run(ctx, longer(o, 20*time.Second), runOptions{Dir: t.TempDir()})
		must.True(t, errors.Is(err, errAborted), "the error is %v", err)
		cut(false)
		for _, n := range threeHosts {
			must.Match(t, "nightly", w.hosts[n].agent.busy(), "%s gave up", n)
		}
		<-time.After(20*time.Second + 2*absentGrace)
		w.idle(t, -1)
		n := w.topics()
		must.True(t, n == 1, "the topic is there %d times, want one that nobody deleted", n) // other hosts may load it yet, for all that an agent knows
		files, problems := w.client().Results(t.Context(), w.peers(threeHosts...), "nightly", t.TempDir())
		must.Hold(t, len(problems) == 0 && len(files) == 10, "files %q, problems %v", files, problems)
		must.Match(t, 20*1200, acknowledged(t, files, result.Completed), "records in the files")
		w.sameFiles(t, files)
	})
}

func TestStopAndAbort(t *testing.T) {
	for _, tc := range []struct {
		name        string
		stop, abort time.Duration // after the run was ordered; 0: never
		deaf        bool          // processes do not hear a stop
		ended       string
		want        error
		files       int
	}{
		{"a stop before the start undoes everything", time.Second, 0, false, "", errStopped, 0},
		{"a stop while all wait for the start does too", 4100 * time.Millisecond, 0, false, "", errStopped, 0},
		{"a stop in the run lets it finish", 12 * time.Second, 0, false, result.Interrupted, nil, 6},
		{"an abort leaves what was written", 0, 12 * time.Second, false, result.CutOff, nil, 6},
		{"an abort kills what does not hear a stop", 12 * time.Second, 14 * time.Second, true, result.CutOff, nil, 6},
	} {
		bubbleOf(t, tc.name, threeHosts, func(t *testing.T, w *world) {
			for _, h := range w.hosts {
				h.behave = func(int) behaviour { return behaviour{readyIn: 1500 * time.Millisecond, deaf: tc.deaf} }
			}
			stop, abort := closed(tc.stop), closed(tc.abort)
			began := time.Now()
			out, _, err := w.run(longer(w.order([]string{"a", "b", "c"}, "broker"), 10*time.Minute), func(r *runOptions) { r.Stop, r.Abort = stop, abort })
			must.True(t, errors.Is(err, tc.want), "the error is %v, want %v", err, tc.want)
			took := time.Since(began) - max(tc.stop, tc.abort)
			must.True(t, took <= 12*time.Second, "it took %v", took)
			must.Match(t, tc.files, len(loads(out.Files)), "files")
			acknowledged(t, out.Files, tc.ended)
			if tc.files == 0 {
				w.idle(t, 0)
			}
		})
	}
}

func TestAnAgentThatEndsStopsItsProcessesInOrder(t *testing.T) {
	bubble(t, []string{"a", "b"}, func(t *testing.T, w *world) {
		time.AfterFunc(10*time.Second, func() { w.hosts["b"].end() })
		out, _ := must.Both(w.run(longer(w.order([]string{"a", "b"}), 20*time.Second)))(t)
		out.left(t, -1, "b: ")
		found, _ := filepath.Glob(filepath.Join(w.hosts["b"].dir, "*.ktr"))
		must.Hold(t, len(found) == 3, "host b has %q", found)
		for _, f := range found {
			if !strings.HasSuffix(f, "-p0.ktr") { // which holds no load
				must.Match(t, result.Interrupted, partOf(t, f).Ended, "%s ended", f)
			}
		}
	})
}

func TestACoordinatorThatGoesBeforeTheStartLeavesNothingRunning(t *testing.T) {
	bubble(t, threeHosts, func(t *testing.T, w *world) {
		w.hosts["c"].behave = func(int) behaviour { return behaviour{readyIn: time.Minute} }
		go func() {
			<-time.After(5 * time.Second)
			for _, h := range w.hosts {
				h.setCut(true) // nobody can be told that it is over
			}
		}()
		_, _, err := w.run(w.order([]string{"a", "b", "c"}, "broker"))
		must.True(t, err != nil, "the run was made")
		<-time.After(2 * time.Minute)
		w.idle(t, 0)
		must.Match(t, 0, w.topics(), "topics that are left")
	})
}

func TestALoadThatIsLongerThanItSaidIsStopped(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.add("a", "client", func(o *AgentOptions) { o.Limits.Duration = 20 * time.Second })
		o := longer(w.order([]string{"a"}), 0)
		o.Plan.Load.Records = 1200 * 15 // the processes here do not know records, and would never end
		for _, h := range w.hosts {
			h.behave = func(int) behaviour { return behaviour{forever: true} }
		}
		out, _ := must.Both(w.run(o))(t)
		for _, f := range loads(out.Files) {
			r := partOf(t, f)
			must.True(t, r.Ended == result.Interrupted && r.ElapsedSeconds <= 35, "%s ended %s after %.0f s", f, r.Ended, r.ElapsedSeconds)
		}
	})
}

// room is a file on a disk with little space.
type room struct{ left int }

func (r *room) Write(b []byte) (int, error) {
	if r.left -= len(b); r.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

func (r *room) Close() error { return nil }

func TestAFullDiskIsToldAndTheLoadGoesOn(t *testing.T) {
	bubble(t, threeHosts, func(t *testing.T, w *world) {
		b := w.hosts["b"]
		b.agent.store.create = roomy(8 << 10)
		b.behave = func(int) behaviour {
			return behaviour{done: Ended{Code: 1, Text: "write run file: no space left on device"}}
		}
		var notes []string
		out, _ := must.Both(w.run(longer(w.order([]string{"a", "b", "c"}, "broker"), 60*time.Second), func(r *runOptions) {
			r.Observe = func(_ int, t run.Second) { notes = append(notes, t.Hosts[1].Note) }
		}))(t)
		broken := "watching is incomplete: write run file: no space left on device"
		if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, broken) }) {
			t.Errorf("the screen says %q", slices.Compact(notes))
		}
		if !slices.ContainsFunc(out.Lost, func(l string) bool { return strings.Contains(l, "b: "+broken) }) {
			t.Errorf("lost %q", out.Lost)
		}
		d := out.Ended["b"]
		must.True(t, len(d) == 2 && d[0].Text == "write run file: no space left on device", "host b ended %+v", d)
		must.Match(t, 6, len(loads(out.Files)), "files %q", out.Files)
	})
	bubble(t, threeHosts, func(t *testing.T, w *world) {
		w.hosts["b"].agent.store.create = roomy(0)
		_, _, err := w.run(w.order([]string{"a", "b", "c"}))
		must.Err(t, "b refuses: write run file: no space left on device", err, "the error")
		w.idle(t, 0)
	})
}
