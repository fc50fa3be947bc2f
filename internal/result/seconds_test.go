package result

import (
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// gated returns a run of 3 s at 1,000 records a second with a warm-up of one, with gates that only a fault breaks.
func gated() Header {
	h := header(1000)
	h.Plan.Load.Warmup.Duration = plan.Duration(time.Second)
	h.Plan.Load.Duration = plan.Duration(3 * time.Second)
	h.Limits = []string{"p99<30s over 1s", "rate>=1 over 1s", "errors==0"}
	return h
}

// watched adds windows to a fold, second by second, and returns the first condition of "rate<1" that came true.
func watched(f *Fold, seconds ...[]stats.Window) string {
	f.AbortOn([]string{"rate<1", "rate<1 over 1s"})
	for _, windows := range seconds {
		for _, w := range windows {
			f.AddWindow(w)
		}
	}
	f.Finish(Trailer{Ended: Completed})
	return f.Broken()
}

// empty is a measured window in which the load went on and no measured record was sent.
func empty(from, to time.Duration, took time.Duration) stats.Window {
	return stats.Window{Start: from, End: to, ShardTime: took, Counters: stats.Counters{}}
}

func TestNoSecondIsJudgedThatTheLoadDidNotFill(t *testing.T) {
	s := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	warm := func(w *stats.Window) { w.Warmup = true }
	first := even(0, millis(3), warm)
	idleWarm := even(0, millis(3), func(w *stats.Window) { w.Warmup, w.ShardTime = true, 0 })
	second, third := even(1, millis(3), nil), even(2, millis(3), nil)
	last := even(2, millis(3), func(w *stats.Window) { w.ShardTime = 0 }) // the sender was done at the cut
	late := even(1, millis(3), func(w *stats.Window) { w.Start, w.FirstDue = 0, s(1) })
	lateWarm := even(0, millis(3), func(w *stats.Window) { w.Warmup, w.End = true, s(2) })
	acks := stats.Window{Start: s(1), End: s(2), Warmup: true, Acknowledged: 3}
	both := even(1, millis(3), func(w *stats.Window) { w.End, w.LastDue, w.LastSent = s(3), s(2.999), s(2.999) })
	for name, seconds := range map[string][][]stats.Window{
		"in order": {{first}, {second}, {third}},
		"an empty measured window beside the warm-up":       {{first, empty(0, s(1), 0)}, {second}, {third}},
		"the same, which has the time of the warm-up":       {{idleWarm, empty(0, s(1), s(1))}, {second}, {third}},
		"outcomes of the warm-up later":                     {{first}, {acks, second}, {third}},
		"outcomes of the warm-up after the measured window": {{first}, {second, acks}, {third}},
		"a late cut after the warm-up":                      {{lateWarm, late}, {third}},
		"a late cut over the whole measured part":           {{first}, {both}},
		"a drain":                          {{first}, {second}, {last}, {empty(s(3), s(4), 0)}, {empty(s(4), s(4.2), 0)}},
		"a drain while a late sender runs": {{first}, {second}, {third}, {empty(s(3), s(4), s(1))}, {empty(s(4), s(4.2), s(0.2))}},
		"a cut after the end that is late by a second":        {{first}, {second}, {empty(s(2), s(4), s(2))}},
		"the rest of a second in which the last records went": {{first}, {second}, {third}, {{Start: s(3), End: s(3.15), Offered: 20, LastDue: s(2.999), LastSent: s(3.1)}}},
	} {
		f := NewFold(gated())
		must.Match(t, "", watched(f, seconds...), "%s: a run without a fault is ended", name)
		r := f.Result()
		for _, l := range r.Limits {
			if !l.Held {
				t.Errorf("%s: %+v", name, l)
			}
		}
		for _, p := range r.Series {
			if !p.Warmup && p.StartSeconds < 1 && p.Seconds >= ShortRow {
				t.Errorf("%s: the series has a measured second at %g: %+v", name, p.StartSeconds, p)
			}
		}
	}
	silent := even(1, 0, func(w *stats.Window) { w.Acknowledged, w.Response, w.Oldest = 0, stats.Histogram{}, s(0.999) })
	for name, seconds := range map[string][][]stats.Window{
		"a broker that is silent for a second":               {{first}, {silent}, {third}},
		"the same, beside outcomes of the warm-up":           {{first}, {acks, silent}, {third}},
		"a sender that a full buffer holds from the warm-up": {{first}, {empty(s(1), s(2), s(1))}, {third}},
	} {
		f := NewFold(gated())
		if text := watched(f, seconds...); text == "" {
			t.Errorf("%s: the run goes on", name)
		}
		if l := f.Result().Limits; l[1].Held {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

// sparse returns a second at 0.5 records a second, with one record or with none.
func sparse(second int, change func(w *stats.Window)) stats.Window {
	at := time.Duration(second) * time.Second
	w := stats.Window{Start: at, End: at + time.Second, ShardTime: time.Second}
	if second%2 == 0 {
		w.Offered, w.Acknowledged, w.FirstDue, w.LastDue, w.LastSent, w.LastAck = 1, 1, at, at, at, at+millis(3)
		w.Response.RecordN(millis(3), 1)
	}
	if change != nil {
		change(&w)
	}
	return w
}

func TestAStretchInWhichNothingWasDueIsNotJudged(t *testing.T) {
	unanswered := func(age time.Duration) func(w *stats.Window) {
		return func(w *stats.Window) { w.Acknowledged, w.Response, w.Oldest = 0, stats.Histogram{}, age }
	}
	cut := func(w *stats.Window) { // the next record was sent before a late cut
		w.Offered, w.FirstDue, w.LastDue, w.LastSent = 1, w.End, w.End, w.End
	}
	for name, tc := range map[string]struct {
		change          map[int]func(w *stats.Window)
		of, held, empty int64
		note            string
	}{
		"a record every other second":             {nil, 5, 5, 5, ""},
		"the next record was due at the cut":      {map[int]func(w *stats.Window){3: cut}, 5, 5, 5, ""},
		"a record that comes in the next second":  {map[int]func(w *stats.Window){3: unanswered(millis(20))}, 5, 5, 5, ""},
		"a record that does not come in a second": {map[int]func(w *stats.Window){4: unanswered(time.Second)}, 5, 4, 5, "records were due in 1 of 5 stretches, and none came back"},
		"nor in the next": {
			map[int]func(w *stats.Window){4: unanswered(time.Second), 5: unanswered(2 * time.Second)},
			6, 4, 4,
			"records were due in 2 of 6 stretches, and none came back",
		},
	} {
		var run []stats.Window
		for i := range 10 {
			run = append(run, sparse(i, tc.change[i]))
		}
		l := limited([]string{"p99<5s over 1s"}, run...)[0]
		if l.Stretches != tc.of || l.StretchesHeld != tc.held || l.StretchesEmpty != tc.empty || l.Held != (tc.of == tc.held) || l.Note != tc.note {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if l := limited([]string{"p99<5s over 1s"}, sparse(1, nil), sparse(3, nil))[0]; l.Held || !strings.HasPrefix(l.Note, "there was nothing") {
		t.Errorf("nothing was due at all: %+v", l)
	}
}

func TestReadersThatHaveNothingToReadHaveNoRateBeforeTheFirstRecord(t *testing.T) {
	h := readHeader(plan.Consume, 0)
	h.Limits = []string{"rate>=1 over 1s"}
	second := func(n int, read int64) []stats.Window {
		at := time.Duration(n) * time.Second
		return []stats.Window{{Start: at, End: at + time.Second, Read: stats.Read{
			ReadTime: time.Duration(h.Plan.Read.Clients()) * time.Second, Consumed: read, FirstRead: at + millis(1), LastRead: at + millis(900),
		}}}
	}
	f := NewFold(h)
	must.Match(t, "", watched(f, second(0, 0), second(1, 0), second(2, 10), second(3, 10)), "joining ends the run")
	if l := f.Result().Limits[0]; !l.Held || l.Stretches != 2 {
		t.Errorf("%+v", l)
	}
	if text := watched(NewFold(h), second(0, 10), second(1, 10), second(2, 0)); text == "" {
		t.Error("a second without a record after the first does not end the run")
	}
}
