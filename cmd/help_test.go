package cmd

import (
	"bytes"
	"context"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/must"
)

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
				must.True(t, utf8.RuneCountInString(line) <= width || isExample && width < 80 || !strings.Contains(strings.TrimSpace(line), " "), "kt help %s, in %d columns: %q", c.Name(), width, line)
			}
		})
	}
}

func TestHelpIsWhatTheGoldenFilesShow(t *testing.T) {
	for _, name := range []string{"produce", "consume", "roundtrip", "exit-codes"} {
		c, _ := must.Both(newRoot(&Env{}).Find([]string{name}))(t)
		var b bytes.Buffer
		must.Do(t, writeHelp(&b, c, 0, false))
		must.Golden(t, filepath.Join("testdata", "help", name+".txt"), b.String())
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
	got := reflow(text, 15)
	must.True(t, got == want, "got:\n%s\nwant:\n%s", got, want)
	must.Match(t, text, reflow(text, 0), "without a width it is changed:")
}

func TestNoTextThatTheShellOffersHasMarks(t *testing.T) {
	root := newRoot(&Env{})
	unquoteUsages(root)
	everyCommand(root, func(c *cobra.Command) {
		usages := c.Flags().FlagUsages()
		must.True(t, !strings.Contains(usages, "`"), "kt %s:\n%s", c.Name(), usages)
	})
}

// A shell waits for what is looked up. A broker that hangs may take longer than its time, and is not waited for.
func TestALookUpGivesUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, r := range []struct {
			name  string
			takes time.Duration
			want  []string
		}{
			{"a broker that answers", lookUpTime / 2, []string{"orders"}},
			{"one that hangs", time.Minute, nil},
		} {
			c := &cobra.Command{Use: "kt"}
			c.Flags().String("topic", "", "")
			lookUp(c, "topic", func(context.Context, *pflag.FlagSet) []string {
				time.Sleep(r.takes)
				return []string{"orders"}
			})
			complete, _ := c.GetFlagCompletionFunc("topic")
			began := time.Now()
			got, _ := complete(c, nil, "")
			took := time.Since(began)
			must.True(t, slices.Equal(got, r.want) && took <= 400*time.Millisecond, "%s: %q after %s", r.name, got, took)
		}
		time.Sleep(time.Minute) // the broker that hangs, whose goroutine would end with the process
	})
}

func TestGoKnowsTheBuildWhereTheLinkerSetNothing(t *testing.T) {
	info := &debug.BuildInfo{
		Main: debug.Module{Version: "(devel)"},
		Deps: []*debug.Module{{Path: "github.com/twmb/franz-go", Version: "v1.2.3"}, {Path: "github.com/twmb/franz-go/pkg/kmsg", Version: "v9"}},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
		},
	}
	b := build{}.complete(info)
	must.Match(t, []string{"devel (0123456789ab dirty, 2026-01-02T03:04:05Z)", "v1.2.3"}, []string{b.String(), b.FranzGo}, "%s, franz-go %s", b, b.FranzGo)
	b = build{Version: "1.0.0", Commit: "fedcba", Date: "today"}.complete(&debug.BuildInfo{})
	must.Match(t, "1.0.0 (fedcba, today)", b.String(), "%s", b)

	// Of a build in a checkout without a tag, Go's version says all.
	info.Main.Version, info.Settings[0].Value = "v0.0.0-20261123061815-1d5a29bfe2b7+dirty", "1d5a29bfe2b75918113"
	b = build{}.complete(info)
	must.True(t, b.String() == info.Main.Version && b.Dirty, "%s, dirty: %v; want %s", b, b.Dirty, info.Main.Version)
}
