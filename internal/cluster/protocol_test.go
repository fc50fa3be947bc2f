package cluster

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// raw sends text to an agent and returns its answer, or "" if it closes the stream.
func raw(t *testing.T, w *world, messages ...string) string {
	t.Helper()
	s, err := w.dial(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	messages = append([]string{`{"hello":{"protocol":1,"name":"","role":"","version":"x"}}`}, messages...)
	answer := ""
	for _, m := range messages {
		if err := s.Send(t.Context(), frameJSON, []byte(m)); err != nil {
			return ""
		}
		_, b, err := s.Receive(t.Context())
		if err != nil {
			return ""
		}
		answer = string(b)
	}
	return answer
}

func TestAnAgentRefusesWhatItDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.add("a", "client")
		good, _ := json.Marshal(toAgent{Offer: offered(t)})
		for _, tc := range []struct{ name, message, want string }{
			{"text", "hello", `{"refused":{"text":"it is no message of this kt`},
			{"nothing", "{}", "0 of its fields are set"},
			{"an unknown field", strings.Replace(string(good), `"plan":{`, `"plan":{"exec":"x",`, 1), `unknown field \"exec\"; its kt is test`},
			{"an offer for somebody else", string(good), "the offer is for b"},
			{"a stale start", `{"start":{"epoch":"old","order":{"at":"2026-01-01T00:00:00Z","agreed":{"at":"2026-01-01T00:00:00Z"}}}}`, "the run is not known on this stream"},
			{"a stale stop", `{"order":{"epoch":"old","do":"stop"}}`, "the run is not known on this stream"},
			{"a stale opening", `{"open":{"epoch":"old"}}`, "the run is not known on this stream"},
			{"a run to come back to that is not there", `{"resume":{"epoch":"old"}}`, "the run is not known here"},
			{"an order that is none", `{"order":{"epoch":"old","do":"exec"}}`, `order \"exec\" is none`},
			{"a run file that is a path", `{"read":{"run_id":"../../etc/passwd","bytes":10,"offset":0}}`, "a name has 1 to 64 letters"},
			{"a run file that is not there", `{"read":{"run_id":"X","bytes":10,"offset":0}}`, `{"problem":"there is no run file X on this host"}`},
			{"bytes before a run file", `{"read":{"run_id":"X","bytes":10,"offset":-1}}`, "byte -1 of 10 is none"},
			{"settings of a host that may not be changed", `{"tune":{"do":"set","study":"s","set":[{"name":"sysctl.vm.swappiness","value":"1"}]}}`, `{"problem":"the agent may not change`},
			{"an order to a host that is none", `{"tune":{"do":"exec","study":"s"}}`, `order \"exec\" is none`},
			{"a study that is a path", `{"tune":{"do":"check","study":"../s"}}`, "a name has 1 to 64 letters"},
			{"a setting of two lines", `{"tune":{"do":"check","study":"s","set":[{"name":"a","value":"1\n2"}]}}`, "is none"},
			{"a setting that is too long", `{"tune":{"do":"check","study":"s","own":[{"name":"` + strings.Repeat("a", maxText+1) + `","value":"1"}]}}`, "is none"},
			{"too many settings", `{"tune":{"do":"check","study":"s","set":[` + strings.Repeat(`{"name":"a","value":"1"},`, maxSettings) + `{"name":"a","value":"1"}]}}`, "more than 100 settings"},
			{"a second hello", `{"hello":{"protocol":1,"name":"","role":"","version":"x"}}`, ""},
		} {
			if got := raw(t, w, tc.message); !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("%s: it answers %q, want %q", tc.name, got, tc.want)
			}
		}
		if a.count() > 0 || a.agent.busy() != "" {
			t.Error("something was started")
		}
		w.end()
	})
}

func TestAStreamThatSaysNothingIsHungUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add("a", "client")
		for _, said := range []int{0, 1} {
			s, err := w.dial(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			for range said {
				_ = send(t.Context(), s, toAgent{Hello: &hello{Protocol: Protocol}})
				_, _, _ = s.Receive(t.Context())
			}
			if _, _, err := s.Receive(t.Context()); err == nil || time.Since(began) > idleTimeout {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		}
		w.end()
	})
}

func TestTextOfPeersCannotSteerATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain – text":              "plain – text",
		"two\nlines\r\n":            "two lines",
		"\x1b[31mred\x1b[0m":        "[31mred[0m",
		"bell\a, null\x00, del\x7f": "bell, null, del",
		"\u202egnirts":              "gnirts",
		"c1 \u009b2J":               "c1 2J",
		"zero\u200bwidth":           "zerowidth",
		"bad \xff utf-8":            "bad  utf-8",
		"   ":                       "",
		"":                          "",
	} {
		if got := clean(in, 100); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := clean(strings.Repeat("ä", 100), 20); len(got) > 20 || !strings.HasSuffix(got, "…") || strings.ContainsRune(got, unicode.ReplacementChar) {
		t.Errorf("a text that is too long is cut to %q", got)
	}
}

func TestOnlyNamesThatAreNoPathsAreNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"vm14": true, "a.b-c_D9": true, "-x": false, "_x": false, strings.Repeat("a", 64): true,
		"": false, ".": false, "..": false, ".hidden": false, "a/b": false, `a\b`: false, "a b": false, "ä": false, "a\n": false,
		"a\x00": false, strings.Repeat("a", 65): false,
	} {
		if err := checkName(name); (err == nil) != ok {
			t.Errorf("checkName(%q) = %v", name, err)
		}
	}
}

func TestAnAgentHasANameARoleAndFewTags(t *testing.T) {
	for name, tc := range map[string]struct {
		info Info
		want string
	}{
		"as it should be": {Info{Name: "vm14", Role: "broker", Tags: []string{"clients", "rack-1"}}, ""},
		"no name":         {Info{Role: "client"}, "--name"},
		"no role":         {Info{Name: "a"}, "--role"},
		"another role":    {Info{Name: "a", Role: "king"}, "--role"},
		"a long tag":      {Info{Name: "a", Role: "client", Tags: []string{strings.Repeat("x", 65)}}, "--tags"},
		"many tags":       {Info{Name: "a", Role: "client", Tags: make([]string, 33)}, "--tags"},
	} {
		err := tc.info.check()
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// seeds returns messages of every kind.
func seeds(t testing.TB) (to, from []any) {
	epoch := inRun{"E1"}
	now := time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC)
	w := stats.Window{End: time.Second, Offered: 2, Acknowledged: 1, Errors: map[string]int64{"X\x1b": 1}, Brokers: map[int32]stats.Broker{1: {}}}
	w.Response.Record(time.Millisecond)
	second := Second{Windows: []stats.Window{w}, Sample: host.Sample{At: time.Second}}
	header := result.Header{Schema: result.Schema, RunID: "R", Part: &result.Part{Run: "n", Epoch: "E1", Host: "a", Process: 1}}
	var o *offer
	if tt, ok := t.(*testing.T); ok {
		o = offered(tt)
	} else {
		o = &offer{Part: result.Part{Run: "n", Epoch: "E1", Host: "a"}, Shares: []jobShare{{Producers: 1}}}
	}
	text := "why\x1b[2J"
	to = []any{
		toAgent{Hello: &hello{Protocol: 1}},
		toAgent{Ping: &ping{3}},
		toAgent{Look: &nothing{}},
		toAgent{Offer: o},
		toAgent{Open: &open{Epoch: "E1", Processes: []int{1}}},
		toAgent{Order: &order{Epoch: "E1", Do: doStop}},
		toAgent{Resume: &epoch},
		toAgent{Start: &startRun{"E1", StartOrder{At: now, Agreed: result.Agreed{At: now, Bound: 1}}}},
		toAgent{Files: &filesAsked{"n"}},
		toAgent{Read: &chunkAsked{"R", 10, 5}},
		toAgent{Tune: &TuneOrder{TuneSet, "s", []HostSetting{{"sysctl.vm.swappiness", "1"}}, []HostSetting{{"sysctl.vm.swappiness", "1"}}}},
	}
	from = []any{
		fromAgent{Welcome: &hello{Protocol: 1, Info: Info{Name: "a"}}},
		fromAgent{Pong: &pong{3, now, now}},
		fromAgent{Looked: &looked{CPU: 1, Cores: 2, Members: []member{{"a", "client", []string{"rack-1"}, "1:1", "alive"}}}},
		fromAgent{Accepted: &epoch},
		fromAgent{Refused: &refused{"E1", text, false}},
		fromAgent{Refused: &refused{"E1", text, true}},
		fromAgent{Starting: &epoch},
		fromAgent{Ended: &epoch},
		fromAgent{Part: &partStatus{Epoch: "E1", Process: 1, State: partReady, Header: &header}},
		fromAgent{Part: &partStatus{Epoch: "E1", Process: 1, State: partDone, Ended: &Ended{Text: text}, Start: &result.Start{At: now, Agreed: &result.Agreed{At: now}}}},
		fromAgent{Second: &partSecond{"E1", 1, second}},
		fromAgent{Vitals: &hostVitals{"E1", host.Vitals{Disks: []host.DiskVitals{{Name: text}}}, 1}},
		fromAgent{Written: &written{"E1", text}},
		fromAgent{Tuned: new(nothing)},
		fromAgent{Problem: &text},
		fromAgent{Files: &filesFound{Files: []fileEntry{{"R", "n", "E1", "a", 1, 10, strings.Repeat("ab", 32), true}}, Runs: []string{"n"}}},
	}
	return to, from
}

func TestEveryMessageReadsAsItWasWritten(t *testing.T) {
	to, from := seeds(t)
	for _, m := range to {
		b, _ := json.Marshal(m)
		got, err := decodeToAgent(b)
		if err != nil {
			t.Errorf("%s: %v", b, err)
			continue
		}
		if again, _ := json.Marshal(got); string(again) != string(b) {
			t.Errorf("%s reads as %s", b, again)
		}
	}
	for _, m := range from {
		b, _ := json.Marshal(m)
		got, err := decodeFromAgent(b)
		if err != nil {
			t.Errorf("%s: %v", b, err)
			continue
		}
		again, _ := json.Marshal(got)
		if strings.Contains(string(again), `\u001b`) {
			t.Errorf("%s keeps an escape sequence", again)
		}
		if want := strings.ReplaceAll(string(b), `\u001b`, ""); string(again) != want {
			t.Errorf("%s reads as %s", want, again)
		}
	}
}

// FuzzToAgent decodes messages of a coordinator.
//   - Decoding never panics, and returns either a message or an error.
//   - A decoded message is the same after encoding and decoding it again.
//   - Checking an offer against an agent's limits never panics.
func FuzzToAgent(f *testing.F) {
	to, _ := seeds(f)
	for _, m := range to {
		b, _ := json.Marshal(m)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeToAgent(data)
		if (m == nil) == (err == nil) {
			t.Fatalf("decodeToAgent = %v, %v", m, err)
		}
		if err != nil {
			return
		}
		if m.Offer != nil {
			_ = (&Limits{Rate: 1, BytesPerSecond: 1, Producers: 1, Duration: 1}).allow(m.Offer)
		}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeToAgent(b); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
	})
}

// FuzzFromAgent decodes messages of an agent.
//   - Decoding never panics, and returns either a message or an error.
//   - No text in a decoded message can control a terminal.
func FuzzFromAgent(f *testing.F) {
	_, from := seeds(f)
	for _, m := range from {
		b, _ := json.Marshal(m)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = decodeHello(data)
		m, err := decodeFromAgent(data)
		if (m == nil) == (err == nil) {
			t.Fatalf("decodeFromAgent = %v, %v", m, err)
		}
		if err != nil {
			return
		}
		var texts []string
		switch {
		case m.Refused != nil:
			texts = append(texts, m.Refused.Text)
		case m.Problem != nil:
			texts = append(texts, *m.Problem)
		case m.Part != nil:
			texts = append(texts, m.Part.Text)
		case m.Second != nil:
			for _, w := range m.Second.Second.Windows {
				for code := range w.Errors {
					texts = append(texts, code)
				}
			}
		}
		for _, text := range texts {
			if strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("%q", text)
			}
		}
	})
}

// FuzzFromProcess checks that decoding a line of a process never panics, and returns either a
// message or an error.
func FuzzFromProcess(f *testing.F) {
	began, why := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), "why"
	for _, m := range []FromProcess{
		{Ready: &result.Header{Schema: 1}}, {Began: &began}, {Second: &Second{Windows: []stats.Window{{End: 1}}}}, {Ended: &Ended{}}, {Failed: &why},
	} {
		b, _ := json.Marshal(m)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := decodeFromProcess(line)
		if (m == nil) == (err == nil) {
			t.Fatalf("decodeFromProcess = %v, %v", m, err)
		}
	})
}
