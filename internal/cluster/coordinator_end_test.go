package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

// endingTest is a test of a run on three hosts and a broker's host that ends too soon.
type endingTest struct {
	name   string
	after  time.Duration // the run was ordered
	change func(w *world)
	files  int // run files of the load, of six processes
	lost   string
	want   error
	most   time.Duration // that it takes to end
}

// slowFetch makes listing the files of host b hang, if the change of a test says so.
func slowFetch(w *world, hangs bool) http.RoundTripper {
	return trip(func(r *http.Request) (*http.Response, error) {
		if hangs && r.URL.Host == "b" && strings.HasSuffix(r.URL.Path, "/files") {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return w.RoundTrip(r)
	})
}

// end starts a load of a minute, ends it by the given means, and checks the remains.
func (e *endingTest) end(t *testing.T, w *world, by func(ctx context.Context, r *runOptions) (context.Context, func())) (outcome, error) {
	t.Helper()
	if e.change != nil {
		e.change(w)
	}
	r := runOptions{Dir: t.TempDir()}
	ctx, end := by(t.Context(), &r)
	began := time.Now()
	time.AfterFunc(e.after, end)
	c := w.client()
	c.conn.Transport = slowFetch(w, e.after > time.Minute)
	out, err := c.run(ctx, longer(w.order([]string{"a", "b", "c"}, "broker"), time.Minute), r)
	took := time.Since(began) - e.after
	must.True(t, took <= e.most, "it took %v, want at most %v", took, e.most)
	must.True(t, errors.Is(err, e.want), "the error is %v, want %v", err, e.want)
	<-time.After(2 * abortGrace) // of a process that has to be killed
	for name, h := range w.hosts {
		busy := h.agent.busy()
		must.True(t, busy == "" || h.isCut(), "%s is busy with %s", name, busy)
	}
	return out, err
}

func hang(w *world) {
	for _, h := range w.hosts {
		h.behave = func(int) behaviour { return behaviour{readyIn: time.Minute} }
	}
}

func TestAnAbortEndsARunAtEveryStage(t *testing.T) {
	cutAt := func(d time.Duration) func(w *world) {
		return func(w *world) { time.AfterFunc(d, func() { w.hosts["b"].setCut(true) }) }
	}
	for _, tc := range []endingTest{
		{"while an agent does not answer", time.Second, cutAt(0), 0, "", errStopped, leaveTimeout},
		{"while clients are opened", 5 * time.Second, hang, 0, "", errStopped, leaveTimeout},
		{"while all wait for the start", time.Second, nil, 0, "", errStopped, leaveTimeout},
		{"in the last moment before the start", 1800 * time.Millisecond, nil, 6, "", nil, leaveGrace + leaveTimeout},
		{"while the load is made", 20 * time.Second, nil, 6, "", nil, leaveGrace + leaveTimeout},
		{"while one host is cut off", 20 * time.Second, cutAt(15 * time.Second), 6, "b: it was not heard for", nil, leaveGrace + leaveTimeout},
		{"while files are fetched", 70 * time.Second, nil, 6, "b: not all of its run files came within 8s", nil, leaveGrace + leaveTimeout},
	} {
		bubbleOf(t, tc.name, threeHosts, func(t *testing.T, w *world) {
			out, _ := tc.end(t, w, func(ctx context.Context, r *runOptions) (context.Context, func()) {
				abort := make(chan struct{})
				r.Abort = abort
				return ctx, func() { close(abort) }
			})
			must.Match(t, tc.files, len(loads(out.Files)), "files: %q", out.Files)
			got := strings.Join(out.Lost, "\n")
			must.True(t, tc.lost == "" || strings.Contains(got, tc.lost), "lost %q, want %q", got, tc.lost)
			cut := 0
			for _, f := range loads(out.Files) {
				if partOf(t, f).Ended == result.CutOff {
					cut++
				}
			}
			want := map[bool]int{true: tc.files, false: 0}[tc.after < time.Minute]
			must.True(t, tc.files <= 0 || cut == want, "%d files are cut off, want %d", cut, want)
		})
	}
}

func TestAContextThatEndsStopsTheHosts(t *testing.T) {
	for _, tc := range []endingTest{
		{"while an agent does not answer", time.Second, func(w *world) { w.hosts["b"].setCut(true) }, 0, "context canceled", context.Canceled, 0},
		{"while all wait for the start", time.Second, nil, 0, "context canceled", context.Canceled, leaveTimeout},
		{"while the load is made", 20 * time.Second, nil, 0, "stop; their agents have the results: kt collect --run nightly", errAborted, leaveTimeout},
		{"while one host is cut off", 20 * time.Second, func(w *world) { time.AfterFunc(15*time.Second, func() { w.hosts["b"].setCut(true) }) }, 0, "stop, but for b, where the load may go on; their", errAborted, leaveTimeout},
		{"while files are fetched", 70 * time.Second, nil, 0, "kt collect --run nightly", errAborted, leaveTimeout},
	} {
		bubbleOf(t, tc.name, threeHosts, func(t *testing.T, w *world) {
			_, err := tc.end(t, w, func(ctx context.Context, _ *runOptions) (context.Context, func()) { return context.WithCancel(ctx) })
			must.Err(t, tc.lost, err, "the error")
		})
	}
}

func TestUndoingIsToldAndAnAbortEndsTheWaiting(t *testing.T) {
	bubble(t, threeHosts, func(t *testing.T, w *world) {
		hang(w)
		stop, abort := closed(5*time.Second), closed(8*time.Second)
		began := time.Now()
		_, _, err := w.run(w.order([]string{"a", "b", "c"}), func(r *runOptions) { r.Stop, r.Abort = stop, abort })
		took := time.Since(began)
		must.True(t, errors.Is(err, errStopped) && took <= 8*time.Second+leaveTimeout, "the error is %v after %v", err, took)
		w.said(t, 1, "undoing the preparation on the hosts")
		<-time.After(2 * abortGrace)
		w.idle(t, 0)
	})
}

func TestAnAbortWhileTheAgentsEndTheRunKeepsWhatCame(t *testing.T) {
	for name, end := range map[string]func(r *runOptions, ctx context.Context) (context.Context, func()){
		"an abort": func(r *runOptions, ctx context.Context) (context.Context, func()) {
			abort := make(chan struct{})
			r.Abort = abort
			return ctx, func() { close(abort) }
		},
		"a context": func(_ *runOptions, ctx context.Context) (context.Context, func()) { return context.WithCancel(ctx) },
	} {
		bubble(t, []string{"a", "b"}, func(t *testing.T, w *world) {
			for _, h := range w.hosts {
				h.behave = func(int) behaviour { return behaviour{exitLate: 20 * time.Second} }
			}
			r := runOptions{Dir: t.TempDir()}
			ctx, leave := end(&r, t.Context())
			began := time.Now()
			time.AfterFunc(15*time.Second, leave)
			out, err := w.client().run(ctx, w.order([]string{"a", "b"}), r)
			took := time.Since(began)
			must.True(t, err == nil && took <= 15*time.Second+leaveTimeout, "%s: the error is %v after %v", name, err, took)
			out.left(t, 4)
		})
	}
}

// said checks in how many lines of the log a text is.
func (w *world) said(t *testing.T, want int, text string) {
	t.Helper()
	if n := w.logged(text); n != want {
		w.mu.Lock()
		defer w.mu.Unlock()
		t.Errorf("%q is said %d times, want %d: %q", text, n, want, w.logs)
	}
}

// logged returns the number of lines of the log with a text.
func (w *world) logged(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, l := range w.logs {
		if strings.Contains(l, text) {
			n++
		}
	}
	return n
}

func TestACopyThatCannotBeCompletedIsKeptAsFarAsItCame(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.add("a", "client", unwatched)
		w.add("b", "client", unwatched)
		c := w.client()
		c.conn.Transport = trip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "b" || !strings.HasPrefix(r.URL.Path, "/v1/files/") {
				return w.RoundTrip(r)
			}
			answer, err := w.RoundTrip(r)
			if err == nil {
				offset, _ := strconv.Atoi(r.FormValue("offset"))
				answer.Body = &flaky{answer.Body, 2<<10 - offset} // the file has more
			}
			return answer, err
		})
		o := w.order([]string{"a", "b"})
		o.Processes = 1
		out, err := c.run(t.Context(), o, runOptions{Dir: t.TempDir()})
		must.True(t, err == nil && len(out.Files) == 2 && strings.HasPrefix(filepath.Base(out.Files[1]), "b-p1-"),
			"files %q, %v; want that of a, and the copy of b's", out.Files, err)
		must.True(t, len(out.Lost) == 1 && strings.Contains(out.Lost[0], "b, process 1: "+errBroken.Error()), "lost: %q", out.Lost)
	})
}

func TestNoSecondWaitsForAProcessThatHasDied(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.add("a", "client").behave = onlyIn(2, behaviour{diesAt: 3 * time.Second})
		var start time.Time
		late := make(map[time.Duration]time.Duration) // by the end of the second
		observe := func(_ int, s run.Second) {
			if s.StartsIn > 0 {
				start = time.Now().Add(s.StartsIn)
			}
			if n := len(s.Windows); n > 0 {
				end := s.Windows[n-1].End
				late[end] = time.Since(start) - end
			}
		}
		must.Have(w.client().run(t.Context(), longer(w.order([]string{"a"}), 12*time.Second), runOptions{Dir: t.TempDir(), Observe: observe}))(t)
		for end := 6 * time.Second; end < 12*time.Second; end += time.Second {
			d, ok := late[end]
			must.True(t, ok && d < 1500*time.Millisecond, "second %v was shown %v late (%v): it waited", end, d, ok)
		}
	})
}

// FuzzOrder reads what an agent may say to a process. Whatever comes, it is an order of
// bounded length or an error, and what follows the line is left for the next order.
func FuzzOrder(f *testing.F) {
	f.Add([]byte(`{"job":{"part":{"run":"r","host":"h","process":1},"plan":{"command":"produce"},"command_line":[],"run_file":"x"}}` + "\n{}\n"))
	f.Add([]byte(`{"start":{"at":"2026-01-31T15:04:05Z","agreed":{"at":"2026-01-31T15:04:05Z"}}}` + "\n"))
	f.Add([]byte("{\"stop\":true}\n"))
	f.Add([]byte("no order\n"))
	f.Add(bytes.Repeat([]byte("x"), 100_000))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bufio.NewReader(bytes.NewReader(data))
		if _, err := readOrder(in); err != nil {
			return
		}
		rest := must.Have(io.ReadAll(in))(t)
		_, want, _ := bytes.Cut(data, []byte("\n"))
		must.True(t, bytes.Equal(rest, want), "%q is left of %q", rest, data)
	})
}

func TestAnOrderThatIsTooLongIsAnError(t *testing.T) {
	in := bufio.NewReader(strings.NewReader(strings.Repeat(" ", longestOrder+100_000) + "{}\n"))
	m, err := readOrder(in)
	must.True(t, err != nil, "%+v", m)
}

// hearing calls a function as soon as a process says anything.
type hearing func()

func (h hearing) Write(b []byte) (int, error) {
	h()
	return len(b), nil
}

func TestAProcessHasBegunWhenItsAgentHearsOfIt(t *testing.T) {
	begun := false
	p := &Part{Begin: func() { begun = true }, out: json.NewEncoder(hearing(func() {
		must.True(t, begun, "an order to stop would end a load that has not begun")
	}))}
	p.began(time.Now())
}

func TestAProcessWhoseAgentIsGoneEndsWhenItsTimeIsUp(t *testing.T) {
	const most, due = time.Minute, 10 * time.Second
	const start = `{"start":{"at":"2000-01-01T00:00:10Z","agreed":{"at":"2000-01-01T00:00:10Z"}}}` + "\n" // 10 s from now
	for name, tc := range map[string]struct {
		said   string
		most   time.Duration
		drains bool // a second after it was asked to end
		stops  []time.Duration
	}{
		"it hangs":                         {start, most, false, []time.Duration{due + most, due + most + aloneGrace}},
		"it drains":                        {start, most, true, []time.Duration{due + most}},
		"it hangs after a stop":            {start + `{"stop":true}` + "\n", most, false, []time.Duration{0, due + most, due + most + aloneGrace}},
		"nobody knows how long it lasts":   {start, 0, false, nil},
		"it has not begun":                 {"", most, false, nil},
		"it is to leave before it drained": {`{"abort":true}` + "\n", most, false, []time.Duration{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, abort := context.WithCancel(t.Context())
				defer abort()
				var stops []time.Duration
				p := &Part{in: bufio.NewReader(strings.NewReader(tc.said)), start: make(chan StartOrder, 1), gone: make(chan struct{})}
				p.Job.Most = tc.most
				p.Stop = func() {
					if stops = append(stops, time.Since(began)); tc.drains {
						time.AfterFunc(time.Second, abort)
					}
				}
				p.Listen(ctx)
				must.Match(t, tc.stops, stops, "it was asked to end after")
			})
		})
	}
}
