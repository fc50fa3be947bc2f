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
	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./internal/report -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; accept with -update):\n%s", path, diff)
	}
}

func written(t *testing.T, format Format, r result.Result, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := format(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	escapes  = regexp.MustCompile("\x1b\\[[0-9;]*m")
	trailing = regexp.MustCompile(`(?m)[ \t]+$`)
)

func TestTextIsWhatTheGoldenFilesShow(t *testing.T) {
	looks := map[string]*theme.Theme{
		"plain": nil,
		"color": theme.New(theme.Options{Profile: colorprofile.TrueColor, Dark: true}),
		"ascii": theme.New(theme.Options{ASCII: true}),
	}
	for name, r := range results() {
		for look, th := range looks {
			t.Run(name+"_"+look, func(t *testing.T) {
				text := written(t, Text, r, Options{Theme: th, RunFile: "runs/orders.ktr"})
				golden(t, "text/"+name+"_"+look+".txt", text)
				if colored := strings.Contains(text, "\x1b"); colored != (look == "color") {
					t.Errorf("escape sequences there: %t", colored)
				}
				if at := trailing.FindStringIndex(escapes.ReplaceAllString(text, "")); at != nil {
					t.Errorf("spaces at the end of a line, at byte %d", at[0])
				}
				if look == "ascii" {
					for i, r := range text {
						if r > '~' || r < ' ' && r != '\n' {
							t.Fatalf("%q at byte %d is not printable ASCII", r, i)
						}
					}
				}
			})
		}
		plain := written(t, Text, r, Options{})
		colored := written(t, Text, r, Options{Theme: looks["color"]})
		if diff := cmp.Diff(plain, escapes.ReplaceAllString(colored, "")); diff != "" {
			t.Errorf("%s: colours change more than the colour (-plain +colored):\n%s", name, diff)
		}
	}
}

func TestTheDetailsOfARunOfThePastAreWhatTheGoldenFilesShow(t *testing.T) {
	for _, of := range []string{"fixed", "roundtrip", "consume", "merged"} {
		r := results()[of]
		r.Stability = &result.Stability{Label: inference.Flat, Variation: 0.012, MeansSeconds: 5}
		r.Args, r.KTVersion = append(r.Args, "--topic-config", "min.insync.replicas=2 retention.ms=1", "--header", "it's=1"), "1.2.3 (0123456789ab, 2026-11-20)"
		o := Options{Verbose: true, Full: true, Width: 80, RunFile: "runs/orders.ktr"}
		golden(t, "text/"+of+"_verbose.txt", written(t, Text, r, o))
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
		if n := strings.Count(text, "\n"); n > 24 {
			t.Errorf("%s takes %d lines:\n%s", of, n, text)
		}
	}
}

func TestASCIIKeepsNamesThatTheUserGave(t *testing.T) {
	text := written(t, Text, results()["fixed"], Options{Theme: theme.New(theme.Options{ASCII: true}), RunFile: "/home/jörg/läufe/1.ktr"})
	if !strings.Contains(text, "kt report '/home/jörg/läufe/1.ktr'\n") {
		t.Errorf("the command to read it again names another file:\n%s", text)
	}
}

func TestTextSaysWhatMattersFirst(t *testing.T) {
	all := results()
	for _, tc := range []struct {
		name     string
		of       string
		has, not []string
	}{
		{"a rate is judged by response", "fixed", []string{"target 1,000", "response", "due → acknowledged", "service", "send delay"}, []string{"NOT VALID", "mostly queueing", "▲"}},
		{"an unlimited one by throughput", "unlimited", []string{"mostly queueing: the rate is unlimited", "limit        broker acks", "not compressed"}, []string{"target", "response"}},
		{"what is not valid says so", "invalid", []string{"NOT VALID", "more than 25ms late, although"}, nil},
		{"the embedded broker is named at once", "embedded", []string{"▲ " + result.EmbeddedNotice}, []string{"partitions 1,"}},
		{"an interruption is named at once", "interrupted", []string{"▲ interrupted after 1m05s"}, nil},
		{"so is a run file without an end", "cut_off", []string{"▲ cut off after 1.00s"}, nil},
		{"what was lost is counted", "errors", []string{
			"2,000 acknowledged + 2,400 failed + 10 unknown", "24 more were due",
			"errors       2,000 NOT_LEADER_OR_FOLLOWER", "6 took longer than an hour", "8 requests were not answered",
		}, nil},
		{"a partition that got nothing is told", "fixed", []string{"from 0 (p3) to 1,500 records (p0)"}, nil},
	} {
		text := written(t, Text, all[tc.of], Options{Verbose: true})
		unwrapped := oneSpace(text)
		for _, s := range tc.has {
			if !strings.Contains(unwrapped, oneSpace(s)) {
				t.Errorf("%s: %q is not in:\n%s", tc.name, s, text)
			}
		}
		for _, s := range tc.not {
			if strings.Contains(unwrapped, oneSpace(s)) {
				t.Errorf("%s: %q is in:\n%s", tc.name, s, text)
			}
		}
		if strings.Contains(text, "read again") {
			t.Errorf("%s: a run file is named that is not there", tc.name)
		}
	}
}

// oneSpace undoes columns and the wrapping of long lines.
func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestErrorsAreInOneOrder(t *testing.T) {
	r := results()["errors"]
	want := written(t, Text, r, Options{})
	for range 20 {
		if got := written(t, Text, r, Options{}); got != want {
			t.Fatalf("the same result gives\n%s\nand\n%s", want, got)
		}
	}
	if b, a := strings.Index(want, "client:BUFFER"), strings.Index(want, "client:RECORD"); b < 0 || b > a || a < strings.Index(want, "NOT_LEADER") {
		t.Errorf("codes are not by count and then by name:\n%s", want)
	}
}

// encoded is a histogram as HdrHistogram's encoding has it. How it is compressed
// is the business of Go's version, and not of a golden file.
var encoded = regexp.MustCompile(`"hdr_v2_base64":( ?)"[A-Za-z0-9+/=]+"`)

func TestDocumentsForProgramsAreWhatTheGoldenFilesShow(t *testing.T) {
	for name, r := range results() {
		for format, file := range map[string]string{"json": "json/%.json", "jsonl": "jsonl/%.jsonl", "csv": "csv/%.csv", "perf-test": "perf-test/%.txt", "processes": "processes/%.csv"} {
			t.Run(name+"_"+format, func(t *testing.T) {
				text := written(t, Formats[format], r, Options{Consumer: ConsumerRows{Zone: time.UTC}})
				golden(t, strings.Replace(file, "%", name, 1), encoded.ReplaceAllString(text, `"hdr_v2_base64":$1"…"`))
			})
		}
	}
}

func TestEveryFormatPassesOnThatItCannotWrite(t *testing.T) {
	full := errors.New("no space left on device")
	names := slices.Sorted(maps.Keys(Formats))
	if diff := cmp.Diff([]string{"csv", "hgrm", "json", "jsonl", "junit", "markdown", "perf-test", "processes", "text"}, names); diff != "" {
		t.Errorf("formats (-want +got):\n%s", diff)
	}
	for _, name := range names {
		if err := Formats[name](failing{full}, results()["fixed"], Options{}); !errors.Is(err, full) {
			t.Errorf("%s gives %v", name, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

var _ io.Writer = failing{}
