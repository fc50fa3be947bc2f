//go:build integration

package cmd

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	js "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

//go:embed testdata/page_check.js
var pageCheck string

// Pages of a run, of two, of a comparison and of a study, in a real browser.
func (k *kafkaCluster) pagesAreShown(t *testing.T) {
	dir := t.TempDir()
	var runs []*exec.Cmd
	for name, rate := range map[string]string{"a": "300", "b": "500"} {
		run := ktIn(t, dir, "produce", "--bootstrap-server", k.brokers, "--rate", rate, "--warmup", "1s", "--duration", "5s", "--delete-topic", "--topic", "page-"+name,
			"--result", name+".ktr")
		must.Do(t, run.Start())
		runs = append(runs, run)
	}
	for _, run := range runs {
		_ = run.Wait() // on a busy machine it is not valid, and has a page all the same
	}
	write := func(name string, args ...string) string {
		out, stderr, code := ran(t, ktIn(t, dir, args...))
		must.Hold(t, code == exitOK, "kt %q: exit code %d\n%s", args, code, stderr)
		path := filepath.Join(dir, name+".html")
		must.Do(t, os.WriteFile(path, out, 0o644))
		return path
	}
	pages := map[string]string{
		"one":     write("one", "report", "a.ktr", "--output", "html"),
		"two":     write("two", "report", "a.ktr", "b.ktr", "--output", "html"),
		"compare": write("compare", "compare", "a.ktr", "b.ktr", "--output", "html"),
		"study": write("study", "study", "run", "partitions", "--bootstrap-server", k.brokers, "--quiet", "--output", "html",
			"--set", "partitions=1,4", "--run-time", "1s", "--repeats", "1", "--rest", "0", "--discard", "0"),
	}
	out, stderr, _ := ran(t, ktIn(t, dir, "report", "a.ktr", "--output", "json"))
	r := decoded[result.Result](t, out, stderr)
	rate := theme.Rate(r.Throughput.RecordsPerSecond)
	b := newBrowser(t)
	for name, file := range pages {
		seen := map[string][]string{"one": append(strings.Split(r.BoundBy.Evidence, "; "), rate), "two": {rate, "page-b"}, "compare": {"rate is", "plan.load.rate"}, "study": {"partitions", "records/s"}}[name]
		o := b.open(file, true)
		o.await(`document.documentElement.classList.contains("ready")`)
		o.readable(name)
		o.printed(name, append(seen, map[string]string{"compare": "Files a.ktr"}[name])) // nobody can open what is closed on paper
		if name == "one" || name == "two" {
			o.zooms(map[string]string{"one": "quantiles", "two": "p99"}[name])
		}
		o.quiet()
		b.withoutScript(name, file, seen)
	}
}

// readable checks that all can be read, on every screen.
func (o *tab) readable(name string) {
	o.t.Helper()
	for width, scheme := range map[int64]string{400: "light", 1200: "dark", 1201: "light", 2000: "dark"} {
		o.look(width, scheme, "screen")
		o.painted()
		for _, wrong := range eval[[]string](o, pageCheck) {
			o.t.Errorf("%s at %d px, %s: %s", name, width, scheme, wrong)
		}
		is := eval[int64](o, "document.documentElement.scrollWidth")
		must.True(o.t, is <= width, "%s: it is %d px wide on a screen of %d", name, is, width)
	}
}

// zooms checks that a drag over one chart changes the time of both, and a double click shows all again.
func (o *tab) zooms(second string) {
	o.t.Helper()
	o.look(1200, "light", "screen")
	charts := []string{"throughput", second}
	ends := func() (ends []string) {
		for _, chart := range charts {
			ends = append(ends, o.leftEnd(chart))
		}
		return ends
	}
	whole := ends()
	o.drag("throughput", 0.5, 0.9)
	for i, end := range ends() {
		must.True(o.t, end != whole[i], "%s begins at %s after a drag over the throughput, as before", charts[i], end)
	}
	o.doubleClick(second)
	for i, end := range ends() {
		must.True(o.t, end == whole[i], "%s begins at %s after a double click; before the drag at %s", charts[i], end, whole[i])
	}
}

// printed checks that the numbers and the pictures are on paper.
func (o *tab) printed(name string, texts []string) {
	o.t.Helper()
	o.look(800, "dark", "") // it is printed as from a dark screen
	file := filepath.Join(o.t.TempDir(), name+".pdf")
	must.Do(o.t, os.WriteFile(file, o.print(), 0o644))
	out, err := exec.Command("pdftotext", file, "-").Output()
	if err != nil {
		o.t.Fatal("pdftotext: ", err)
	}
	o.contains(name+", printed", string(out), texts)
	must.True(o.t, !strings.Contains(string(out), "Dark / light"), "%s: buttons are printed", name)
	o.look(800, "light", "print")
	o.drawn(name + ", printed")
	o.look(800, "light", "screen")
}

// withoutScript checks that numbers and pictures need no script.
func (b *browser) withoutScript(name, file string, texts []string) {
	b.t.Helper()
	o := b.open(file, false)
	o.contains(name+" without scripts", eval[string](o, "document.body.innerText"), texts)
	o.drawn(name + " without scripts")
	o.quiet()
}

// drawn checks that each chart has a picture in sight, with something in it.
func (o *tab) drawn(name string) {
	o.t.Helper()
	for _, id := range eval[[]string](o, `[...document.querySelectorAll("figure.chart")].filter((f) => {
		const s = f.querySelector("svg.static");
		return !s || s.getBoundingClientRect().height < 50 || !s.querySelector("path.line, image, circle");
	}).map((f) => f.id)`) {
		o.t.Errorf("%s: no picture of %s", name, id)
	}
}

// contains checks for texts, however their lines are broken.
func (o *tab) contains(name, all string, texts []string) {
	o.t.Helper()
	flat := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for _, text := range texts {
		must.True(o.t, strings.Contains(flat(all), flat(text)), "%s: it lacks %q:\n%s", name, text, all)
	}
}

// browser is a real Chromium without a window.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// newBrowser starts a browser, which ends with the test.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil && runtime.GOOS != "linux" {
		t.Skip("pages are tried with the Chromium of Debian: ", err)
	}
	must.Hold(t, err == nil, "%v", err)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	must.Do(t, chromedp.Do(ctx))
	return &browser{t, ctx}
}

// tab is a page that is open in a browser.
type tab struct {
	t   *testing.T
	ctx context.Context
	url string

	mu       sync.Mutex
	said     []string // on the console, with errors and violations of the page's policy
	requests []string
}

// open opens a file in a tab of its own.
func (b *browser) open(file string, scripts bool) *tab {
	b.t.Helper()
	o := &tab{t: b.t, url: "file://" + file}
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithListener(o.heard))
	b.t.Cleanup(cancel)
	o.ctx = ctx
	call(o, log.Enable, cdp.Empty{})
	call(o, network.Enable, network.EnableParams{})
	call(o, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !scripts})
	o.do(chromedp.Navigate(o.url))
	return o
}

// call sends a command to a tab.
func call[P, R any](o *tab, command cdp.Command[P, R], params P) R {
	o.t.Helper()
	r, err := chromedp.Call(o.ctx, command, params)
	must.Hold(o.t, err == nil, "%s: %s: %v", o.url, command.Method, err)
	return r
}

func (o *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	o.t.Helper()
	err := chromedp.Do(o.ctx, steps...)
	must.Hold(o.t, err == nil, "%s: %v", o.url, err)
}

// heard takes an event of a tab.
func (o *tab) heard(event any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch e := event.(type) {
	case *js.EventConsoleAPICalled:
		o.said = append(o.said, fmt.Sprintf("%s %v", e.Type, e.Args))
	case *js.EventExceptionThrown:
		o.said = append(o.said, fmt.Sprintf("%s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		o.said = append(o.said, fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text))
	case *network.EventRequestWillBeSent:
		if e.Request.URL != "about:blank" { // where a tab begins
			o.requests = append(o.requests, e.Request.URL)
		}
	}
}

// quiet checks that the page said nothing, and asked for nothing but itself.
func (o *tab) quiet() {
	o.t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	must.True(o.t, len(o.said) == 0, "%s: on the console: %q", o.url, o.said)
	others := slices.DeleteFunc(slices.Clone(o.requests), func(url string) bool { return url == o.url || strings.HasPrefix(url, "data:") })
	must.True(o.t, len(others) == 0 && len(o.requests) != 0, "%s: it asked for %q of %q", o.url, others, o.requests)
}

// eval returns what an expression gives in the page.
func eval[T any](o *tab, expression string) T {
	o.t.Helper()
	value, err := chromedp.Run(o.ctx, chromedp.Evaluate[T](expression))
	must.Hold(o.t, err == nil, "%s: %v", o.url, err)
	return value
}

// await waits until an expression holds.
func (o *tab) await(expression string) {
	o.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !eval[bool](o, expression); time.Sleep(50 * time.Millisecond) {
		must.Hold(o.t, !time.Now().After(deadline), "%s: it never was so: %s; on the console: %q", o.url, expression, o.said)
	}
}

// look emulates a screen.
func (o *tab) look(width int64, scheme, media string) {
	o.t.Helper()
	call(o, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1})
	call(o, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// painted waits until the page has been painted: charts take the width of their place
// just before that.
func (o *tab) painted() {
	o.t.Helper()
	eval[bool](o, `requestAnimationFrame(() => requestAnimationFrame(() => window.painted = true)), !(window.painted = false)`)
	o.await(`window.painted`)
}

// area returns left, top, width and height of the lines of a chart.
func (o *tab) area(chart string) []float64 {
	o.t.Helper()
	return eval[[]float64](o, fmt.Sprintf(`(() => {
		const o = document.querySelector("#%s .u-over");
		o.scrollIntoView({ block: "center", behavior: "instant" });
		const r = o.getBoundingClientRect();
		return [r.left, r.top, r.width, r.height];
	})()`, chart))
}

// mouse moves, presses or releases the mouse at a share of the width of a chart. clicks is 0 for a move.
func (o *tab) mouse(kind input.DispatchMouseEventType, chart string, share float64, clicks int64) {
	o.t.Helper()
	a := o.area(chart)
	e := input.DispatchMouseEventParams{Type: kind, X: a[0] + share*a[2], Y: a[1] + a[3]/2, ClickCount: clicks}
	if clicks > 0 {
		e.Button = input.MouseButtonLeft
	}
	call(o, input.DispatchMouseEvent, e)
}

// leftEnd returns the time at the left end of a chart, as it reads it out.
func (o *tab) leftEnd(chart string) string {
	o.t.Helper()
	for _, share := range []float64{0.5, 0.005} {
		o.mouse(input.DispatchMouseEventTypeMouseMoved, chart, share, 0)
	}
	o.do(chromedp.Sleep(150 * time.Millisecond)) // a later frame shows it
	return eval[string](o, fmt.Sprintf(`document.querySelector("#%s .u-legend .u-value").textContent`, chart))
}

// drag zooms into a chart.
func (o *tab) drag(chart string, from, to float64) {
	o.t.Helper()
	o.mouse(input.DispatchMouseEventTypeMouseMoved, chart, from, 0)
	o.mouse(input.DispatchMouseEventTypeMousePressed, chart, from, 1)
	o.mouse(input.DispatchMouseEventTypeMouseMoved, chart, (from+to)/2, 1)
	o.mouse(input.DispatchMouseEventTypeMouseMoved, chart, to, 1)
	o.mouse(input.DispatchMouseEventTypeMouseReleased, chart, to, 1)
}

// doubleClick shows the whole time again.
func (o *tab) doubleClick(chart string) {
	o.t.Helper()
	for clicks := range int64(2) {
		o.mouse(input.DispatchMouseEventTypeMousePressed, chart, 0.5, clicks+1)
		o.mouse(input.DispatchMouseEventTypeMouseReleased, chart, 0.5, clicks+1)
	}
}

// print returns the page as a PDF.
func (o *tab) print() []byte {
	o.t.Helper()
	background := true
	return call(o, page.PrintToPDF, page.PrintToPDFParams{PrintBackground: &background}).Data
}
