package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, write(&b))
	return b.String()
}

func TestThePageOfSeveralRunsReadsAsTheGoldenFileShows(t *testing.T) {
	of := runs()
	page := written(t, func(w io.Writer) error {
		return Several(w, []result.Result{of["produce"], of["roundtrip"], of["consume"]}, []string{"a.ktr", "b.ktr", "c.ktr"})
	})
	isGolden(t, "of-several", page)
	isSound(t, page, `<text class="label run0"`, `<text class="label run2"`, `class="line run1" stroke-dasharray="7 3"`, `"label":"C"`)
}

func TestRunsOfOtherStepsAreShownOverTheSameTime(t *testing.T) {
	long := runs()["produce"]
	short := long
	short.Series = nil
	for i := range 4 { // four steps of half a second, and a hole of one
		start := 0.5 * float64(i)
		if i > 1 {
			start++
		}
		short.Series = append(short.Series, result.Point{StartSeconds: start, Seconds: 0.5, Acknowledged: int64(10 * (i + 1)), P99: result.Micros(1000 * (i + 1))})
	}
	times := severalPage{newRunPage(long), newRunPage(short)}.charts()[0].(*doc.Chart).X
	rates, p99 := newRunPage(short).along(times, 1)
	for i, want := range []struct{ rate, p99 float64 }{{30, 0.002}, {0, 0}, {70, 0.004}} {
		if want.rate == 0 {
			must.True(t, rates[i] != rates[i] && p99[i] != p99[i], "second %d: %v and %v, want a hole", i, rates[i], p99[i])
		} else if rates[i] != want.rate || p99[i] != want.p99 {
			t.Errorf("second %d: %v and %v, want %+v", i, rates[i], p99[i], want)
		}
	}
	must.True(t, len(times) >= 40 && rates[30] != rates[30], "%d steps, the last of the short run is not its end", len(times))
}

func TestNothingOfSeveralRunsIsMarkup(t *testing.T) {
	const bad = `<img src=x onerror=alert(1)>`
	r := runs()["produce"]
	r.Plan.Topic.Name, r.BoundBy.Evidence, r.Args = bad, bad, []string{bad}
	of, files := slices.Repeat([]result.Result{r}, MaxRuns), slices.Repeat([]string{bad}, MaxRuns)
	page := written(t, func(w io.Writer) error { return Several(w, of, files) })
	must.True(t, !strings.Contains(page, "<img"), "text became markup")
}

// header is that of a run of a command.
func header(p plan.Plan) result.Header {
	h := result.Header{
		Schema: result.Schema, RunID: "ABC", KTVersion: "0.3.0 (0123456789ab, 2026-11-20)", Plan: p,
		StartedAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Args: []string{"kt", string(p.Command), "--topic", "orders", "--exec", "echo it's"},
		Config: []result.Setting{{Name: "acks", Value: "all", Default: "all", Source: "default"}, {Name: "linger.ms", Value: "50", Default: "5", Source: "--linger"}},
	}
	h.Environment.Host = host.Facts{Hostname: "vm14", OS: "linux", Kernel: "6.12.0", Arch: "amd64", CPUModel: "EPYC", LogicalCPUs: 8, GOMAXPROCS: 4, MemoryBytes: 16 << 30}
	h.Environment.Cluster = result.Cluster{ID: "c", Version: "4.3", Controller: 1, Brokers: []result.Broker{{ID: 1, Addr: "a:9092"}, {ID: 2, Addr: "b:9092"}, {ID: 3, Addr: "c:9092", Rack: "r1"}}}
	h.Environment.Topic = result.Topic{Name: "orders", Partitions: 6, ReplicationFactor: 3, Leaders: map[int32]int32{0: 1, 1: 2, 2: 3, 3: 1, 4: 2, 5: 3}, Configs: map[string]string{"min.insync.replicas": "2"}}
	return h
}

// fold returns the fold of a made-up run.
func fold(p plan.Plan, events []canned.Event) *result.Fold {
	f := result.NewFold(header(p))
	for _, e := range events {
		e.To(f)
	}
	f.Finish(result.Trailer{Ended: result.Completed, ElapsedSeconds: 40, SendingSeconds: 40})
	return f
}

// runs are made-up runs of each kind, with a fault in the one that writes.
func runs() map[string]result.Result {
	written := canned.Written(3, 40)
	for _, e := range written {
		if w := e.Window; w != nil && w.Start == 30*time.Second {
			w.Events = []stats.Event{
				{At: 30 * time.Second, Kind: stats.Exec, Broker: -1, To: -1, Text: "ran: kill 1"},
				{At: 30500 * time.Millisecond, Kind: stats.BrokerGone, Broker: 1, To: -1, Text: "broker 1 refuses connections"},
			}
			w.Outage = stats.Gap{From: 30500 * time.Millisecond, Length: 2 * time.Second}
		}
	}
	all := make(map[string]result.Result)
	for name, f := range map[string]*result.Fold{
		"produce":   fold(canned.Plan(100), written),
		"unlimited": fold(canned.Plan(0), canned.Written(5, 40)),
		"roundtrip": fold(canned.ReadPlan(plan.Roundtrip, 100), canned.Read(4, 40)),
		"consume":   fold(canned.ReadPlan(plan.Consume, 0), canned.Read(6, 40)),
	} {
		all[name] = f.Result()
	}
	return all
}

func drawn(t *testing.T, template string, of any) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, templates.ExecuteTemplate(&b, template, of))
	return b.String()
}

func pageOf(t *testing.T, r result.Result) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, Run(&b, r, report.Options{}))
	return b.String()
}

var (
	unread  = regexp.MustCompile(`(?s)<(style|script|svg|noscript)\b.*?</(style|script|svg|noscript)>|<!--.*?-->`)
	tags    = regexp.MustCompile(`(?s)<[^>]*>`)
	blank   = regexp.MustCompile(`[ \t]+`)
	ends    = regexp.MustCompile(`(?i)</?(p|h1|h2|h3|li|tr|div|caption|figure|section|summary|header|dl)\b[^>]*>`)
	newline = regexp.MustCompile(`\s*\n\s*`)
)

// textOf returns what a reader of a page sees, without the charts.
func textOf(page string) string {
	page = unread.ReplaceAllString(page, "")
	page = strings.ReplaceAll(strings.ReplaceAll(page, "<td", " <td"), "<th", " <th")
	page = tags.ReplaceAllString(ends.ReplaceAllString(page, "\n"), " ")
	return strings.TrimSpace(newline.ReplaceAllString(blank.ReplaceAllString(html.UnescapeString(page), " "), "\n")) + "\n"
}

// isGolden compares what a reader of a page sees with a golden file.
func isGolden(t *testing.T, name, page string) {
	t.Helper()
	must.Golden(t, filepath.Join("testdata", name+".txt"), textOf(page))
}

func TestAPageReadsAsTheGoldenFilesShow(t *testing.T) {
	isGolden(t, "produce", pageOf(t, runs()["produce"]))
	isGolden(t, "roundtrip", pageOf(t, runs()["roundtrip"]))
	isSound(t, pageOf(t, runs()["consume"]), `class="line flow"`)
	shares := runs()["consume"]
	shares.Environment.Share = &result.ShareLimits{Locks: 2000}
	isSound(t, pageOf(t, shares), "Record locks", "of the partition with most, of 2,000", "delivered again")
	isSound(t, pageOf(t, runs()["unlimited"]), "mostly queueing: the rate is unlimited")
}

func TestThePolicyAllowsTheBlocksOfThePageAndNothingElse(t *testing.T) {
	page := pageOf(t, runs()["produce"])
	_, policy, _ := strings.Cut(page, `http-equiv="Content-Security-Policy" content="`)
	policy, _, _ = strings.Cut(policy, `"`)
	style := between(t, page, "<style>", "</style>")
	loader := between(t, page, "<script>", "</script>")
	want := "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(loader) + " " + hash(scripts()) + "; img-src data:; base-uri 'none'; form-action 'none'"
	must.Match(t, want, policy, "the policy")
	for _, forbidden := range []string{" style=", " onclick=", " onload=", "javascript:", "<link rel=\"stylesheet", " src="} {
		must.True(t, !strings.Contains(page, forbidden), "the page has %q, which its policy does not allow", forbidden)
	}
	at := strings.Index(page, "<style>")
	must.True(t, at >= strings.Index(page, policy), "the style is before the policy")
}

func between(t *testing.T, s, from, to string) string {
	t.Helper()
	_, s, ok := strings.Cut(s, from)
	s, _, end := strings.Cut(s, to)
	must.Hold(t, ok && end, "nothing between %q and %q", from, to)
	return s
}

func TestAPageNamesNoOtherPlace(t *testing.T) {
	place := regexp.MustCompile(`(?i:https?:|@import|"//)|url\(`)
	page := pageOf(t, runs()["roundtrip"])
	found := place.FindAllString(page, -1)
	must.True(t, found == nil, "the page has %q", found)
	code := strings.ReplaceAll(scripts(), "/*! https://github.com/leeoniya/uPlot (v1.6.32) */", "")
	found = place.FindAllString(code, -1)
	must.True(t, found == nil, "its code has %q", found)
	must.Has(t, "the licence of uPlot", page, "Copyright (c) 2022 Leon Sorokin")
}

func TestAPageIsReadBackAsTheRunThatItShows(t *testing.T) {
	for name, r := range runs() {
		page := pageOf(t, r)
		got, err := merge.Read(strings.NewReader(page), int64(len(page)))
		must.Hold(t, err == nil, "%s: %v", name, err)
		for format, write := range report.Formats {
			if (name == "consume" || name == "unlimited") && format != "json" {
				continue // made up, they have counts that no such run has and no document of it shows
			}
			var before, after bytes.Buffer
			err := cmp.Or(write(&before, r, report.Options{}), write(&after, got, report.Options{}))
			must.Hold(t, err == nil, "%s as %s: %v", name, format, err)
			must.True(t, bytes.Equal(before.Bytes(), after.Bytes()),
				"%s as %s differs (-run +page):\n%s", name, format, gocmp.Diff(before.String(), after.String()))
		}
		again := pageOf(t, got)
		must.True(t, again == page || name == "consume" || name == "unlimited", "%s: the page of a page is another one", name)
	}
}

func TestThePageShowsTheNumbersThatTheScreenShows(t *testing.T) {
	for name, p := range map[string]plan.Plan{"produce": canned.Plan(100), "roundtrip": canned.ReadPlan(plan.Roundtrip, 100)} {
		f := fold(p, canned.Read(4, 40))
		s := f.Snapshot()
		page := newRunPage(f.Result())
		var points []result.Point
		for _, x := range s.Points {
			if x.Seconds >= result.ShortRow {
				points = append(points, x)
			}
		}
		must.Hold(t, len(points) == len(page.times), "%s: %d points, the screen has %d", name, len(page.times), len(points))
		rates, quantiles := page.throughput(), page.quantiles()
		for i, x := range points {
			want := map[string]float64{"acknowledged": float64(x.Acknowledged) / x.Seconds, "p50": us(x.P50), "p99": us(x.P99)}
			if name == "roundtrip" {
				want = map[string]float64{"consumed": float64(x.Consumed) / x.Seconds, "p50": us(x.EndToEndP50), "p99": us(x.EndToEndP99)}
			}
			for _, series := range slices.Concat(rates.Series, quantiles.Series) {
				if w, ok := want[series.Name]; ok && !same(series.Values[i], w) {
					t.Errorf("%s at %g s: %s is %g, on the screen %g", name, x.StartSeconds, series.Name, series.Values[i], w)
				}
			}
		}
		must.Match(t, s.Heat, page.r.Heat, "%s: the heat map differs", name)
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func TestNumbersOfChartsHaveFourDigits(t *testing.T) {
	got, err := json.Marshal(doc.Values{0, 1234567, 0.00123456, math.NaN(), 12.5})
	want := "[0,1.235e+06,0.001235,null,12.5]"
	must.True(t, err == nil && string(got) == want, "%s, %v, want %s", got, err, want)
}

// hostile would end an element, run a script and load a picture.
const hostile = `"'></script><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}<!--`

func TestNothingInARunFileIsMarkup(t *testing.T) {
	r := runs()["produce"]
	poison(reflect.ValueOf(&r.Header))
	r.Events[0].Text, r.Events[1].Text = hostile, hostile
	r.Errors = result.Errors{hostile: 3}
	r.Note, r.Notice, r.BoundBy.Evidence, r.BoundBy.Limit = hostile, hostile, hostile, hostile
	r.Invalid, r.Valid = []string{hostile}, false
	r.Processes = []result.ProcessRow{{Host: hostile, Note: hostile, State: hostile}}
	r.Hosts = []result.HostRow{{Host: hostile, Role: hostile}}
	page := pageOf(t, r)
	for _, bad := range []string{"<script>alert", "<img src=x", "onerror=alert(2)>"} {
		must.True(t, !strings.Contains(page, bad), "the page has %q", bad)
	}
	must.Match(t, 4, strings.Count(page, "<script"), "the page has scripts")
	text := textOf(page)
	must.True(t, strings.Count(text, hostile) >= 10, "what was given is not to be read:\n%s", text)
}

// poison makes every text within a value hostile, but for those of the plan: its kinds decide what is shown.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.String:
		v.SetString(v.String() + hostile)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() && v.Type().Field(i).Name != "Plan" {
				poison(f)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	default:
	}
}

func TestAPageIsSmall(t *testing.T) {
	for _, tc := range []struct {
		name    string
		seconds int
		most    int
	}{
		{"two minutes", 120, 150_000},
		{"a day", 86_400, 1_000_000},
	} {
		f := result.NewFold(header(canned.Plan(100)))
		second, rng := quiet(t), rand.New(rand.NewPCG(1, 2))
		for s := range tc.seconds {
			w := second[rng.IntN(len(second))]
			by := time.Duration(s)*time.Second - w.Start
			w.Start, w.End = w.Start+by, w.End+by
			w.FirstDue, w.LastDue, w.LastSent, w.LastAck = w.Start, w.End, w.End, w.End
			f.AddWindow(w)
			f.AddSample(host.Sample{At: w.End, Interval: time.Second, Cores: 4, HostCores: 8, ProcessCPU: 1 + float64(s%7)/10})
		}
		f.Finish(result.Trailer{Ended: result.Completed, ElapsedSeconds: float64(tc.seconds), SendingSeconds: float64(tc.seconds)})
		page := pageOf(t, f.Result())
		t.Logf("%s: %d bytes", tc.name, len(page))
		must.True(t, len(page) <= tc.most, "%s takes %d bytes, at most %d are allowed", tc.name, len(page), tc.most)
	}
}

// quiet returns some seconds of a load, with latencies as a run file has them, which take little memory.
func quiet(t *testing.T) (seconds []stats.Window) {
	for _, e := range canned.Written(9, 60) {
		if e.Window == nil || e.Window.Warmup {
			continue
		}
		text, err := json.Marshal(e.Window)
		var w stats.Window
		if err == nil {
			err = json.Unmarshal(text, &w)
		}
		must.Do(t, err)
		seconds = append(seconds, w)
	}
	return seconds
}

func TestAnOutageIsShadedAndItsEventsAreMarked(t *testing.T) {
	r := runs()["produce"]
	tl := newRunPage(r).timeline
	var classes []string
	for _, b := range tl.Bands {
		classes = append(classes, b.Class)
		must.True(t, b.To >= b.From && b.To <= tl.To, "a band from %g to %g s, of %g s", b.From, b.To, tl.To)
	}
	must.True(t, slices.Contains(classes, "outage") && slices.Contains(classes, "gap"), "bands: %v", classes)
	must.True(t, len(tl.Marks) == 2 && tl.Marks[0].Class == "neutral" && tl.Marks[1].Class == "worst" && tl.Marks[1].Number == 2,
		"marks: %+v", tl.Marks)
	page := pageOf(t, r)
	must.Has(t, "the static pictures", page, `class="band gap"`, `class="band outage"`, `<text class="mark worst"`)
}

func TestMarksThatAreTooNearHaveOneLabel(t *testing.T) {
	got := drawn(t, "picture", newPicture(&doc.Chart{Time: &doc.Timeline{To: 100, Marks: []doc.Event{{At: 1, Number: 1}, {At: 1.5, Number: 2}, {At: 90, Number: 3}}}, XUnit: timeUnit, Unit: rateUnit}))
	must.True(t, strings.Contains(got, ">1–2<") && strings.Contains(got, ">3<") && !strings.Contains(got, ">2<"), "%v", got)
}

func TestARunWithoutASecondHasAPage(t *testing.T) {
	f := result.NewFold(header(canned.Plan(100)))
	must.Has(t, "the page", textOf(pageOf(t, f.Result())), "cut off after")
}

// A map without cells looks like a run without records.
func TestTheCodeReadsTheFieldsOfAHeatMap(t *testing.T) {
	code, err := assets.ReadFile("assets/page.js")
	must.Do(t, err)
	for field := range reflect.TypeFor[result.HeatColumn]().Fields() {
		name := field.Tag.Get("json")
		must.True(t, bytes.Contains(code, []byte("c."+name)), "page.js does not read %s", name)
	}
}

const late = "kt sent 4 % of the records late"

// broken makes a run not valid, with tags, and with limits of which one is not held.
func broken(r *result.Result) {
	value := 3000.0
	r.Valid, r.Invalid, r.Tags = false, []string{late}, []string{"nightly"}
	r.BoundBy = verdict.Verdict{Limit: verdict.Schedule, Evidence: late + "; kt used 1 of 2 cores"}
	r.Limits = []result.Limit{{Expression: "p99<1ms", Value: &value, Unit: "us"}, {Expression: "errors==0", Held: true}}
}

// A page of one run and one of several say what a run has, and say it once.
func TestWhatAPageSaysOfARun(t *testing.T) {
	for name, tc := range map[string]struct {
		change       func(*result.Result)
		one, several map[string]int // how often each text is there
	}{
		"not valid": {
			broken, map[string]int{"✕ 1 of 2 limits not held": 1, late: 1, "\nkt used 1 of 2 cores\n": 1, "#nightly": 1}, map[string]int{"1 of 2 limits not held": 1},
		},
		"idle partitions": {
			func(r *result.Result) {
				r.Partitions = []result.PartitionRow{{ID: 0, RowFigures: result.RowFigures{Records: 200}}, {ID: 1, RowFigures: result.RowFigures{Records: 100}}}
			}, map[string]int{"6 partitions; skew 4.00 ": 1}, nil,
		},
		"too short for a rate": {
			func(r *result.Result) {
				r.Throughput.Seconds, r.Throughput.RecordsPerSecond, r.TargetReached = 0.9, 777, nil
				figures := result.Figures{RecordsPerSecond: 777, MiBPerSecond: 777}
				r.Hosts = []result.HostRow{{Host: "vm14", Processes: 1, Figures: figures}}
				r.Processes = []result.ProcessRow{{Host: "vm14", Process: 1, Counted: true, Figures: figures}}
			}, map[string]int{"777": 0}, map[string]int{"777": 0},
		},
		"errors": {
			func(r *result.Result) {
				r.Records.Failed, r.Records.Unknown, r.Records.Unsent, r.Verify = 3, 2, 1, &ledger.Verdict{Lost: 10}
			}, map[string]int{"errors 6 3 failed 2 unknown 1 never sent 10 lost ": 1}, map[string]int{"never sent 6\nlost 10\n": 1},
		},
		"events that are not listed": {
			func(r *result.Result) { r.EventsLeftOut = result.Errors{"first_error": 300, "rebalance": 7} },
			map[string]int{"307 more: 300 first error, 7 rebalance": 1},
			nil,
		},
	} {
		r := runs()["produce"]
		tc.change(&r)
		for text, want := range map[string]map[string]int{
			textOf(written(t, func(w io.Writer) error { return Run(w, r, report.Options{}) })):                   tc.one,
			textOf(written(t, func(w io.Writer) error { return Several(w, []result.Result{r}, []string{"a"}) })): tc.several,
		} {
			for part, n := range want {
				must.Match(t, n, strings.Count(text, part), "%s: %q is there times:\n%s", name, part, text)
			}
		}
	}
}

func TestLabelsOfPartsOfACoreAreExact(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.025: "0.025", 0.05: "0.05", 0.075: "0.075", 1: "1", 2.5: "2.5"} {
		must.Match(t, want, coresUnit.Tick(v), "%g is written", v)
	}
}

func TestALineOfACommandBreaksBetweenItsWords(t *testing.T) {
	got := drawn(t, "words", `kt produce --limit 'p99<1s over  2s'`)
	want := `<span>kt</span> <span>produce</span> <span>--limit</span> <span>&#39;p99&lt;1s</span> <span>over</span>  <span>2s&#39;</span>`
	must.Match(t, want, got, "got %s", got)
}
