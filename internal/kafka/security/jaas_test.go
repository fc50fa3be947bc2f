package security

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// jaas_java.txt is what Kafka itself made of the lines of jaas.txt: see Jaas.java.
func TestJAASIsReadAsKafkaReadsIt(t *testing.T) {
	given, wanted := lines(t, "testdata/jaas.txt"), lines(t, "testdata/jaas_java.txt")
	if len(given) != len(wanted) {
		t.Fatalf("%d lines and %d answers", len(given), len(wanted))
	}
	for i, text := range given {
		got := "error"
		if m, err := parseJAAS(strings.ReplaceAll(text, `\u000a`, "\n")); err == nil {
			got = m.name
			for _, name := range slices.Sorted(maps.Keys(m.options)) {
				got += "\t" + name + "=" + m.option(name)
			}
		}
		if got = escaped(got); got != wanted[i] {
			t.Errorf("%s\n got %q\nwant %q", text, got, wanted[i])
		}
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text := must.Have(os.ReadFile(path))(t)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// escaped writes characters as Jaas.java does.
func escaped(text string) string {
	var out strings.Builder
	for _, c := range text {
		if c == '\t' || c >= ' ' && c < 127 {
			out.WriteRune(c)
		} else {
			fmt.Fprintf(&out, `\u%04x`, c)
		}
	}
	return out.String()
}

func TestWrongJAASSaysWhatToDoAndShowsNoSecret(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "begin with the class of a login module",
		"hunter2":                    "must begin with a login module",
		"a.PlainLoginModule":         "write required",
		"a.PlainLoginModule hunter2": "must be required",
		"a.PlainLoginModule required username=a password=hunter2":            "a semicolon is missing",
		"a.PlainLoginModule required username=a password=hun+hunter2;":       "double quotes",
		"a.PlainLoginModule required username=a password=2hunter2;":          "option password has no value that Java reads",
		"a.PlainLoginModule required username=a password=hun ter hunter2;":   "double quotes",
		"a.PlainLoginModule required username=a password=hun;hunter2;":       "double quotes",
		"com.example.HunterLoginModule required username=a password=hunter2": "must begin with a login module: PlainLoginModule",
	} {
		_, err := parseJAAS(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Whatever the text is, parsing ends without a panic, and what was parsed comes back when it is
// written with quotes.
func FuzzJAAS(f *testing.F) {
	text := must.Have(os.ReadFile("testdata/jaas.txt"))(f)
	for line := range strings.Lines(string(text)) {
		f.Add(strings.TrimSpace(line))
	}
	quote := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(s) + `"`
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseJAAS(text)
		if err != nil {
			return
		}
		again := m.name + " required"
		for name, value := range m.options {
			again += " " + quote(name) + "=" + quote(value.Reveal())
		}
		n, err := parseJAAS(again + ";")
		if err != nil || len(n.options) != len(m.options) {
			t.Fatalf("%q: %v, %d of %d options", again, err, len(n.options), len(m.options))
		}
		for name := range m.options {
			if n.option(name) != m.option(name) {
				t.Errorf("option %q is %q, was %q", name, n.option(name), m.option(name))
			}
		}
	})
}
