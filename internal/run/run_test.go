package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/system"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/run"
)

// producing is a load of so many records on the broker inside the process.
func producing(topic string, records int64) plan.Plan {
	return plan.Plan{
		Command: plan.Produce, Topic: plan.Topic{Name: topic, Partitions: 3}, Producers: 1, Seed: 1,
		Load:    plan.Load{Rate: plan.Rate{PerSecond: 2000}, Records: records, Arrivals: plan.Uniform},
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(256), Keys: plan.NoKeys},
	}
}

func roundtrip(topic string, records int64) plan.Plan {
	p := producing(topic, records)
	p.Command, p.Verify, p.Payload.Stamp = plan.Roundtrip, true, true
	p.Read = plan.Read{Consumers: 1, From: plan.From{Latest: true}, Commit: plan.CommitNone, Timeout: 20e9}
	return p
}

// request is a run of a plan, with a run file.
func request(t *testing.T, p plan.Plan) run.Request {
	t.Helper()
	k, _ := must.Both(system.New(&p, nil, nil, false))(t)
	file := must.Have(run.CreateFile(filepath.Join(t.TempDir(), "run.ktr")))(t)
	return run.Request{Plan: p, System: k, File: file}
}

// seconds is an observer that keeps everything.
type seconds struct{ all []run.Second }

func (s *seconds) Observe(one run.Second) { s.all = append(s.all, one) }

// check checks that a run has counted its own records and no other's, live and replayed.
func check(t *testing.T, p plan.Plan, path string, res result.Result, seen *seconds) {
	t.Helper()
	r, want := res.Records, p.Load.Records
	must.True(t, r.Acknowledged == want && r.Failed+r.Unknown+r.Unsent == 0 && (!p.Reads() || r.Consumed == want),
		"%s: %+v, want %d", p.Topic.Name, r, want)
	must.Match(t, []string{p.Topic.Name, result.Completed}, []string{res.Environment.Topic.Name, res.Ended}, "topic %s %s", res.Environment.Topic.Name, res.Ended)
	v := res.Verify
	must.True(t, !p.Verify || !p.Reads() || v != nil && v.Lost+v.Corrupted+v.Duplicated+v.Unchecked == 0, "%s: verified as %+v", p.Topic.Name, v)
	last := seen.all[len(seen.all)-1].Snapshot
	must.True(t, last.Stage == result.Finished && last.All.Acknowledged == want,
		"%s: the last snapshot has stage %v and %d records, want %d", p.Topic.Name, last.Stage, last.All.Acknowledged, want)
	sameReplayed(t, path, res)
}

// sameReplayed checks that the run file gives the same document, byte for byte.
func sameReplayed(t *testing.T, path string, res result.Result) {
	t.Helper()
	f := must.Have(os.Open(path))(t)
	defer f.Close()
	fold := must.Have(result.Replay(f, nil))(t)
	live, replayed := document(t, res), document(t, fold.Result())
	must.True(t, bytes.Equal(live, replayed), "the replayed result is not the live one:\n%s\n%s", live, replayed)
}

func document(t *testing.T, res result.Result) []byte {
	t.Helper()
	return must.Have(json.Marshal(res))(t)
}

func TestRunsInTurnAndAtOnceDoNotMix(t *testing.T) {
	plans := []plan.Plan{producing("first", 700), roundtrip("second", 900), producing("third", 500)}
	make := func(t *testing.T, p plan.Plan) {
		r, seen := request(t, p), new(seconds)
		res, err := run.Run(t.Context(), r, seen)
		if err != nil {
			t.Error(err)
			return
		}
		check(t, p, r.File.Path(), res, seen)
	}
	t.Run("in turn", func(t *testing.T) {
		for _, p := range plans[:2] {
			make(t, p)
		}
	})
	t.Run("at once", func(t *testing.T) {
		var all sync.WaitGroup
		for _, p := range plans {
			all.Go(func() { make(t, p) })
		}
		all.Wait()
	})
}

// An observer that hangs keeps neither the run from its end nor the others from seconds, and
// gets all windows in the end.
func TestAnObserverThatHangsHoldsUpNobody(t *testing.T) {
	p := producing("hung", 3000)
	r := request(t, p)
	over, seen := make(chan struct{}), new(seconds)
	var calls, acknowledged int64
	hung := observerFunc(func(s run.Second) {
		<-over
		calls++
		for i := range s.Windows {
			acknowledged += s.Windows[i].Acknowledged
		}
	})
	finish := sync.OnceFunc(func() { close(over) })
	other := observerFunc(func(s run.Second) {
		seen.Observe(s)
		if s.Snapshot.Stage == result.Finished {
			finish()
		}
	})
	res := must.Have(run.Run(t.Context(), r, hung, other))(t)
	check(t, p, r.File.Path(), res, seen)
	must.True(t, calls <= 3 && acknowledged == p.Load.Records, // one before it is over, and what waited then
		"%d records in %d calls, want all %d in 3 at most", acknowledged, calls, p.Load.Records)
}

// An observer that hangs for ever is left when the run is ended.
func TestARunThatIsEndedWaitsForNoObserver(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	never := make(chan struct{})
	defer close(never)
	hung := observerFunc(func(run.Second) { end(); <-never })
	p := producing("ended", 1e6)
	must.Match(t, result.Interrupted, must.Have(run.Run(ctx, request(t, p), hung))(t).Ended, "it")
}

type observerFunc func(run.Second)

func (f observerFunc) Observe(s run.Second) { f(s) }

// What is written is read again from its ledger, by runs on one broker.
func TestALedgerIsReadAgain(t *testing.T) {
	broker := must.Have(kafka.StartEmbedded(true))(t)
	defer broker.Close()
	p := producing("ledger", 1200)
	p.Bootstrap, p.Verify, p.Payload.Stamp = broker.Addrs(), true, true
	r, seen := request(t, p), new(seconds)
	notices := make(map[run.NoticeKind]run.Notice)
	r.Notify = func(n run.Notice) { notices[n.Kind] = n }
	res := must.Have(run.Run(t.Context(), r, seen))(t)
	check(t, p, r.File.Path(), res, seen)
	n := notices[run.TopicCreated]
	must.True(t, n.Text != "" && !n.Kind.Warning(), "notices %+v", notices)

	c := plan.Plan{Command: plan.Consume, Bootstrap: p.Bootstrap, Verify: true, Read: plan.Read{Consumers: 2, Commit: plan.CommitNone, ToEnd: true, Timeout: 20e9}}
	book := must.Have(run.ReadBook(notices[run.LedgerWritten].Path, &c, false))(t)
	r, seen = request(t, c), new(seconds)
	r.Book = book
	res = must.Have(run.Run(t.Context(), r, seen))(t)
	if v := res.Verify; res.Records.Consumed != 1200 || res.ReadEnd != result.ReadAll || v == nil || v.Lost+v.Unchecked != 0 {
		t.Errorf("%d read until %s; %+v", res.Records.Consumed, res.ReadEnd, v)
	}
	sameReplayed(t, r.File.Path(), res)
}

// While each way to write goes on, the ledger can be read at any moment, and what it has grows.
func TestTheLedgerOfALoadThatGoesOnIsRead(t *testing.T) {
	t.Parallel()
	const records = 6000
	for name, change := range map[string]func(p *plan.Plan) []string{
		"client": func(p *plan.Plan) []string { p.Payload.Stamp = true; return nil },
		"wire":   func(p *plan.Plan) []string { p.Engine = plan.Wire; return nil },
		"transactions": func(p *plan.Plan) []string {
			p.Payload.Stamp, p.Load.Transaction = true, plan.Duration(50*time.Millisecond)
			return []string{"transactional.id=it"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := producing(name, records)
			p.Verify, p.Producers = true, 2
			given := canned.Given("the test", change(&p)...)
			r := request(t, p)
			r.System, _ = must.Both(system.New(&p, given, nil, false))(t)
			dir := t.TempDir()
			r.Plan, r.Ledger, r.LedgerSync = p, filepath.Join(dir, "growing.ledger"), true
			r.BrokerDirs = func() []string { return []string{"/proc/none", "/proc", dir} }
			var beside []string
			r.Notify = func(n run.Notice) {
				if n.Kind == run.LedgerBeside {
					beside = append(beside, n.Text)
				}
			}
			over := make(chan error)
			go func() { _, err := run.Run(t.Context(), r); over <- err }()
			ends, last := make(map[time.Time]bool), int64(0)
			for going := true; going; {
				select {
				case err := <-over:
					must.Do(t, err)
					going = false
				case <-time.After(20 * time.Millisecond):
				}
				text, err := os.ReadFile(r.Ledger)
				if err != nil || len(text) == 0 {
					continue // it is not made yet
				}
				book := must.Have(ledger.Read(bytes.NewReader(text)))(t)
				acknowledged := int64(0)
				for i := range book.Lanes {
					acknowledged += book.Lanes[i].Acknowledged.Count()
				}
				must.Hold(t, acknowledged >= last && (going || book.CutAt.IsZero()), "%d acknowledged after %d, cut off at %v", acknowledged, last, book.CutAt)
				ends[book.CutAt], last = true, acknowledged
			}
			must.True(t, len(beside) == 1 && strings.Contains(beside[0], "log directory "+dir), "said of the ledger's disk: %q", beside)
			must.True(t, len(ends) >= 4 && last == records, "the ledger had %d ends, and %d acknowledged records", len(ends), last)
		})
	}
}

// A snapshot holds what the run file holds up to the same second, and nothing else.
func TestASnapshotIsTheFoldOfTheRunFileUpToThere(t *testing.T) {
	p := roundtrip("snapshots", 5000)
	p.Load.Warmup.Records = 1000
	r, seen := request(t, p), new(seconds)
	must.Have(run.Run(t.Context(), r, seen))(t)
	file := must.Have(os.ReadFile(r.File.Path()))(t)
	compared := 0
	var prefix []byte
	for line := range bytes.Lines(canned.Text(file)) {
		prefix = append(prefix, line...)
		if !bytes.HasPrefix(line, []byte(`{"sample"`)) {
			continue
		}
		fold := must.Have(result.Replay(bytes.NewReader(canned.Packed(string(prefix))), nil))(t)
		want := fold.Snapshot()
		for _, s := range seen.all {
			if s.Snapshot.At != want.At {
				continue
			}
			compared++
			want.Live = s.Snapshot.Live // which no file holds
			diff := cmp.Diff(want, s.Snapshot, cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateEmpty())
			must.True(t, diff == "", "the snapshot at %v (-run file +observed):\n%s", want.At, diff)
		}
	}
	must.True(t, compared == len(seen.all) && compared >= 3, "%d of %d snapshots were compared", compared, len(seen.all))
}

func TestARunThatCannotBeginLeavesNothing(t *testing.T) {
	for name, change := range map[string]func(*run.Request){
		"the ledger exists":      func(r *run.Request) { r.Plan.Verify, r.Ledger = true, r.File.Path() },
		"it is not to begin":     func(r *run.Request) { r.Opened = func(result.Header) error { return errNo } },
		"too few partitions":     func(r *run.Request) { r.Plan.Share.Slots = 5 },
		"no such bootstrap":      func(r *run.Request) { r.Plan.Bootstrap = []string{"no port:x"} },
		"a topic too replicated": func(r *run.Request) { r.Plan.Topic.ReplicationFactor = 9 },
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, producing("never", 10))
			path := r.File.Path()
			change(&r)
			res, err := run.Run(t.Context(), r)
			must.True(t, err != nil && res.RunID == "", "run %q, %v", res.RunID, err)
			_, err = os.Stat(path)
			must.True(t, os.IsNotExist(err), "the run file is there: %v", err)
		})
	}
}

var errNo = errors.New("no")

// alone is a merged document without the tables that only a merged one has.
func alone(r result.Result) result.Result {
	r.Overlap, r.Hosts, r.Processes, r.RunFiles = nil, nil, nil, nil
	return r
}

// setOf returns a set of files.
func setOf(t *testing.T, files ...[]byte) *merge.Set {
	t.Helper()
	s := merge.NewSet()
	for _, f := range files {
		must.Do(t, s.Add("f", bytes.NewReader(f), int64(len(f)), false))
	}
	return s
}

// merged returns the merged result of files, and their collection.
func merged(t *testing.T, files ...[]byte) (result.Result, []byte) {
	t.Helper()
	s := setOf(t, files...)
	var collection bytes.Buffer
	must.Have(s.WriteTo(&collection))(t)
	r := must.Have(s.Result(t.Context()))(t)
	return r, collection.Bytes()
}

// sameLive compares a merged result with the last second of the same files, merged line by line.
func sameLive(t *testing.T, want result.Result, files ...[]byte) {
	t.Helper()
	l := merge.NewLive(want.Header, nil)
	for i, file := range files {
		for line := range bytes.Lines(canned.Text(file)) {
			must.Do(t, l.Add(string(rune('a'+i)), line))
		}
	}
	last := l.Now()
	for second, ok := l.Next(merge.Over); ok; second, ok = l.Next(merge.Over) {
		last = second
	}
	got := result.Records{
		Offered: last.Snapshot.Run.Counts.Offered, Acknowledged: last.Snapshot.Run.Counts.Acknowledged, Failed: last.Snapshot.Run.Counts.Failed,
		Unknown: last.Snapshot.Run.Counts.Unknown, Unsent: last.Snapshot.Run.Counts.Unsent, Consumed: last.Snapshot.Run.Counts.Consumed,
	}
	if p99 := last.Snapshot.Run.Response.P99; got != want.Records || p99 != want.Latency.Response.P99 {
		t.Errorf("live it has %+v with a p99 of %d µs, and then %+v with %d µs", got, p99, want.Records, want.Latency.Response.P99)
	}
	noCPU := cmpopts.IgnoreFields(result.Point{}, "CPUCores") // a snapshot has it of rows that are too short to know it
	diff := cmp.Diff(want.Series, last.Snapshot.Points, noCPU)
	must.True(t, diff == "", "the series of the live one is another (-then +live):\n%s", diff)
	must.Match(t, len(want.Hosts), len(last.Hosts), "live it has hosts, and then")
}

func TestLiveReplayedAndMergedResultsAreEqualByteForByte(t *testing.T) {
	broker := must.Have(kafka.StartEmbedded(true))(t)
	defer broker.Close()
	// made makes a run on the broker, checks its document, and returns its file.
	made := func(t *testing.T, p plan.Plan, host string) []byte {
		p.Bootstrap = broker.Addrs()
		r := request(t, p)
		r.Part = &result.Part{Run: "r", Host: host, Process: 1}
		r.Limits = []string{"p99<1h", "rate>=1 over 1s", "mean<1ms over 1s for 50%"}
		r.AbortOn = []string{"errors>0", "rate<0 over 1s"} // judged beside the load
		res := must.Have(run.Run(t.Context(), r))(t)
		file := must.Have(os.ReadFile(r.File.Path()))(t)
		sameReplayed(t, r.File.Path(), res)
		live := document(t, res)
		one, collection := merged(t, file)
		got := document(t, alone(one))
		must.True(t, bytes.Equal(live, got), "merged alone it is not the live one:\n%s\n%s", live, got)
		again, _ := merged(t, collection)
		must.True(t, bytes.Equal(document(t, one), document(t, again)), "merged again it is another document")
		return file
	}
	consuming := producing("equal", 2500)
	consuming.Command, consuming.Producers, consuming.Load.Rate.PerSecond, consuming.Payload = plan.Consume, 0, 0, plan.Payload{}
	consuming.Read = plan.Read{Consumers: 1, ToEnd: true, Commit: plan.CommitNone, Timeout: 20e9}
	for _, p := range []plan.Plan{producing("equal", 2500), consuming, roundtrip("both", 2500)} {
		t.Run(string(p.Command), func(t *testing.T) {
			a, b := made(t, p, "a"), made(t, p, "b")
			want, collection := merged(t, a, b)
			must.Hold(t, len(want.Processes) == 2 && want.Records.Acknowledged+want.Records.Consumed >= 2*p.Load.Records,
				"%d processes with %+v", len(want.Processes), want.Records)
			sameLive(t, want, a, b)
			for _, files := range [][][]byte{{b, a}, {collection}, {collection, a}} {
				slices.Reverse(files)
				got, _ := merged(t, files...)
				must.True(t, bytes.Equal(document(t, want), document(t, got)), "merged from %d files it is another document", len(files))
			}
			read, err := merge.Read(bytes.NewReader(collection), int64(len(collection)))
			must.True(t, err == nil && bytes.Equal(document(t, want), document(t, read)), "read from its collection it is another document: %v", err)
		})
	}
}
