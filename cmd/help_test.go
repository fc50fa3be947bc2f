package cmd

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
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
			if err := writeHelp(&b, c, width); err != nil {
				t.Fatal(err)
			}
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

func TestHelpIsNotWrappedWhereThereIsNoTerminal(t *testing.T) {
	var b bytes.Buffer
	if err := writeHelp(&b, newProduce(&Env{}), 0); err != nil {
		t.Fatal(err)
	}
	if want := "100MiB/s), -1: no limit (default -1)\n"; !strings.Contains(b.String(), want) {
		t.Errorf("no line ends with %q:\n%s", want, b.String())
	}
}

func TestReflowFillsParagraphsAndKeepsTables(t *testing.T) {
	const text = "one two three four\nfive\n\nshort\n  143  ended by a signal\n  one two three four five\n\tsource <(kt completion bash)"
	const want = "one two three\nfour five\n\nshort\n  143  ended by\n       a signal\n  one two three\n  four five\n\tsource <(kt completion bash)"
	if got := reflow(text, 15); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := reflow(text, 0); got != text {
		t.Errorf("without a width it is changed:\n%s", got)
	}
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
