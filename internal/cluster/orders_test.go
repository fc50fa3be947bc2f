package cluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

func TestAHostThatWasCutOffIsStoppedWhenItIsBack(t *testing.T) {
	bubble(t, []string{"a", "b"}, func(t *testing.T, w *world) {
		stop := closed(15 * time.Second)
		w.cut("b", 10*time.Second, 35*time.Second) // what is said meanwhile goes nowhere
		out, _ := must.Both(w.run(longer(w.order([]string{"a", "b"}), 10*time.Minute), func(r *runOptions) { r.Stop = stop }))(t)
		out.left(t, 4)
		for _, f := range loads(out.Files) {
			r := partOf(t, f)
			must.True(t, r.Ended == result.Interrupted && r.ElapsedSeconds <= 60, "%s ended %s after %.0f s", f, r.Ended, r.ElapsedSeconds)
		}
	})
}

func TestTheFilesOfARunThatGoesOnAreKept(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.add("a", "client", func(o *AgentOptions) { o.Keep, o.Parallel = 1, 2 })
		long := make(chan outcome, 1)
		go func() {
			out, _, err := w.run(longer(w.order([]string{"a"}), time.Minute))
			must.True(t, err == nil, "%v", err)
			long <- out
		}()
		<-time.After(5 * time.Second)
		for range 3 {
			must.Both(w.run(w.order([]string{"a"})))(t)
		}
		out := <-long
		must.True(t, len(out.Files) == 3 && len(out.Lost) == 0, "files %q, lost %q", out.Files, out.Lost)
	})
}

func TestAnOrderForAnotherRunDoesNothing(t *testing.T) {
	bubble(t, []string{"b"}, func(t *testing.T, w *world) {
		o := offered(t)
		for range 2 { // the same offer again is accepted
			must.Do(t, w.put(t, o))
		}
		other := offered(t)
		other.Part.Epoch, other.Args = o.Part.Epoch, []string{"kt", "produce", "--more"}
		must.Err(t, "was used before", w.put(t, other), "another offer of this epoch")
		for _, order := range []order{{Cancel: true}, {Open: 1}, {Start: &StartOrder{}}, {Stop: true}} {
			must.Err(t, "the run is not known here", w.post(t, "b", "old", order), "%+v of an old epoch", order)
		}
		<-time.After(2 * runTick)
		h := w.hosts["b"]
		must.True(t, h.count() <= 0 && h.agent.busy() == "nightly", "%d processes, busy with %q", h.count(), h.agent.busy())
	})
}

func TestAHostIsBusyUntilItsLoadIsOverOrItsCoordinatorIsGone(t *testing.T) {
	for _, tc := range []struct {
		name                   string
		started, settled, left bool
		want                   bool
	}{
		{"it is prepared", false, false, false, true},
		{"its coordinator left before the start", false, false, true, true},
		{"the load goes on", true, false, false, true},
		{"the load goes on without its coordinator", true, false, true, true},
		{"the load is over, and its coordinator asks for the files", true, true, false, true},
		{"the load is over, and nobody asks for its files", true, true, true, false},
	} {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		s := newRunState(1, now)
		if tc.started {
			s.Stage, s.Start, s.Parts[0].State = stageRunning, now, partRunning
		}
		if tc.settled {
			s.Stage, s.Parts[0].State = stageSettled, partDone
		}
		if tc.left {
			now = now.Add(2 * awayAfter)
		}
		must.Match(t, tc.want, s.busy(terms{}, now), "%s: busy", tc.name)
	}
}

func TestARunWaitsForItsCoordinatorAsLongAsItMayComeBack(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name        string
		there       bool
		started     time.Duration // ago
		away, lasts time.Duration
		watched     bool // it makes no load
		want        bool
	}{
		{"the coordinator is there", true, time.Hour, time.Hour, time.Minute, false, false},
		{"it left long after the end", false, time.Hour, time.Second, time.Minute, false, false},
		{"it left long ago, and other hosts make their load yet", false, 10 * time.Minute, 9 * time.Minute, 10 * time.Minute, false, false},
		{"it left long ago, and the load is over", false, 12 * time.Minute, 9 * time.Minute, 10 * time.Minute, false, true},
		{"it left a while ago, and nobody knows when the load is over", false, 10 * time.Minute, 2 * time.Minute, 0, true, false},
		{"it left long ago, and nobody knows when the load is over", false, time.Hour, 11 * time.Minute, 0, true, true},
	} {
		m := change{runState: runState{Start: now.Add(-tc.started), Heard: now.Add(-tc.away)}, terms: terms{Lasts: tc.lasts}, now: now}
		if tc.there {
			m.Heard = now
		}
		if !tc.watched {
			m.Parts = make([]process, 1)
		}
		must.Match(t, tc.want, m.absent(), "%s", tc.name)
	}
}

func TestAnOffsetIsWithinItsBoundWhateverTheWayThereAndBackTakes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	zero := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 10_000 {
		off := time.Duration(r.Int64N(int64(20*time.Second))) - 10*time.Second
		there, work, home := time.Duration(r.Int64N(int64(time.Second))), time.Duration(r.Int64N(int64(time.Second))), time.Duration(r.Int64N(int64(time.Second)))
		received := zero.Add(there)
		c := compare(zero, received.Add(off), received.Add(work+off), received.Add(work+home))
		must.Hold(t, c.rtt == there+home, "the round trip is %v, want %v", c.rtt, there+home)
		wrong := (c.offset - off).Abs()
		must.Hold(t, wrong <= c.bound(), "the offset is wrong by %v, and the bound is %v", wrong, c.bound())
	}
}

func TestTheBestPingIsTheOneWithTheShortestRoundTrip(t *testing.T) {
	now := time.Now()
	slow, fast := clock{offset: 1, rtt: 5, taken: now}, clock{offset: 2, rtt: 3, taken: now}
	for name, got := range map[string]clock{
		"the second": better(slow, fast), "the first": better(fast, slow), "none yet": better(clock{}, fast), "no other": better(fast, clock{}),
	} {
		must.True(t, got == fast, "%s: %+v", name, got)
	}
}

func TestADriftIsToldOnlyWhenItIsCertain(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		name          string
		before, after clock
		want          time.Duration
	}{
		{"never compared", clock{}, clock{}, 0},
		{"the same", clock{offset: 5, rtt: 2, taken: now}, clock{offset: 5, rtt: 2, taken: now}, 0},
		{"within the bounds", clock{offset: 5, rtt: 4, taken: now}, clock{offset: 9, rtt: 4, taken: now}, 0},
		{"beyond the bounds", clock{offset: 5, rtt: 4, taken: now}, clock{offset: 10, rtt: 4, taken: now}, 5},
		{"backwards", clock{offset: 5, rtt: 4, taken: now}, clock{offset: 0, rtt: 4, taken: now}, -5},
	} {
		c := clocks{agreed: tc.before}
		must.Match(t, tc.want, c.moved(tc.after), "%s", tc.name)
	}
}

func TestTheOffersAddUpToThePlan(t *testing.T) {
	w := &world{t: t, hosts: map[string]*testHost{}}
	for hosts := 1; hosts <= 5; hosts++ {
		for processes := 1; processes <= 4; processes++ {
			o := w.order(nil)
			o.Processes, o.Plan.Producers = processes, 23
			o.Plan.Load.Records, o.Plan.Load.Duration = 100_003, 0
			for h := hosts; h > 0; h-- {
				o.Load = append(o.Load, Peer{Info: Info{Name: fmt.Sprintf("h%d", h)}})
			}
			o.Watch = []Peer{{Info: Info{Name: "broker"}}}
			remotes := must.Have(o.remotes(nil))(t)
			producers, records, makers := 0, int64(0), 0
			var names []string
			for _, l := range remotes {
				names = append(names, l.offer.Part.Host)
				must.Err(t, "", (&Limits{}).allow(&l.offer), "%d × %d: %s would refuse", hosts, processes, l.peer.Name)
				for i, j := range l.offer.jobs() {
					producers += j.Plan.Producers
					for p := range j.Plan.Producers {
						pacer := j.Plan.Pacer(p)
						for _, ok := pacer.Next(); ok; _, ok = pacer.Next() {
							records++
						}
					}
					if j.CreateTopic {
						makers++
					}
					must.True(t, j.Part.Process == i+1 && j.Part.Host == l.peer.Name && len(j.Part.Roster) == hosts+1,
						"%d × %d: part %+v", hosts, processes, j.Part)
				}
			}
			must.True(t, producers == 23 && records == 100_003 && makers == 1,
				"%d × %d: %d producers, %d records, %d make the topic", hosts, processes, producers, records, makers)
			must.True(t, slices.IsSorted(names[:hosts]) && names[hosts] == "broker", "the hosts are %q", names)
		}
	}
}

// presenting is a body in whose first line host b is called a.
type presenting struct {
	io.ReadCloser
	lines *bufio.Reader
	first []byte
	begun bool
}

func (p *presenting) Read(b []byte) (int, error) {
	if !p.begun {
		_, _ = p.lines.Peek(1) // then it has all that came
		head, _ := p.lines.Peek(p.lines.Buffered())
		_, size, _ := codec.CutMember(head) // 0: a list
		lie := func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(`"host":"b"`), []byte(`"host":"a"`)) }
		if size > 0 {
			p.first = codec.NewPacker(false).Append(nil, lie(canned.Text(head[:size])), 0)
			_, _ = p.lines.Discard(size)
		} else {
			line, err := p.lines.ReadBytes('\n')
			if err != nil && len(line) == 0 {
				return 0, err
			}
			p.first = lie(line)
		}
		p.begun = true
	}
	if len(p.first) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	return p.lines.Read(b)
}

func TestAFileOfAnAgentThatPresentsAnothersNameIsNotMerged(t *testing.T) {
	t.Run("the list says so too", func(t *testing.T) { presentAnother(t, "/files") })
	t.Run("only the file says so", func(t *testing.T) { presentAnother(t, "/no such path") })
}

// presentAnother makes a run on hosts a and b, of which b presents files of a. Its lists of that path do the same.
func presentAnother(t *testing.T, list string) {
	bubble(t, []string{"a", "b"}, func(t *testing.T, w *world) {
		c := w.client()
		c.conn.Transport = trip(func(r *http.Request) (*http.Response, error) {
			lies := r.URL.Host == "b" && (strings.HasPrefix(r.URL.Path, "/v1/files/") || strings.HasSuffix(r.URL.Path, list))
			answer, err := w.RoundTrip(r)
			if err == nil && lies {
				answer.Body = &presenting{ReadCloser: answer.Body, lines: bufio.NewReader(answer.Body)}
			}
			return answer, err
		})
		h := Hosts{Client: c, Load: w.peers("a", "b"), Processes: 1, Dir: t.TempDir()}
		var said []string
		res, _ := h.Run(t.Context(), one(run.Request{ // its error is that of b
			Plan: w.order(nil).Plan, System: anySystem{}, Notify: func(n run.Notice) { said = append(said, n.Text) },
		}))
		for _, f := range res.RunFiles {
			must.Match(t, "a", f.Host, "the host of process %d, which is merged", f.Process)
		}
		must.True(t, len(res.RunFiles) == 2, "%d files are merged: %+v", len(res.RunFiles), res.RunFiles) // of the process of a and of its vitals
		for _, row := range res.Processes {
			must.True(t, row.Counted == (row.Host == "a") && (!row.Counted || row.Records == res.Records),
				"the row of %s is %+v, of %+v in all", row.Host, row, res.Records)
		}
		if !slices.ContainsFunc(said, func(text string) bool { return strings.HasPrefix(text, "b: ") }) {
			t.Errorf("nothing is said of b: %q", said)
		}
	})
}

func TestAHostCannotNameTheFileOfAnother(t *testing.T) {
	to := must.Have(newCopies(t.TempDir(), nil))(t)
	defer to.close(false)
	of := func(host string) fileEntry { return fileEntry{RunID: "R", Run: "n", Host: host, Process: 1, Bytes: 1} }
	a, _ := to.copyOf(of("a"), nil)
	a.name, a.size = "a-p1-R.ktr", 1 // it is complete
	_, err := newWorld(t).client().file(t.Context(), "b", of("b"), "n", maxRunFile, to)
	must.True(t, errors.Is(err, errForeign), "the file of a is taken for one of b: %v", err)
}
