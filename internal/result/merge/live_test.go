//go:build !race

package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// growing is a run file that a Live gets line by line.
type growing struct {
	name string
	rest [][]byte
}

func grow(files ...[]byte) []*growing {
	var all []*growing
	for i, f := range files {
		all = append(all, &growing{fmt.Sprintf("file %d", i), bytes.SplitAfter(bytes.TrimSuffix(canned.Text(f), []byte("\n")), []byte("\n"))})
	}
	return all
}

// to adds the next n lines, or all if there are fewer.
func (g *growing) to(t testing.TB, l *Live, n int) {
	t.Helper()
	for ; n > 0 && len(g.rest) > 0; n, g.rest = n-1, g.rest[1:] {
		must.Do(t, l.Add(g.name, g.rest[0]))
	}
}

// upTo adds the lines up to the sample of a second of the part.
func (g *growing) upTo(t testing.TB, l *Live, seconds int) {
	t.Helper()
	for len(g.rest) > 0 {
		var of result.Line
		must.Do(t, json.Unmarshal(g.rest[0], &of))
		until := time.Duration(seconds) * time.Second
		if w, s := of.Window, of.Sample; w != nil && w.End > until || s != nil && s.At > until {
			return
		}
		g.to(t, l, 1)
	}
}

// taken returns all seconds that are there.
func taken(l *Live, elapsed time.Duration) (all []Second) {
	for {
		s, ok := l.Next(elapsed)
		if !ok {
			return all
		}
		all = append(all, s)
	}
}

// liveParts are the files of a run of three hosts and five processes, some of which began late. They
// write and read, in a warm-up too. Two of them have a second topic.
func liveParts(t testing.TB, seed uint64, seconds int) [][]byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	var roster []result.Member
	for _, name := range []string{"a", "b", "c"} {
		roster = append(roster, result.Member{Host: name, Processes: 2})
	}
	var files [][]byte
	for i := range 5 {
		p := partFile{
			run: "r", epoch: "e", host: string(rune('a' + i/2)), process: 1 + i%2, roster: roster,
			late: time.Duration(rng.Int64N(int64(time.Second))), plan: canned.ReadPlan(plan.Roundtrip, 120),
			events: canned.Read(seed*10+uint64(i), seconds), trailer: trailerOf(float64(seconds)),
		}
		if i%2 == 1 {
			p.change = func(h *result.Header) {
				h.Environment.Topics = []result.Topic{{Name: "zoo", Partitions: 3}, {Name: "alarms", Partitions: 2}, h.Environment.Topic}
				h.Environment.Topic = h.Environment.Topics[0]
			}
		}
		files = append(files, p.bytes(t))
	}
	return files
}

// whole returns the fold of a set, before the findings that only its end shows.
func whole(t testing.TB, files [][]byte) (*result.Fold, []stats.Window) {
	t.Helper()
	s := setOf(t, files...)
	var windows []stats.Window
	m := must.Have(s.merge(t.Context(), func(w *stats.Window) { windows = append(windows, *w) }))(t)
	return m.whole, windows
}

// totals are what a fold has counted, whenever it was counted.
func totals(t testing.TB, f *result.Fold) string {
	t.Helper()
	var all []string
	for _, phase := range []int{stats.Warmup, stats.Measured} {
		w := *f.Total(phase)
		w.Start, w.End, w.Oldest = 0, 0, 0
		all = append(all, marshal(t, &w))
	}
	return strings.Join(all, "\n")
}

func liveOf(t testing.TB, files [][]byte) *Live {
	t.Helper()
	s := setOf(t, files...)
	return NewLive(newMerge(s.inOrder()).header(s.inOrder()), nil)
}

func TestALiveRunHasTheSecondsOfItsResult(t *testing.T) {
	const seconds = 8
	for seed := range uint64(4) {
		files := liveParts(t, seed, seconds)
		want, windows := whole(t, files)
		l, parts := liveOf(t, files), grow(files...)
		var got []stats.Window
		for s := range seconds + 3 {
			for _, i := range rand.New(rand.NewPCG(seed, uint64(s))).Perm(len(parts)) {
				parts[i].upTo(t, l, s)
			}
			for _, second := range taken(l, time.Duration(s)*time.Second+200*time.Millisecond) {
				got = append(got, second.Windows...)
			}
		}
		for _, second := range taken(l, Over) {
			got = append(got, second.Windows...)
		}
		if diff := cmp.Diff(marshal(t, windows), marshal(t, got)); diff != "" {
			t.Fatalf("seed %d: windows (-set +live):\n%s", seed, diff)
		}
		a, b := want.Snapshot(), l.Now().Snapshot
		must.Match(t, marshal(t, a), marshal(t, b), "seed %d: snapshot", seed)
	}
}

func TestASecondWaitsForThePartsThatGrow(t *testing.T) {
	part := func(process int) []byte {
		return partFile{run: "r", epoch: "e", host: "a", process: process, events: used(steady(0, 6, 100)), trailer: trailerOf(6)}.bytes(t)
	}
	files := [][]byte{part(1), part(2)}
	l, parts := liveOf(t, files), grow(files...)
	second := func(elapsed time.Duration, want int64, at int) {
		t.Helper()
		s, ok := l.Next(elapsed)
		switch {
		case !ok && want == 0:
		case ok != (want > 0) || s.Windows[0].Acknowledged != want || s.Windows[0].End != time.Duration(at)*time.Second:
			t.Errorf("at %s: %t, %+v, want %d records of second %d", elapsed, ok, s.Windows, want, at)
		}
	}
	parts[0].upTo(t, l, 1)
	second(1100*time.Millisecond, 100, 1) // of the other nothing is known
	parts[1].to(t, l, 2)
	parts[0].upTo(t, l, 2)
	second(2100*time.Millisecond, 0, 0)
	parts[1].upTo(t, l, 2) // also the second that it was late for
	second(2200*time.Millisecond, 300, 2)
	parts[0].upTo(t, l, 3)
	second(2300*time.Millisecond, 0, 0) // not over
	second(4400*time.Millisecond, 0, 0)
	second(4500*time.Millisecond, 100, 3) // patience
	parts[0].upTo(t, l, 4)
	l.Gone(parts[1].name)
	second(4500*time.Millisecond, 100, 4)
	parts[0].upTo(t, l, 5)
	parts[1].upTo(t, l, 4) // it is back, and two seconds behind
	second(5100*time.Millisecond, 0, 0)
	parts[1].upTo(t, l, 5)
	second(5100*time.Millisecond, 400, 5)
	parts[0].upTo(t, l, 7) // with the trailer
	second(6100*time.Millisecond, 0, 0)
	second(Over, 100, 6)
	parts[1].upTo(t, l, 7)
	second(6200*time.Millisecond, 0, 0)
	second(7000*time.Millisecond, 100, 6) // it counts in second 7, which has no other
	second(Over, 0, 0)
}

func TestAPartThatRunsAheadTakesNoMoreThanItsShare(t *testing.T) {
	file := partFile{run: "r", epoch: "e", host: "a", process: 1, events: used(steady(0, 500, 100)), trailer: trailerOf(500)}.bytes(t)
	l, parts := liveOf(t, [][]byte{file}), grow(file)
	parts[0].to(t, l, 1<<20)
	must.Match(t, mostQueued, len(l.parts[0].queue), "seconds are kept")
	taken(l, Over)
	must.Match(t, 50_000, l.Now().Snapshot.All.Acknowledged, "records")
}

func TestALiveRunIsBrokenByItsCondition(t *testing.T) {
	files := [][]byte{partFile{run: "r", epoch: "e", host: "a", process: 1, events: used(steady(0, 30, 100)), trailer: trailerOf(30)}.bytes(t)}
	l, parts := NewLive(header(100), []string{"p99>1ms"}), grow(files...)
	broken := 0
	for s := range 30 {
		parts[0].upTo(t, l, s)
		for _, second := range taken(l, time.Duration(s)*time.Second) {
			if second.Broken != "" {
				broken++
			}
		}
	}
	got := l.Now().Broken
	must.True(t, broken != 0 && strings.HasPrefix(got, "p99>1ms: 4.00ms at 1.00s"), "%d seconds are broken by %q", broken, got)
}

func TestALiveRunHasTheNewestVitalsOfEachHost(t *testing.T) {
	l := NewLive(header(100), nil)
	file := grow(partFile{run: "r", epoch: "e", host: "broker", vitals: []host.Vitals{{At: time.Second, CPU: 1}, {At: 2 * time.Second, CPU: 3}}}.bytes(t))
	file[0].to(t, l, 10)
	switch h := l.Now().Hosts["broker"]; {
	case h.Vitals == nil || h.Snapshot != nil:
		t.Errorf("the host is %+v", h)
	case h.Vitals.CPU != 3:
		t.Errorf("its vitals are %+v", h.Vitals)
	}
}

func TestABadLineEndsItsFileAndNoOther(t *testing.T) {
	part := func(process int) []byte {
		return partFile{run: "r", epoch: "e", host: "a", process: process, events: used(steady(0, 4, 100)), trailer: trailerOf(4)}.bytes(t)
	}
	files := [][]byte{part(1), part(2)}
	l, parts := liveOf(t, files), grow(files...)
	parts[0].upTo(t, l, 2)
	bad := []byte(`{"window":{"end_ns":-5}}` + "\n")
	err := l.Add(parts[0].name, bad)
	again := l.Add(parts[0].name, parts[0].rest[0])
	must.True(t, err != nil && again != nil && again.Error() == err.Error() && strings.HasPrefix(err.Error(), "file 0: line 7: "), "the errors are %v and %v", err, again)
	parts[1].upTo(t, l, 5)
	taken(l, 4100*time.Millisecond)
	must.Match(t, 600, l.Now().Snapshot.All.Acknowledged, "records")
	must.Err(t, "text: line 1: it is no run file", l.Add("text", []byte("hello\n")), "the error")
}

// used is a load with a sample of two cores after each window.
func used(events []canned.Event) (with []canned.Event) {
	for _, e := range events {
		length := e.Window.End - e.Window.Start
		with = append(with, e, canned.Event{Sample: &host.Sample{At: e.Window.End, Interval: length, Cores: 4, HostCores: 8, ProcessCPU: 2}})
	}
	return with
}

func TestSecondsOfPartsLineUp(t *testing.T) {
	const rate, seconds = 1000, 20
	for _, late := range []time.Duration{0, 3 * time.Millisecond, 499 * time.Millisecond, 501 * time.Millisecond, time.Second, 1500 * time.Millisecond} {
		for _, agreed := range []bool{true, false} {
			if agreed && late > lateAfter { // it does not count
				continue
			}
			part := func(host string, late, last time.Duration) []byte {
				return partFile{
					run: "r", epoch: map[bool]string{true: "e"}[agreed], host: host, process: 1, alone: !agreed, late: late,
					events: used(flowing(0, last, rate)), trailer: trailerOf(last.Seconds()),
				}.bytes(t)
			}
			// Each ends with a window that is shorter than a second.
			r := merged(t, part("a", 0, seconds*time.Second+2*time.Millisecond), part("b", late, seconds*time.Second+40*time.Millisecond))
			shift := int(late.Round(time.Second) / time.Second)
			got := r.Overlap.SpanSeconds
			must.True(t, math.Abs(got-(seconds+0.04+float64(shift))) <= 1e-9, "%s late: the run took %v s", late, got)
			for i, p := range r.Series {
				want := int64(0)
				if i < seconds {
					want += rate
				}
				if i >= shift && i < seconds+shift {
					want += rate
				}
				if i == seconds-1 && shift == 0 || i == seconds && shift > 0 { // with the short windows
					continue
				}
				if p.StartSeconds != float64(i) || i < seconds+shift-1 && p.Seconds != 1 || i < seconds && p.Acknowledged != want {
					t.Errorf("%s late: row %d is from %v s on, %v s long, with %d records; want %d", late, i, p.StartSeconds, p.Seconds, p.Acknowledged, want)
				}
				must.True(t, i < shift || i >= seconds || math.Abs(p.CPUCores-4) <= 1e-9, "%s late: row %d has %v cores, want 4", late, i, p.CPUCores)
			}
		}
	}
}

func TestAWindowOfSeveralSecondsMakesNoSecondLonger(t *testing.T) {
	slow := steady(0, 8, 100)
	slow[4].Window.Add(slow[3].Window)
	slow = append(slow[:3:3], slow[4:]...) // one window of seconds 3 and 4
	part := func(host string, events []canned.Event) []byte {
		return partFile{run: "r", host: host, process: 1, events: events, trailer: trailerOf(8)}.bytes(t)
	}
	r := merged(t, part("a", steady(0, 8, 100)), part("b", used(slow)))
	sum := 0.0
	for _, p := range r.Series {
		sum += p.Seconds
	}
	must.Match(t, 8, sum, "the series has seconds of 8: %+v", r.Series)
}

// lagging is a load at a fixed rate of which only so many records a second are
// acknowledged while it is sent: the others are in the drain.
func lagging(seconds, offered, acked int) []canned.Event {
	events := steady(0, seconds+1, offered)
	for i, e := range events {
		w := e.Window
		w.Acknowledged = int64(acked)
		if i == seconds {
			w.Acknowledged = int64(seconds * (offered - acked))
			w.Offered, w.FirstDue, w.LastDue, w.LastSent = 0, 0, 0, 0
		}
	}
	return events
}

func TestWhatWaitsWhileSendingGoesOnIsSaidOfNow(t *testing.T) {
	f := result.NewFold(header(6000))
	var said []string
	for _, e := range lagging(20, 6000, 5000) {
		if e.Window.Offered == 0 {
			e.Window.ShardTime = 0
		}
		f.AddWindow(*e.Window)
		said = append(said, f.Verdict().Evidence)
	}
	const then = "s of the load, waited when sending ended"
	must.Has(t, "after 7 of 20 seconds", said[6], "1.2 s of the load, wait now")
	must.Has(t, "when sending has ended", said[20], then)
}

func TestATargetIsNotKeptWhereItIsNotAcknowledged(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name           string
		Seconds, Acked int // of 6000 records/s
		Want           verdict.Limit
		Alone, Merged  string
	}](t, "carried") {
		t.Run(tc.Name, func(t *testing.T) {
			part := func(host string) []byte {
				return partFile{
					run: "r", epoch: "e", host: host, process: 1, plan: header(6000).Plan,
					events: lagging(tc.Seconds, 6000, tc.Acked), trailer: trailerOf(float64(tc.Seconds) + 1),
				}.bytes(t)
			}
			one, r := replayed1(t, part("a")), merged(t, part("a"), part("b"))
			must.True(t, one.BoundBy.Limit == tc.Want && strings.Contains(one.BoundBy.Evidence, tc.Alone), "alone bound by %+v, want %s, %q", one.BoundBy, tc.Want, tc.Alone)
			must.True(t, (r.BoundBy.Limit == tc.Want || strings.HasPrefix(string(r.BoundBy.Limit), string(tc.Want))) && strings.Contains(r.BoundBy.Evidence, tc.Merged), "merged bound by %+v, want %s, %q", r.BoundBy, tc.Want, tc.Merged)
		})
	}
}

func TestAPartOfARunThatGoesOnIsRunning(t *testing.T) {
	part := func(host string, process int, trailer result.Trailer) []byte {
		return partFile{run: "r", epoch: "e", host: host, process: process, events: canned.Written(1, 3), trailer: trailer}.bytes(t)
	}
	type file struct {
		content []byte
		atWork  bool
	}
	goes, died, ended := file{part("a", 1, result.Trailer{}), true}, file{part("a", 2, result.Trailer{}), false}, file{part("a", 3, trailerOf(3)), true}
	watched := file{part("b", 0, result.Trailer{}), false}
	for _, tc := range []struct {
		name  string
		files []file
		want  string // state of each file, and + if it counts
		says  string
	}{
		{"alone it counts", []file{goes, watched}, "running+ running", "the run still goes on: "},
		{"without those that died", []file{goes, died}, "running+ lost", "a/2 is lost: "},
		{"but not beside one that has ended", []file{goes, ended}, "running complete+", "a/1 is running: its figures are up to 3.0 s"},
		{"nobody writes a file that has an end", []file{ended}, "complete+", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := NewSet()
			for _, f := range tc.files {
				must.Do(t, s.Add("file", bytes.NewReader(f.content), int64(len(f.content)), f.atWork))
			}
			r := must.Have(s.Result(t.Context()))(t)
			var got []string
			for _, f := range r.RunFiles {
				state := string(f.State)
				if f.Counted {
					state += "+"
				}
				got = append(got, state)
			}
			if got := strings.Join(got, " "); got != tc.want || !strings.Contains(r.Notice, tc.says) {
				t.Errorf("%q, want %q; the notice is %q, want %q", got, tc.want, r.Notice, tc.says)
			}
			again := must.Have(Read(bytes.NewReader(collection(t, s)), int64(len(collection(t, s)))))(t)
			must.Match(t, marshal(t, r), marshal(t, again), "the collection has another result")
		})
	}
}
