package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/kt-bench/kt/internal/cluster/gossip"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/study"
)

// raw sends a request to an agent and returns its answer.
func raw(t *testing.T, w *world, method, path, body string) (int, string) {
	t.Helper()
	r := must.Have(http.NewRequestWithContext(t.Context(), method, "http://a"+path, strings.NewReader(body)))(t)
	answer := must.Have(w.RoundTrip(r))(t)
	defer answer.Body.Close()
	b := must.Have(io.ReadAll(answer.Body))(t)
	return answer.StatusCode, string(b)
}

func TestAnAgentRefusesWhatItDoesNotKnow(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		a := w.add("a", "client")
		o := offered(t)
		good, _ := json.Marshal(o)
		run := "/v1/runs/" + o.Part.Epoch
		for _, tc := range []struct {
			name, method, path, body string
			code                     int
			want                     string
		}{
			{"text", "PUT", run, "hello", 400, `{"error":"it is no message of this kt`},
			{"nothing", "PUT", run, "", 400, "it is no message of this kt"},
			{"an unknown field", "PUT", run, strings.Replace(string(good), `"plan":{`, `"plan":{"exec":"x",`, 1), 400, `unknown field \"exec\"; its kt is test`},
			{"an offer for somebody else", "PUT", run, string(good), 409, "the offer is for b"},
			{"an offer at the address of another run", "PUT", "/v1/runs/other", string(good), 409, "its address of another"},
			{"a stale start", "POST", "/v1/runs/old", `{"start":{}}`, 404, "the run is not known here"},
			{"a stale stop", "POST", "/v1/runs/old", `{"stop":true}`, 404, "the run is not known here"},
			{"a run that is not there", "GET", "/v1/runs/old", "", 404, "the run is not known here"},
			{"a run that is a path", "GET", "/v1/runs/..%2f..%2fetc", "", 404, "the run is not known here"},
			{"files of a run that are a path", "GET", "/v1/runs/..%2f..%2fetc/files", "", 400, "a name has 1 to 64 letters"},
			{"a run file that is a path", "GET", "/v1/files/..%2f..%2fetc%2fpasswd", "", 404, "there is no run file ../../etc/passwd on this host"},
			{"a run file that is not there", "GET", "/v1/files/X", "", 404, `{"error":"there is no run file X on this host"}`},
			{"bytes before a run file", "GET", "/v1/files/X?offset=-1", "", 400, "offset=-1: it must be 0 or more"},
			{"settings of a host that may not be changed", "POST", "/v1/tune", `{"do":"set","study":"s","set":[{"name":"sysctl.vm.swappiness","value":"1"}]}`, 409, `{"error":"the agent may not change`},
			{"an order to a host that is none", "POST", "/v1/tune", `{"do":"exec","study":"s"}`, 400, `order \"exec\" is none`},
			{"a study that is a path", "POST", "/v1/tune", `{"do":"check","study":"../s"}`, 400, "a name has 1 to 64 letters"},
			{"a setting of two lines", "POST", "/v1/tune", `{"do":"check","study":"s","set":[{"name":"a","value":"1\n2"}]}`, 400, "is none"},
			{"a setting that is too long", "POST", "/v1/tune", `{"do":"check","study":"s","own":[{"name":"` + strings.Repeat("a", maxText+1) + `","value":"1"}]}`, 400, "is none"},
			{"another way", "DELETE", "/v1/runs/old", "", 404, "there is no DELETE /v1/runs/old"},
			{"a path that leaves its folder", "GET", "/v1/files/../..", "", 404, `{"error":"there is no GET /v1/files/../..; see`},
			{"a path with an empty part", "GET", "//v1/", "", 404, `{"error":"there is no GET //v1/; see`},
			{"a folder without its slash", "GET", "/v1", "", 404, `{"error":"there is no GET /v1; see`},
			{"another address", "GET", "/etc/passwd", "", 404, "there is no GET /etc/passwd; see docs/agent-api.md"},
		} {
			code, got := raw(t, w, tc.method, tc.path, tc.body)
			must.True(t, code == tc.code && strings.Contains(got, tc.want), "%s: it answers %d %q, want %d %q", tc.name, code, got, tc.code, tc.want)
		}
		must.True(t, a.count() <= 0 && a.agent.busy() == "", "something was started")
	})
}

func TestOrdersThatDoNotFitARunAreRefused(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		a := w.add("a", "client")
		o := offered(t)
		o.Part.Host = "a"
		body, _ := json.Marshal(o)
		run := "/v1/runs/" + o.Part.Epoch
		for _, tc := range []struct {
			method, path, body string
			code               int
			want               string
		}{
			{"PUT", run, string(body), 200, "{}"},
			{"GET", run + "?after=x", "", 400, "after=x: it must be 0 or more"},
			{"GET", run, "", 200, `"stage":"offered","processes":[{"state":"waiting"},{"state":"waiting"}]`},
			{"POST", run, `{"exec":true}`, 400, "unknown field"},
			{"POST", run, `{"start":{"at":"2026-01-01T00:00:00Z","agreed":{"at":"2026-01-01T00:00:00Z","late_ns":5}}}`, 400, "is none"},
			{"POST", run, `{"start":{"at":"2026-01-01T00:00:00Z","agreed":{"at":"2026-01-01T00:00:00Z"}}}`, 409, errNotPrepared.Error()},
			{"POST", run + "/stop", "{}", 404, "there is no POST"},
			{"POST", run, `{"cancel":true}`, 200, `"stage":"`},
			{"POST", run, `{"cancel":true}`, 200, `"stage":"`},
			{"GET", run, "", 200, `"stage":"over"`},
		} {
			code, got := raw(t, w, tc.method, tc.path, tc.body)
			must.True(t, code == tc.code && strings.Contains(got, tc.want),
				"%s %s: it answers %d %q, want %d %q", tc.method, tc.path, code, got, tc.code, tc.want)
		}
		must.True(t, a.count() <= 0, "something was started")
	})
}

func TestTheStateOfARunIsHeldUntilItChanges(t *testing.T) {
	bubble(t, []string{"b"}, func(t *testing.T, w *world) {
		o := offered(t)
		must.Do(t, w.put(t, o))
		ask := func(after string) (runStatus, time.Duration) {
			began := time.Now()
			var s runStatus
			must.Do(t, w.client().call(t.Context(), http.MethodGet, "b", runPath(o.Part.Epoch)+"?after="+after, nil, &s))
			return s, time.Since(began)
		}
		s, took := ask("0")
		must.True(t, s.Version == 1 && took <= 0, "at first it is version %d after %v", s.Version, took)
		s, took = ask("1")
		must.True(t, s.Version == 1 && took == heldFor, "nothing has changed: version %d after %v", s.Version, took)
		time.AfterFunc(heldFor/2, func() { _ = w.post(t, "b", o.Part.Epoch, order{Cancel: true}) })
		if s, took := ask("1"); s.Version <= 1 || s.Stage != stageOver || took != heldFor/2 {
			t.Errorf("it was cancelled: version %d, %v after %v", s.Version, s.Stage, took)
		}
	})
}

func TestTextOfPeersCannotSteerATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain – text":              "plain – text",
		"two\nlines\r\n":            "two lines",
		"\x1b[31mred\x1b[0m":        "?[31mred?[0m",
		"bell\a, null\x00, del\x7f": "bell?, null?, del?",
		"\u202egnirts":              "?gnirts",
		"c1 \u009b2J":               "c1 ?2J",
		"zero\u200bwidth":           "zero?width",
		"bad \xff utf-8":            "bad \ufffd utf-8",
		"   ":                       "",
		"":                          "",
	} {
		must.Match(t, want, clean(in, 100), "clean(%q)", in)
	}
	if got := clean(strings.Repeat("ä", 100), 20); len(got) > 20 || !strings.HasSuffix(got, "…") || strings.ContainsRune(got, unicode.ReplacementChar) {
		t.Errorf("a text that is too long is cut to %q", got)
	}
}

// bodies returns a body of every kind.
func bodies(o *offer) []checked {
	now := time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC)
	text := "why\x1b[2J"
	return []checked{
		o, &order{Open: 1, Why: text, Drained: true}, &order{Start: &StartOrder{At: now, Agreed: result.Agreed{At: now, Bound: 1}}}, &nothing{},
		&tuneOrder{study.HostOrder{Do: study.SetHost, Study: "s", Set: []study.Flag{{Name: "sysctl.vm.swappiness", Value: "1"}}}},
		&tuneAnswer{[]study.HostFinding{{ID: "vm.swappiness", Group: "memory", About: "why", State: study.Proposed}}},
		&identity{Info{Name: "a", Role: "client", Version: text, Tags: []string{"x"}}}, &clockEcho{now, now},
		&agentState{Use: Use{CPU: 1, Cores: 2}, Members: []gossip.Member{{Info: gossip.Info{Name: "a", Role: "client", Tags: []string{"rack-1"}}, Addr: "1:1", State: "alive", Rival: "1:2"}}},
		&runStatus{Version: 1, Stage: stageRunning, Vitals: "R", Problem: text, Clock: clockEcho{now, now}, Parts: []partStatus{
			{State: partRunning, RunID: "R", Load: Load{true, 1, 2}}, {State: partDone, Ended: &Ended{Text: text}}, {State: partGone, Text: text},
		}},
		&filesFound{Files: []fileEntry{{"R", "n", "E1", "a", 1, 10, true}}},
		&runsFound{[]string{"n"}}, &problem{text, true},
	}
}

func TestEveryBodyReadsAsItWasWritten(t *testing.T) {
	for _, body := range bodies(offered(t)) {
		b := must.Have(json.Marshal(body))(t)
		got := empty(body)
		if err := decodeBody(bytes.NewReader(b), maxOffer, got); err != nil {
			t.Errorf("%s: %v", b, err)
			continue
		}
		again, _ := json.Marshal(got)
		want := strings.ReplaceAll(string(b), `\u001b`, "?")
		must.True(t, string(again) == want, "%s reads as %s", want, again)
	}
}

// empty returns a new body of the same kind.
func empty(body checked) checked {
	switch body.(type) {
	case *offer:
		return new(offer)
	case *order:
		return new(order)
	case *tuneOrder:
		return new(tuneOrder)
	case *tuneAnswer:
		return new(tuneAnswer)
	case *identity:
		return new(identity)
	case *clockEcho:
		return new(clockEcho)
	case *agentState:
		return new(agentState)
	case *runStatus:
		return new(runStatus)
	case *filesFound:
		return new(filesFound)
	case *runsFound:
		return new(runsFound)
	case *problem:
		return new(problem)
	}
	return new(nothing)
}

// The memory for refusing a body depends on its bound and not on that of the decoded JSON.
func TestASmallBodyTakesLittleMemory(t *testing.T) {
	many := func(begins, one string, size int) string { return begins + strings.Repeat(one, size/len(one)) }
	for name, tc := range map[string]struct {
		text string
		most int64
		to   checked
	}{
		"an offer of processes": {many(`{"shares":[`, "{},", 8<<20), maxOffer, new(offer)},
		"an offer of hosts":     {many(`{"part":{"roster":[`, "0,", 8<<20), maxOffer, new(offer)},
		"an order":              {many(`{"start":[`, "1,", 8<<20), maxBody, new(order)},
		"processes":             {many(`{"processes":[`, "{},", 900<<10), maxAnswer, new(runStatus)},
		"files":                 {many(`{"files":[`, "{},", 8<<20), maxAnswer, new(filesFound)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := decodeBody(strings.NewReader(tc.text), tc.most, tc.to)
		must.True(t, errors.Is(err, errProtocol), "%s: %v", name, err)
		runtime.ReadMemStats(&after)
		took := after.TotalAlloc - before.TotalAlloc
		must.True(t, took <= 10<<20, "%s took %d MiB", name, took>>20)
	}
}

// FuzzBody decodes bodies of all kinds.
//   - Decoding never panics, and a decoded body is the same after encoding and decoding it again.
//   - Checking an offer against an agent's limits never panics.
//   - No text of an agent can control a terminal.
func FuzzBody(f *testing.F) {
	o := &offer{Job: Job{Part: result.Part{Run: "n", Epoch: "E1", Host: "a"}}, Shares: []jobShare{{Producers: 1}}}
	for i, body := range bodies(o) {
		b, _ := json.Marshal(body)
		f.Add(i, b)
	}
	f.Fuzz(func(t *testing.T, kind int, data []byte) {
		all := bodies(o)
		got := empty(all[uint(kind)%uint(len(all))])
		if decodeBody(bytes.NewReader(data), maxOffer, got) != nil {
			return
		}
		if o, ok := got.(*offer); ok {
			_ = (&Limits{Rate: 1, BytesPerSecond: 1, Producers: 1, Duration: 1}).allow(o)
		}
		b := must.Have(json.Marshal(got))(t)
		err := decodeBody(bytes.NewReader(b), maxAnswer, empty(got))
		must.Hold(t, err == nil, "%s: %v", b, err)
		var texts []string
		switch v := got.(type) {
		case *problem:
			texts = append(texts, v.Error)
		case *runStatus:
			texts = append(texts, v.Problem)
			for _, p := range v.Parts {
				texts = append(texts, p.Text)
			}
		}
		for _, text := range texts {
			must.True(t, !strings.ContainsFunc(text, unicode.IsControl), "%q", text)
		}
	})
}

// FuzzFromProcess checks that decoding a line of a process never panics, and returns either a
// message or an error.
func FuzzFromProcess(f *testing.F) {
	began, text := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), "why"
	for _, m := range []FromProcess{{Ready: &text}, {Began: &began}, {Load: &Load{Draining: true}}, {Ended: &Ended{}}, {Failed: &text}} {
		b, _ := json.Marshal(m)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := decodeFromProcess(line)
		must.Hold(t, (m == nil) != (err == nil), "decodeFromProcess = %v, %v", m, err)
	})
}

func TestAnAgentCannotMakeAClientAskTooManyOthers(t *testing.T) {
	for n, fits := range map[int]bool{maxMembers: true, maxMembers + 1: false} {
		b := must.Have(json.Marshal(agentState{Members: slices.Repeat([]gossip.Member{{Info: gossip.Info{Name: "a"}}}, n)}))(t)
		err := decodeBody(bytes.NewReader(b), maxAnswer, new(agentState))
		must.True(t, (err == nil) == fits, "an answer with %d agents: %v", n, err)
	}
}
