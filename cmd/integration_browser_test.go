//go:build integration

package cmd

import (
	"context"
	"fmt"
	"os/exec"
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
)

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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		o.t.Fatalf("%s: %s: %v", o.url, command.Method, err)
	}
	return r
}

func (o *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	o.t.Helper()
	if err := chromedp.Do(o.ctx, steps...); err != nil {
		o.t.Fatalf("%s: %v", o.url, err)
	}
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
	if len(o.said) > 0 {
		o.t.Errorf("%s: on the console: %q", o.url, o.said)
	}
	others := slices.DeleteFunc(slices.Clone(o.requests), func(url string) bool { return url == o.url || strings.HasPrefix(url, "data:") })
	if len(others) > 0 || len(o.requests) == 0 {
		o.t.Errorf("%s: it asked for %q of %q", o.url, others, o.requests)
	}
}

// eval returns what an expression gives in the page.
func eval[T any](o *tab, expression string) T {
	o.t.Helper()
	value, err := chromedp.Run(o.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		o.t.Fatalf("%s: %v", o.url, err)
	}
	return value
}

// await waits until an expression holds.
func (o *tab) await(expression string) {
	o.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !eval[bool](o, expression); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			o.t.Fatalf("%s: it never was so: %s; on the console: %q", o.url, expression, o.said)
		}
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
