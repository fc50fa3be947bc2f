package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/suggest"
)

// This file holds the errors of a wrong command line.

// noArgs refuses arguments, and suggests the command that was meant.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(c, "command or argument", args[0])
}

// unknownCommand returns the error of a name that is none of the commands below c.
func unknownCommand(c *cobra.Command, what, name string) error {
	text := fmt.Sprintf("unknown %s %q", what, name)
	meant := suggest.Nearest(name, commandNames(c))
	for _, sub := range c.Commands() {
		if slices.Contains(sub.SuggestFor, strings.ToLower(name)) {
			meant = sub.Name()
		}
	}
	if meant != "" {
		text += fmt.Sprintf("; did you mean %s?", meant)
	}
	return usageError(fmt.Errorf("%s (see: %s --help)", text, c.CommandPath()))
}

// flagError makes the flag parser's errors usage errors in kt's own words.
func flagError(c *cobra.Command, err error) error {
	text := err.Error()
	var (
		unknown *pflag.NotExistError
		empty   *pflag.ValueRequiredError
		syntax  *pflag.InvalidSyntaxError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		text = unknownShort(c.Flags(), unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames())
	case errors.As(err, &unknown):
		text = "unknown flag: --" + unknown.GetSpecifiedName()
		if n := suggest.Nearest(unknown.GetSpecifiedName(), flagNames(c.Flags())); n != "" {
			text += fmt.Sprintf("; did you mean --%s?", n)
		}
		if behind := behindDashes(c, unknown.GetSpecifiedName()); behind != "" {
			text = "unknown flag: --" + unknown.GetSpecifiedName() + behind
		}
	case errors.As(err, &empty):
		dashes := "--"
		if empty.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		value, _ := pflag.UnquoteUsage(empty.GetFlag())
		flag := dashes + empty.GetSpecifiedName()
		text = fmt.Sprintf("%s: it needs a value: write %s %s", flag, flag, value)
	case errors.As(err, &syntax):
		text = fmt.Sprintf("%q is no flag: write --NAME or --NAME=VALUE", syntax.GetSpecifiedFlag())
	}
	return usageError(fmt.Errorf("%s (see: %s --help)", text, c.CommandPath()))
}

// behindDashes returns what to do with a flag of a load that stands among the flags of a command that makes loads of its
// own; "": nothing.
func behindDashes(c *cobra.Command, flag string) string {
	before := map[string]string{"calibrate": "", "find": "", "trial": " linger=20ms"}
	change, ok := before[c.Name()]
	if !ok || !isLoadFlag(c.Root(), flag) {
		return ""
	}
	return fmt.Sprintf("; write the load behind --, as in: kt %s%s -- produce --engine wire", c.Name(), change)
}

// isLoadFlag reports whether a command that makes a load has a flag.
func isLoadFlag(root *cobra.Command, flag string) bool {
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool {
		return slices.Contains([]string{string(plan.Produce), string(plan.Consume), string(plan.Roundtrip)}, c.Name()) && c.Flags().Lookup(flag) != nil
	})
}

// unknownShort returns the error of a letter that is no flag, among letters after one dash. The
// letters may be the name of a flag, which takes two dashes.
func unknownShort(flags *pflag.FlagSet, letter, letters string) string {
	names := flagNames(flags)
	word, _, _ := strings.Cut(letters, "=")
	if n := suggest.Nearest(word, names); len(word) > 1 && n != "" {
		return fmt.Sprintf("unknown flag: -%s; did you mean --%s?", word, n)
	}
	var alike, short []string
	flags.VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden:
		case f.Shorthand != "":
			short = append(short, "-"+f.Shorthand)
		case strings.HasPrefix(f.Name, letter):
			alike = append(alike, "--"+f.Name)
		}
	})
	text := "unknown flag: -" + letter
	if word != letter {
		text += " in -" + word
	}
	if len(alike) > 0 {
		return fmt.Sprintf("%s; did you mean %s?", text, listed(alike, "or"))
	}
	return fmt.Sprintf("%s; the flags of one letter are %s", text, listed(short, "and"))
}

// listed joins words as a sentence does.
func listed(words []string, last string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// flagNames returns the names of the flags that the help shows.
func flagNames(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// unquoteUsages removes the back quotes from the texts of all flags. The help finds the name of a
// value by them, but a shell would show them.
func unquoteUsages(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
	for _, sub := range c.Commands() {
		unquoteUsages(sub)
	}
}
