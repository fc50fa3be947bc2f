package result

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

var completed = Trailer{Ended: Completed, ElapsedSeconds: 12.000000001, SendingSeconds: 11.9, DrainTimedOut: true}

func TestARunThatIsReplayedGivesTheResultOfTheLiveRun(t *testing.T) {
	headers := map[string]Header{"at a rate": header(120), "unlimited": header(0), "embedded": header(0), "with nothing known": {Schema: Schema}}
	h := headers["embedded"]
	h.Embedded, h.Plan.Bootstrap, h.Environment = true, nil, Environment{}
	headers["embedded"] = h
	h = header(0)
	h.Plan.Load.Rate, h.Plan.Load.Arrivals = plan.Rate{PerSecond: 1.5e6, Bytes: true}, plan.Poisson
	h.Plan.Payload.Size, _ = plan.ParseSize("100@80,1KiB-2KiB@20")
	h.Plan.Load.Warmup.Duration = plan.Duration(1500 * time.Millisecond)
	headers["at a rate of bytes"] = h
	headers["roundtrip"], headers["consume"] = readHeader(plan.Roundtrip, 120), readHeader(plan.Consume, 0)
	for name, h := range headers {
		seeds, made := uint64(8), canned
		if h.Plan.Reads() {
			seeds, made = 3, cannedReading
		}
		for seed := range seeds {
			events := made(seed, 12)
			live := NewFold(h)
			for _, e := range events {
				e.to(live)
			}
			live.Finish(completed)
			replayed, err := Replay(iotest.OneByteReader(bytes.NewReader(runFile(t, h, events, completed))))
			if err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
			if diff := cmp.Diff(marshal(t, live.Result()), marshal(t, replayed.Result())); diff != "" {
				t.Fatalf("%s, seed %d: live and replayed differ (-live +replayed):\n%s", name, seed, diff)
			}
		}
	}
	r := func() Result {
		f, err := Replay(bytes.NewReader(runFile(t, header(120), canned(3, 12), completed)))
		if err != nil {
			t.Fatal(err)
		}
		return f.Result()
	}()
	if r.Warmup == nil || len(r.Errors) == 0 || len(r.Brokers) != 3 || len(r.Partitions) != 6 || r.Records.Unknown == 0 || r.Latency.Response.OutOfRange == 0 {
		t.Errorf("the run that is replayed lacks what it is made up for: %s", marshal(t, r.Records))
	}
}

// At every byte of the last lines, for that is where a kill may strike.
func TestARunFileThatWasCutOffGivesTheResultUntilThen(t *testing.T) {
	var events []event
	for i := range 3 {
		start, end := time.Duration(i)*time.Second, time.Duration(i+1)*time.Second
		w := stats.Window{Start: start, End: end, Offered: 9, Acknowledged: 7, Failed: 1, Errors: map[string]int64{"X": 1}, LastAck: end}
		w.Response.RecordN(time.Duration(i+1)*time.Millisecond, 7)
		events = append(events, event{window: &w}, event{sample: &host.Sample{At: end, Interval: time.Second, Cores: 1, ProcessCPU: 0.5}})
	}
	whole := runFile(t, header(120), events, completed)
	// The end of each line, and the result of the file until there.
	var ends []int
	var results []string
	f, at := NewFold(header(120)), 0
	for line := range bytes.Lines(whole) {
		if i := len(ends); i > len(events) {
			f.Finish(completed)
		} else if i > 0 {
			events[i-1].to(f)
		}
		at += len(line)
		ends, results = append(ends, at), append(results, marshal(t, f.Result()))
	}
	if n := len(events) + 2; len(ends) != n {
		t.Fatalf("%d lines, want %d", len(ends), n)
	}
	cutOffs := 0
	for cut := ends[2]; cut <= len(whole); cut++ {
		f, err := Replay(bytes.NewReader(whole[:cut]))
		if err != nil {
			t.Fatalf("cut at byte %d of %d: %v", cut, len(whole), err)
		}
		n := 0 // the last whole line; one without its end of line is whole too
		for n+1 < len(ends) && cut >= ends[n+1]-1 {
			n++
		}
		r := f.Result()
		if r.Ended == CutOff {
			cutOffs++
		}
		if diff := cmp.Diff(results[n], marshal(t, r)); diff != "" {
			t.Fatalf("cut at byte %d, behind line %d (-want +got):\n%s", cut, n+1, diff)
		}
	}
	if want := len(whole) - 1 - ends[2]; cutOffs != want {
		t.Errorf("%d of %d were cut off, want %d: all but those with the whole trailer", cutOffs, len(whole)-ends[2]+1, want)
	}
}

func TestACutOffRunAccountsForItsRecordsAndItsTime(t *testing.T) {
	f := NewFold(header(0))
	f.AddWindow(stats.Window{Start: 0, End: time.Second, Warmup: true, Offered: 10, Acknowledged: 4, Failed: 1})
	f.AddWindow(stats.Window{Start: time.Second, End: 2500 * time.Millisecond, Offered: 100, Acknowledged: 60, Failed: 5, Unsent: 3})
	r := f.Result()
	if diff := cmp.Diff(Records{Offered: 100, Acknowledged: 60, Failed: 5, Unknown: 35, Unsent: 3}, r.Records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Records{Offered: 10, Acknowledged: 4, Failed: 1, Unknown: 5}, r.Warmup.Records); diff != "" {
		t.Errorf("records of the warm-up (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Trailer{Ended: CutOff, ElapsedSeconds: 2.5, SendingSeconds: 2.5}, r.Trailer); diff != "" {
		t.Errorf("trailer (-want +got):\n%s", diff)
	}
}

func TestWhatIsNoRunFileIsRefused(t *testing.T) {
	const head = `{"header":{"schema":1}}` + "\n"
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", "", "it is empty"},
		{"text", "hello\n", "line 1: it is not a line of a run file"},
		{"half a header", `{"header":{"sch`, "line 1: it is not a line of a run file"},
		{"another JSON document", `{"topic": "x"}`, "line 1: it is not the header of a run file"},
		{"no JSON object", "[1]\n", "line 1: it is not a line of a run file"},
		{"a window first", `{"window":{}}` + "\n" + head, "line 1: it is not the header"},
		{"another schema", `{"header":{"schema":2}}`, "line 1: its schema is 2, and this kt reads 1"},
		{"no schema", `{"header":{}}`, "line 1: its schema is 0, and this kt reads 1"},
		{"two run files in one", head + head, "line 2: it is a second header"},
		{"a torn line that is not the last", head + `{"window":{"sta` + "\n" + `{"trailer":{"ended":"completed"}}`, "line 2: it is not a line of a run file"},
		{"an empty line", head + "\n" + head, "line 2: it is not a line of a run file"},
		{"a field of another kind", head + `{"window":{"offered":"many"}}` + "\n{}", "line 2: it is not a line of a run file"},
		{"a histogram of nothing", head + `{"window":{"lag":{"hdr_v2_base64":"AAAA"}}}` + "\n{}", "line 2: it is not a line of a run file"},
		{"a histogram that is none", head + `{"window":{"lag":{"hdr_v2_base64":"%"}}}` + "\n{}", "line 2: it is not a line of a run file: decode histogram"},
		{"one line without end", strings.Repeat("x", maxLine+1), "line 1: it is longer than 67108864 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := Replay(strings.NewReader(tc.text))
			if err == nil {
				t.Fatalf("it was read: %+v", f.Result().Trailer)
			}
			if !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("the error is %q, want %q", err, tc.want)
			}
		})
	}
}

func TestALineOfALaterVersionIsPassedOver(t *testing.T) {
	f, err := Replay(strings.NewReader(`{"header":{"schema":1,"new":1}}` + "\n" + `{"event":{}}` + "\n" + `{"trailer":{"ended":"completed"}}` + "\n"))
	if err != nil || f.Result().Ended != Completed {
		t.Errorf("Replay = %v, %v", f, err)
	}
}

func TestAReaderThatFailsIsAnError(t *testing.T) {
	whole := runFile(t, header(0), canned(1, 3), completed)
	broken := errors.New("the disk is gone")
	_, err := Replay(io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Errorf("the error is %v, want %v", err, broken)
	}
}

func TestARunFileKeepsItsFirstErrorAndClosesItsFile(t *testing.T) {
	events := canned(1, 3)
	whole := len(runFile(t, header(0), events, completed))
	m := &memory{room: whole / 2}
	f, err := NewRunFile(m, header(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		e.to(f)
	}
	if err := f.Close(completed); err == nil || !strings.Contains(err.Error(), "write run file: no space left") {
		t.Errorf("Close gives %v", err)
	}
	if m.closed != 1 {
		t.Errorf("the file was closed %d times", m.closed)
	}
	got, err := Replay(bytes.NewReader(m.Bytes()))
	if err != nil || got.Result().Ended != CutOff {
		t.Errorf("what was written reads as %v, %v", got, err)
	}
	if _, err := NewRunFile(&memory{room: 1}, header(0)); err == nil {
		t.Error("a header that cannot be written is no error")
	}
	f, _ = NewRunFile(&memory{}, header(0))
	f.AddSample(host.Sample{ProcessCPU: math.NaN()})
	if err := f.Close(completed); err == nil {
		t.Error("a number that JSON has not is no error")
	}
}

func TestEachLineOfARunFileIsWrittenWhole(t *testing.T) {
	var m lineWriter
	f, err := NewRunFile(&m, header(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range canned(1, 3) {
		e.to(f)
	}
	if err := f.Close(completed); err != nil {
		t.Fatal(err)
	}
	if m.lines < 8 || m.torn > 0 {
		t.Errorf("%d lines in one write each, %d not", m.lines, m.torn)
	}
}

type lineWriter struct{ lines, torn int }

func (w *lineWriter) Write(b []byte) (int, error) {
	if bytes.Count(b, []byte("\n")) == 1 && bytes.HasSuffix(b, []byte("\n")) {
		w.lines++
	} else {
		w.torn++
	}
	return len(b), nil
}

func (w *lineWriter) Close() error { return nil }

// FuzzReplay reads a run file.
//   - It never panics, nor does the result of what was read.
//   - It gives either a fold or an error.
func FuzzReplay(f *testing.F) {
	w := stats.Window{End: time.Second, Offered: 2, Acknowledged: 1, Brokers: map[int32]stats.Broker{1: {Traffic: stats.Traffic{Requests: 1}}}}
	w.Response.Record(time.Millisecond)
	whole := runFile(f, Header{Schema: Schema}, []event{{window: &w}, {sample: &host.Sample{At: time.Second, Interval: 1}}}, completed)
	f.Add(whole)
	f.Add(whole[:len(whole)*2/3])
	f.Add([]byte(`{"header":{"schema":1}}` + "\n" + `{"window":{"start_ns":5,"partitions":{"-1":{}},"brokers":{"7":{"throttle_ns":-9}}}}`))
	f.Add([]byte(`{"header":{"schema":1,"plan":{"load":{"rate":"1e9"}}}}` + "\n" + `{"sample":{"interval_ns":-1}}` + "\n" + `{"window":{"warmup":true,"offered":-1}}`))
	f.Add([]byte("\n\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fold, err := Replay(bytes.NewReader(data))
		if (fold == nil) == (err == nil) {
			t.Fatalf("Replay = %v, %v", fold, err)
		}
		if err == nil {
			fold.Result()
			fold.Verdict()
		}
	})
}
