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

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/stats"
)

var completed = Trailer{Ended: Completed, ElapsedSeconds: 12.000000001, SendingSeconds: 11.9, DrainTimedOut: true}

func TestACutOffRunAccountsForItsRecordsAndItsTime(t *testing.T) {
	f := NewFold(header(0))
	f.AddWindow(stats.Window{Start: 0, End: time.Second, Warmup: true, Offered: 10, Acknowledged: 4, Failed: 1})
	f.AddWindow(stats.Window{Start: time.Second, End: 2500 * time.Millisecond, Offered: 100, Acknowledged: 60, Failed: 5, Unsent: 3})
	r := f.Result()
	must.Match(t, Records{Offered: 100, Acknowledged: 60, Failed: 5, Unknown: 35, Unsent: 3}, r.Records, "records")
	must.Match(t, Records{Offered: 10, Acknowledged: 4, Failed: 1, Unknown: 5}, r.Warmup.Records, "records of the warm-up")
	must.Match(t, Trailer{Ended: CutOff, ElapsedSeconds: 2.5, SendingSeconds: 2.5}, r.Trailer, "trailer")
}

func TestWhatIsNoRunFileIsRefused(t *testing.T) {
	const head = `{"header":{"schema":2}}` + "\n"
	for _, tc := range []struct {
		name, text string
		line       int    // 0: none in particular
		want       string // in the error
	}{
		{"nothing", "", 0, "empty"},
		{"half a header", `{"header":{"sch`, 1, "no run file"},
		{"another JSON document", `{"topic": "x"}`, 1, "no run file"},
		{"no JSON object", "[1]\n", 1, ""},
		{"a window first", `{"window":{}}` + "\n" + head, 1, "no run file"},
		{"another schema", `{"header":{"schema":1}}`, 1, "schema is 1, and this kt reads 2"},
		{"no schema", `{"header":{}}`, 1, "schema is 0"},
		{"two run files in one", head + head, 2, "second header"},
		{"a line that is none", head + `{"window":{"sta`, 2, ""},
		{"a field of another kind", head + `{"window":{"offered":"many"}}`, 2, ""},
		{"a histogram of nothing", head + `{"window":{"send_delay":{"hdr_v2_base64":"AAAA"}}}`, 2, ""},
		{"a histogram that is none", head + `{"window":{"send_delay":{"hdr_v2_base64":"%"}}}`, 2, "decode histogram"},
		{"a line without end", head + strings.Repeat("x", MaxLine), 2, "67108864 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := Replay(bytes.NewReader(canned.Packed(tc.text)))
			if err == nil {
				t.Fatalf("it was read: %+v", f.Result().Trailer)
			}
			var bad *BadLine
			if errors.As(err, &bad) != (tc.line > 0) || bad != nil && bad.Number != tc.line || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %q, want one of line %d with %q", err, tc.line, tc.want)
			}
		})
	}
	for _, text := range []string{"hello\n", head} {
		if _, err := Replay(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), "line 1: it is no run file") {
			t.Errorf("plain text is read: %v", err)
		}
	}
}

func TestALineOfALaterVersionIsPassedOver(t *testing.T) {
	f, err := Replay(bytes.NewReader(canned.Packed(`{"header":{"schema":2,"new":1}}` + "\n" + `{"event":{}}` + "\n" + `{"trailer":{"ended":"completed"}}`)))
	if err != nil || f.Result().Ended != Completed {
		t.Errorf("Replay = %v, %v", f, err)
	}
}

func TestAReaderThatFailsIsAnError(t *testing.T) {
	whole := runFile(t, header(0), canned.Written(1, 3), completed)
	broken := errors.New("the disk is gone")
	_, err := Replay(io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Errorf("the error is %v, want %v", err, broken)
	}
}

func TestARunFileKeepsItsFirstErrorAndClosesItsFile(t *testing.T) {
	events := canned.Written(1, 3)
	whole := len(runFile(t, header(0), events, completed))
	m := &canned.File{Room: whole / 2}
	f := must.Have(NewRunFile(m, header(0)))(t)
	for _, e := range events {
		e.To(f)
	}
	must.Err(t, "write run file: no space left", f.Close(completed), "Close")
	must.Match(t, 1, m.Closed, "the file was closed times")
	got, err := Replay(bytes.NewReader(m.Bytes()))
	if err != nil || got.Result().Ended != CutOff {
		t.Errorf("what was written reads as %v, %v", got, err)
	}
	if _, err := NewRunFile(&canned.File{Room: 1}, header(0)); err == nil {
		t.Error("a header that cannot be written is no error")
	}
	f, _ = NewRunFile(&canned.File{}, header(0))
	f.AddSample(host.Sample{ProcessCPU: math.NaN()})
	if err := f.Close(completed); err == nil {
		t.Error("a number that JSON has not is no error")
	}
}

func TestEachMemberOfARunFileIsWrittenWhole(t *testing.T) {
	var m memberWriter
	f := must.Have(NewRunFile(&m, header(0)))(t)
	for _, e := range canned.Written(1, 3) {
		e.To(f)
	}
	must.Do(t, f.Close(completed))
	if m.members != 3+2 || m.torn > 0 {
		t.Errorf("%d members in one write each, %d not", m.members, m.torn)
	}
}

type memberWriter struct{ members, torn int }

func (w *memberWriter) Write(b []byte) (int, error) {
	if _, size, err := codec.CutMember(b); err == nil && size == len(b) {
		w.members++
	} else {
		w.torn++
	}
	return len(b), nil
}

func (w *memberWriter) Close() error { return nil }

// FuzzReplay reads a run file.
//   - It never panics, nor does the result of what was read.
//   - It gives either a fold or an error.
func FuzzReplay(f *testing.F) {
	w := stats.Window{End: time.Second, Offered: 2, Acknowledged: 1, Brokers: map[int32]stats.Broker{1: {Traffic: stats.Traffic{Requests: 1}}}}
	w.Response.Record(time.Millisecond)
	whole := runFile(f, Header{Schema: Schema}, []canned.Event{{Window: &w}, {Sample: &host.Sample{At: time.Second, Interval: 1}}}, completed)
	f.Add(whole)
	f.Add(whole[:len(whole)*2/3])
	f.Add(canned.Packed(`{"header":{"schema":2}}` + "\n" + `{"window":{"start_ns":5,"partitions":{"-1":{}},"brokers":{"7":{"throttle_ns":-9}}}}`))
	f.Add(canned.Packed(`{"header":{"schema":2,"plan":{"load":{"rate":"1e9"}}}}` + "\n" + `{"sample":{"interval_ns":-1}}` + "\n" + `{"window":{"warmup":true,"offered":-1}}`))
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

func TestPlayingARunShowsEachSecondAsItWasAndEndsWithItsResult(t *testing.T) {
	for _, stopAt := range []int{0, 3} {
		file, h := new(canned.File), header(100)
		w := must.Have(NewRunFile(file, h))(t)
		live := NewFold(h)
		var want []Snapshot
		for _, e := range canned.Written(1, 8) {
			e.To(live)
			e.To(w)
			if e.Window == nil && (stopAt == 0 || len(want) < stopAt) {
				want = append(want, live.Snapshot())
			}
		}
		must.Do(t, w.Close(completed))
		live.Finish(completed)
		var got []Snapshot
		f := must.Have(Play(bytes.NewReader(file.Bytes()), func(f *Fold, windows []stats.Window) bool {
			s := f.Snapshot()
			must.Match(t, s.At, windows[len(windows)-1].End, "windows up to with a snapshot")
			got = append(got, s)
			return len(got) != stopAt
		}))(t)
		must.Match(t, marshal(t, want), marshal(t, got), "snapshots")
		if diff := cmp.Diff(marshal(t, live.Result()), marshal(t, f.Result())); stopAt == 0 && diff != "" {
			t.Errorf("result (-live +played):\n%s", diff)
		}
	}
}
