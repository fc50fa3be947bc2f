package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
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
			f, err := Replay(bytes.NewReader(canned.Packed(tc.text)), nil)
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
		if _, err := Replay(strings.NewReader(text), nil); err == nil || !strings.HasPrefix(err.Error(), "line 1: it is no run file") {
			t.Errorf("plain text is read: %v", err)
		}
	}
}

func TestALineOfALaterVersionIsPassedOver(t *testing.T) {
	f, err := Replay(bytes.NewReader(canned.Packed(`{"header":{"schema":2,"new":1}}`+"\n"+`{"event":{}}`+"\n"+`{"trailer":{"ended":"completed"}}`)), nil)
	must.True(t, err == nil && f.Result().Ended == Completed, "Replay = %v, %v", f, err)
}

func TestAReaderThatFailsIsAnError(t *testing.T) {
	whole := runFile(t, header(0), canned.Written(1, 3), completed)
	broken := errors.New("the disk is gone")
	_, err := Replay(io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), iotest.ErrReader(broken)), nil)
	must.True(t, errors.Is(err, broken), "the error is %v, want %v", err, broken)
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
	got, err := Replay(bytes.NewReader(m.Bytes()), nil)
	must.True(t, err == nil && got.Result().Ended == CutOff, "what was written reads as %v, %v", got, err)
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
	must.True(t, m.members == 3+2 && m.torn <= 0, "%d members in one write each, %d not", m.members, m.torn)
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
		fold, err := Replay(bytes.NewReader(data), nil)
		must.Hold(t, (fold == nil) != (err == nil), "Replay = %v, %v", fold, err)
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
		f := must.Have(Replay(bytes.NewReader(file.Bytes()), func(f *Fold, windows []stats.Window) bool {
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

// busy makes up the run of one of several processes on a busy cluster: 5,000 records a
// second to 21 partitions on 3 brokers, whose latency is spread over four octaves.
func busy(seconds int) []canned.Event {
	rng := rand.New(rand.NewPCG(7, 7))
	rec := stats.NewRecorder()
	var events []canned.Event
	spread := func(median time.Duration) time.Duration {
		return time.Duration(math.Exp(rng.NormFloat64()*0.7) * float64(median))
	}
	for s := range seconds {
		start, end := time.Duration(s)*time.Second, time.Duration(s+1)*time.Second
		for i := range 5000 {
			due := start + time.Duration(i)*200*time.Microsecond
			delay, service := spread(300*time.Microsecond), spread(4*time.Millisecond)
			rec.Sent(stats.Measured, 1, due, due, delay, true)
			rec.Acknowledged(stats.Measured, 1, int32(i%21), 1000, service, delay+service, min(end, due+delay+service))
			if i%5 == 0 {
				rec.Broker(stats.Measured, int32(1+i%3)).Request(service, false)
				rec.Broker(stats.Measured, int32(1+i%3)).Batch(5, 5000, 5100)
			}
		}
		rec.Window(stats.Measured).ShardTime = time.Second
		taken := rec.Take(new(stats.Phases), start, end)
		events = append(events, canned.Event{Window: &taken[stats.Measured]}, canned.Event{Sample: &host.Sample{At: end, Interval: time.Second, Cores: 4, ProcessCPU: 1}})
	}
	return events
}

// readLines reads all lines.
func readLines(t testing.TB, r io.Reader) (all []Line) {
	t.Helper()
	for l, err := range NewLines(r, 0).All() {
		must.Do(t, err)
		all = append(all, l)
	}
	return all
}

func TestLinesAreReadAsEncodingJSONReadsThem(t *testing.T) {
	for name, events := range map[string][]canned.Event{"written": canned.Written(5, 12), "read": canned.Read(5, 12), "busy": busy(2)} {
		t.Run(name, func(t *testing.T) {
			file := runFile(t, header(120), events, completed)
			got := readLines(t, iotest.HalfReader(bytes.NewReader(file)))
			i := 0
			for text := range bytes.Lines(canned.Text(file)) {
				var want Line
				must.Do(t, json.Unmarshal(text, &want))
				if diff := cmp.Diff(marshal(t, want), marshal(t, got[i])); diff != "" {
					t.Fatalf("line %d (-json +lines):\n%s", i+1, diff)
				}
				plain := want.Sample != nil || want.Window != nil && want.Window.Events == nil && !bytes.Contains(text, []byte(`\`))
				_, window := scanned(text, "window", scanWindow)
				_, sample := scanned(text, "sample", scanSample)
				if fast := window || sample; fast != plain {
					t.Errorf("line %d is read the fast way: %v, want %v", i+1, fast, plain)
				}
				i++
			}
			must.Match(t, i, len(got), "lines")
		})
	}
}

func TestATornMemberIsPassedOverAtTheEndOnly(t *testing.T) {
	const header, window = `{"header":{"schema":2}}`, `{"window":{"end_ns":5}}`
	head, whole := string(canned.Packed(header)), string(canned.Packed(header+"\n"+window))
	for _, tc := range []struct {
		name, file string
		lines      int
		say        string // "": no error
	}{
		{"whole", whole, 2, ""},
		{"torn", whole[:len(whole)-1], 1, ""},
		{"torn in its frame's head", whole[:len(head)+3], 1, ""},
		{"the first is torn", head[:9], 0, "line 1: "},
		{"torn before another", whole[:len(whole)-9] + head, 1, "line 2: "},
		{"longer than the buffer", head + string(canned.Packed(window[:len(window)-2]+strings.Repeat(" ", 1<<17)+"}}\n"+window)), 3, ""},
		{"zeros behind it", whole + strings.Repeat("\x00", 4096), 2, ""},
		{"zeros and more behind it", whole + strings.Repeat("\x00", 1<<17) + "x", 2, "line 3: "},
		{"nothing", "", 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n, lines := 0, NewLines(strings.NewReader(tc.file), 0)
			for _, err := range lines.All() {
				if err == nil {
					n++
				} else if tc.say == "" || !strings.HasPrefix(err.Error(), tc.say) {
					t.Errorf("the error is %v, want %q", err, tc.say)
				}
			}
			must.Match(t, tc.lines, n, "lines")
		})
	}
}

// BenchmarkReplay reads and folds a run file of ten minutes, as a merge does 200 times.
func BenchmarkReplay(b *testing.B) {
	const seconds = 600
	file := runFile(b, header(5000), busy(seconds), completed)
	for _, bc := range []struct {
		name string
		read func() error
	}{
		{"lines", func() error {
			lines := NewLines(bytes.NewReader(file), 0)
			for {
				if _, err := lines.Next(false); err != nil {
					return err
				}
			}
		}},
		{"fold", func() error {
			_, err := Replay(bytes.NewReader(file), nil)
			return err
		}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				if err := bc.read(); err != nil && !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N)/seconds, "µs/window")
			b.ReportMetric(float64(len(file))/seconds, "B/window")
		})
	}
}

// hours is the file of a run of some seconds, with a load that hardly takes a time to make up, and its result.
func hours(t testing.TB, seconds int, limits ...string) ([]byte, Result) {
	t.Helper()
	some := busy(20)
	var events []canned.Event
	for s := range seconds {
		for _, e := range some[s%20*2 : s%20*2+2] {
			by := time.Duration(s-s%20) * time.Second
			if e.Window != nil {
				w := *e.Window
				w.Shift(by)
				w.Partitions, w.SendDelay, w.OwnSendDelay, w.Service = nil, stats.Histogram{}, stats.Histogram{}, stats.Histogram{}
				if s%20 > 0 {
					w.Brokers = nil
				}
				e.Window = &w
			} else {
				sample := *e.Sample
				sample.At += by
				e.Sample = &sample
			}
			events = append(events, e)
		}
	}
	h := header(5000)
	h.Limits, h.Plan.Load.Duration = limits, 0
	end := completed
	end.ElapsedSeconds, end.SendingSeconds = float64(seconds), float64(seconds)
	file := runFile(t, h, events, end)
	fold := must.Have(Replay(bytes.NewReader(file), nil))(t)
	return file, fold.Result()
}

func TestAThinnedFileHasTheSameResultAndFewerSeconds(t *testing.T) {
	const seconds = 7500
	file, want := hours(t, seconds, "response.p99<1s over 10s")
	var thin bytes.Buffer
	must.Do(t, Thin(&thin, bytes.NewReader(file), &want))
	fold := must.Have(Replay(bytes.NewReader(thin.Bytes()), nil))(t)
	must.Match(t, marshal(t, want), marshal(t, fold.Result()), "the result")
	var sum, all stats.Window
	lengths := map[time.Duration]int{}
	for _, l := range readLines(t, bytes.NewReader(thin.Bytes())) {
		if l.Window != nil {
			sum.Add(l.Window)
			lengths[l.Window.End-l.Window.Start]++
		}
	}
	for _, l := range readLines(t, bytes.NewReader(file)) {
		if l.Window != nil {
			all.Add(l.Window)
		}
	}
	must.Match(t, marshal(t, all), marshal(t, sum), "the sum")
	must.Match(t, map[time.Duration]int{time.Minute: 5, 10 * time.Second: 660, time.Second: 600}, lengths, "the lengths of windows")
	for limit, known := range map[string]bool{"response.p99<1s": true, "response.p99<1s over 10s": false, "response.p99<1s over 2m": true} {
		fold := must.Have(Replay(bytes.NewReader(thin.Bytes()), nil, limit))(t)
		if l := fold.Result().Limits[0]; (l.Value != nil) != known || l.Held != known {
			t.Errorf("%s: %+v", limit, l)
		}
	}
}

// pageWith returns a page that holds a text.
func pageWith(t *testing.T, embedded string) string {
	t.Helper()
	packed := must.Have(Pack([]byte(embedded)))(t)
	return PageStart + "<p>x</p>\n" + EmbedStart + packed + EmbedEnd + "\n"
}

func TestAPageIsReadOnlyIfARunCanHaveItsNumbers(t *testing.T) {
	for want, change := range map[string]func(r *Result){
		"":                       func(*Result) {},
		"records or bytes is -1": func(r *Result) { r.Records.Offered = -1 },
		"10 records were":        func(r *Result) { r.Records.Acknowledged = 11 },
		"its series has a step":  func(r *Result) { r.Series = []Point{{StartSeconds: -1}} },
		"its series has 7201":    func(r *Result) { r.Series = make([]Point, 2*maxPoints+1) },
		"it lasted -2 s":         func(r *Result) { r.ElapsedSeconds = -2 },
		"its outage has no":      func(r *Result) { r.Outage = &Outage{BeganWith: stats.Exec} },
		"not valid for no":       func(r *Result) { r.Stages = []StageRow{{}} },
		"its schema is 1, and t": func(r *Result) { r.Schema = 1 },
	} {
		r := Result{Header: Header{Schema: Schema}, Records: Records{Offered: 10, Acknowledged: 10}}
		change(&r)
		doc, err := json.Marshal(r)
		must.Do(t, err)
		_, err = ReadPage(strings.NewReader(pageWith(t, `{"result":`+string(doc)+`}`)))
		must.Err(t, want, err, "the error")
	}
}

func TestADamagedPageIsAnErrorThatSaysSo(t *testing.T) {
	whole := pageWith(t, `{"result":{"schema":2},"heat":[{"end_ns":1000,"counts":[5]}]}`)
	must.Have(ReadPage(strings.NewReader(whole)))(t)
	for name, page := range map[string]string{
		"cut in its run":       whole[:len(whole)-40],
		"no base64":            strings.Replace(whole, EmbedStart, EmbedStart+"<", 1),
		"no JSON":              pageWith(t, `{`),
		"another document":     pageWith(t, `{"result":[]}`),
		"a count below 0":      pageWith(t, `{"result":{"schema":2},"heat":[{"counts":[-5]}]}`),
		"columns out of order": pageWith(t, `{"result":{"schema":2},"heat":[{"start_ns":5,"end_ns":6},{"end_ns":1}]}`),
		"half a column":        pageWith(t, `{"result":{"schema":2},"heat":[{"start_ns":5}]}`),
	} {
		if r, err := ReadPage(strings.NewReader(page)); err == nil || !strings.Contains(err.Error(), "damaged") && !strings.Contains(err.Error(), "impossible") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for name, of := range map[string]string{"points": `{},`, "columns": `[],`} {
		page := pageWith(t, `{"result":{"schema":2},"more":[`+strings.Repeat(of, maxValues)+`0]}`)
		must.Err(t, "larger than any", must.Fail(ReadPage(strings.NewReader(page))), "a page with a million empty %s", name)
	}
	must.Err(t, "no run of its own", must.Fail(ReadPage(strings.NewReader(PageStart+"<p>several runs</p>"))), "without a run")
}
