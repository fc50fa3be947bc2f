package cmd

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/must"
)

var update = flag.Bool("update", false, "write the golden files anew")

// everyCommand calls f for a command and all below it.
func everyCommand(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		everyCommand(sub, f)
	}
}

func TestHelpFitsTheTerminal(t *testing.T) {
	for _, width := range []int{60, 80, 120} {
		everyCommand(newRoot(&Env{}), func(c *cobra.Command) {
			var b bytes.Buffer
			must.Do(t, writeHelp(&b, c, width, true))
			examples := strings.Split(c.Example, "\n")
			for line := range strings.SplitSeq(b.String(), "\n") {
				isExample := false
				for _, e := range examples {
					isExample = isExample || e == line
				}
				if utf8.RuneCountInString(line) > width && (!isExample || width >= 80) {
					t.Errorf("kt help %s, in %d columns: %q", c.Name(), width, line)
				}
			}
		})
	}
}

func TestHelpIsWhatTheGoldenFilesShow(t *testing.T) {
	for _, name := range []string{"produce", "consume", "roundtrip", "exit-codes"} {
		c, _ := must.Both(newRoot(&Env{}).Find([]string{name}))(t)
		var b bytes.Buffer
		must.Do(t, writeHelp(&b, c, 0, false))
		path := filepath.Join("testdata", "help", name+".txt")
		if *update {
			must.Do(t, os.WriteFile(path, b.Bytes(), 0o644))
		}
		want := must.Have(os.ReadFile(path))(t)
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-want +got; accept with -update):\n%s", path, diff)
		}
	}
}

func TestTheHelpHasTheCommonFlagsFirstAndAllOnRequest(t *testing.T) {
	out := new(bytes.Buffer)
	for _, tc := range []struct {
		args []string
		all  bool
	}{{[]string{"produce", "--help"}, false}, {[]string{"produce", "--help-all"}, true}, {[]string{"help", "produce", "--help-all"}, true}} {
		out.Reset()
		env := Env{Args: tc.args, Stdout: out, StdoutTTY: true, Getenv: func(string) string { return "" }}
		if code := Main(env); code != exitOK || !strings.Contains(out.String(), "--rate RATE") || strings.Contains(out.String(), "--payload-delimiter") != tc.all {
			t.Errorf("%q ends with %d:\n%s", tc.args, code, out)
		}
	}
}

func TestReflowFillsParagraphsAndKeepsTables(t *testing.T) {
	const text = "one two three four\nfive\n\nshort\n  143  ended by a signal\n  one two three four five\n\tsource <(kt completion bash)"
	const want = "one two three\nfour five\n\nshort\n  143  ended by\n       a signal\n  one two three\n  four five\n\tsource <(kt completion bash)"
	if got := reflow(text, 15); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	must.Match(t, text, reflow(text, 0), "without a width it is changed:")
}

func TestNoTextThatTheShellOffersHasMarks(t *testing.T) {
	root := newRoot(&Env{})
	unquoteUsages(root)
	everyCommand(root, func(c *cobra.Command) {
		if usages := c.Flags().FlagUsages(); strings.Contains(usages, "`") {
			t.Errorf("kt %s:\n%s", c.Name(), usages)
		}
	})
}
