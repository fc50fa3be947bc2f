package report

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./internal/report -update", err)
	}
	must.Match(t, string(want), got, "%s", path)
}

func written(t *testing.T, format Format, r result.Result, o Options) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, format(&b, r, o))
	return b.String()
}

var (
	escapes  = regexp.MustCompile("\x1b\\[[0-9;]*m")
	trailing = regexp.MustCompile(`(?m)[ \t]+$`)
)

// goldens are the results that have a golden file in each format.
var goldens = map[string][]string{
	"text":      {"fixed", "unlimited", "invalid", "errors", "outage", "consume", "roundtrip", "stages", "embedded", "merged", "merged_mixed", "merged_beside", "limits"},
	"markdown":  {"errors", "merged_mixed", "limits"},
	"json":      {"errors", "roundtrip", "merged_mixed"},
	"jsonl":     {"fixed"},
	"csv":       {"errors", "roundtrip"},
	"processes": {"roundtrip", "merged_mixed", "merged_beside"},
	"perf-test": {"errors", "consume", "roundtrip", "merged"},
	"junit":     {"limits", "invalid"},
}

func TestEveryFormatIsWhatTheGoldenFilesShow(t *testing.T) {
	all := results()
	all["limits"], all["merged_beside"] = limited(), mergedBeside()
	o := Options{RunFile: "runs/orders.ktr", Consumer: ConsumerRows{Zone: time.UTC}}
	for format, names := range goldens {
		for _, name := range names {
			text := written(t, Formats[format], all[name], o)
			golden(t, format+"/"+name+".txt", encoded.ReplaceAllString(text, `"hdr_v2_base64":$1"…"`))
		}
	}
	for name, o := range map[string]Options{
		"color":      {Theme: theme.New(theme.Options{Profile: colorprofile.TrueColor, Dark: true})},
		"ascii":      {Theme: theme.New(theme.Options{ASCII: true})},
		"60":         {Width: 60},
		"80_verbose": {Width: 80, Verbose: true, Full: true},
	} {
		r := all["merged"]
		r.Stability = &result.Stability{Label: inference.Flat, Variation: 0.012, MeansSeconds: 5}
		r.Args, r.KTVersion = append(r.Args, "--topic-config", "min.insync.replicas=2 retention.ms=1", "--header", "it's=1"), "1.2.3 (0123456789ab, 2026-11-20)"
		o.RunFile = "runs/orders.ktr"
		golden(t, "text/merged_"+name+".txt", written(t, Text, r, o))
	}
}

func TestLooksChangeNothingButTheLook(t *testing.T) {
	for name, r := range results() {
		plain := written(t, Text, r, Options{})
		colored := written(t, Text, r, Options{Theme: theme.New(theme.Options{Profile: colorprofile.TrueColor, Dark: true})})
		must.Match(t, plain, escapes.ReplaceAllString(colored, ""), "%s: colours change more than the colour", name)
		if strings.Contains(plain, "\x1b") || !strings.Contains(colored, "\x1b") || trailing.MatchString(plain) {
			t.Errorf("%s has escape sequences without colours, or none with them, or spaces at the end of a line", name)
		}
		for i, c := range written(t, Text, r, Options{Theme: theme.New(theme.Options{ASCII: true})}) {
			if c > '~' || c < ' ' && c != '\n' {
				t.Fatalf("%s: %q at byte %d is not printable ASCII", name, c, i)
			}
		}
	}
}

func TestTheSummaryOfASmallRunFitsATerminal(t *testing.T) {
	for _, of := range []string{"fixed", "unlimited", "embedded"} {
		r := results()[of]
		r.Plan.Producers, r.Client.Transactions = 1, 0
		if r.Embedded {
			r.Brokers = r.Brokers[:1]
		}
		text := written(t, Text, r, Options{RunFile: "runs/orders.ktr", Width: 80})
		if n := strings.Count(text, "\n"); n > 25 {
			t.Errorf("%s takes %d lines:\n%s", of, n, text)
		}
	}
}

func TestASCIIKeepsNamesThatTheUserGave(t *testing.T) {
	text := written(t, Text, results()["fixed"], Options{Theme: theme.New(theme.Options{ASCII: true}), RunFile: "/home/jörg/läufe/1.ktr"})
	must.Has(t, "the command to read it again names another file", text, "kt report '/home/jörg/läufe/1.ktr'\n")
}

// oneSpace undoes columns and the wrapping of long lines.
func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// encoded is a histogram as HdrHistogram's encoding has it. How it is compressed
// is the business of Go's version, and not of a golden file.
var encoded = regexp.MustCompile(`"hdr_v2_base64":( ?)"[A-Za-z0-9+/=]+"`)

func TestEveryFormatPassesOnThatItCannotWrite(t *testing.T) {
	full := errors.New("no space left on device")
	names := slices.Sorted(maps.Keys(Formats))
	must.Match(t, []string{"csv", "hgrm", "json", "jsonl", "junit", "line", "markdown", "perf-test", "processes", "text", "yaml"}, names, "formats")
	for _, name := range names {
		if err := Formats[name](failing{full}, results()["fixed"], Options{}); !errors.Is(err, full) {
			t.Errorf("%s gives %v", name, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

var _ io.Writer = failing{}
