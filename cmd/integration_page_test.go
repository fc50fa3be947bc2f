//go:build integration

package cmd

import (
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
		run := k.ktIn(t, dir, "produce", "--bootstrap-server", k.brokers, "--rate", rate, "--warmup", "1s", "--duration", "5s", "--delete-topic", "--topic", "page-"+name,
			"--result", name+".ktr")
		must.Do(t, run.Start())
		runs = append(runs, run)
	}
	for _, run := range runs {
		_ = run.Wait() // on a busy machine it is not valid, and has a page all the same
	}
	write := func(name string, args ...string) string {
		out, err := k.ktIn(t, dir, args...).Output()
		path := filepath.Join(dir, name+".html")
		if err == nil {
			err = os.WriteFile(path, out, 0o644)
		}
		if err != nil {
			t.Fatalf("kt %q: %v", args, err)
		}
		return path
	}
	pages := map[string]string{
		"one":     write("one", "report", "a.ktr", "--output", "html"),
		"two":     write("two", "report", "a.ktr", "b.ktr", "--output", "html"),
		"compare": write("compare", "compare", "a.ktr", "b.ktr", "--output", "html"),
		"study": write("study", "study", "run", "partitions", "--bootstrap-server", k.brokers, "--quiet", "--output", "html",
			"--set", "partitions=1,4", "--run-time", "1s", "--repeats", "1", "--rest", "0", "--discard", "0"),
	}
	var r result.Result
	if out, err := k.ktIn(t, dir, "report", "a.ktr", "--output", "json").Output(); err != nil || json.Unmarshal(out, &r) != nil {
		t.Fatal(err)
	}
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
		if is := eval[int64](o, "document.documentElement.scrollWidth"); is > width {
			o.t.Errorf("%s: it is %d px wide on a screen of %d", name, is, width)
		}
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
		if end == whole[i] {
			o.t.Errorf("%s begins at %s after a drag over the throughput, as before", charts[i], end)
		}
	}
	o.doubleClick(second)
	for i, end := range ends() {
		if end != whole[i] {
			o.t.Errorf("%s begins at %s after a double click; before the drag at %s", charts[i], end, whole[i])
		}
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
	if strings.Contains(string(out), "Dark / light") {
		o.t.Errorf("%s: buttons are printed", name)
	}
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
		if !strings.Contains(flat(all), flat(text)) {
			o.t.Errorf("%s: it lacks %q:\n%s", name, text, all)
		}
	}
}
