package cmd

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/profiles"
)

// newHelp is cobra's help command, except that a topic that is not there is an error.
func newHelp(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		ValidArgsFunction: func(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
			about, _, err := c.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, name := range commandNames(about) {
				if strings.HasPrefix(name, start) {
					names = append(names, name)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			switch {
			case err != nil:
				return usageError(err)
			case len(rest) > 0:
				return unknownCommand(about, "help topic", rest[0])
			}
			about.InitDefaultHelpFlag() // which it gets only when it runs
			return writeHelp(env.Stdout, about, env.width(), env.helpAll)
		},
	}
}

// noTerminal is the width of help that is not for a terminal.
const noTerminal = 80

// writeHelp writes the help of a command in lines of at most width characters; 0: of noTerminal.
func writeHelp(w io.Writer, c *cobra.Command, width int, all bool) error {
	var b strings.Builder
	width = cmp.Or(width, noTerminal)
	long := strings.TrimSpace(cmp.Or(c.Long, c.Short))
	if before, after, found := strings.Cut(long, "{doubts}"); found { // not before: it takes milliseconds to read them
		for _, d := range result.AllDoubts() {
			before += "  " + d.ID + "\n      " + d.Text + ": " + d.Next + "\n      " + d.Means + " (" + d.Source + ")\n"
		}
		long = before + after
	}
	b.WriteString(reflow(strings.TrimSpace(long), width) + "\n")
	if c.Runnable() || c.HasSubCommands() {
		b.WriteString("\n" + usage(c, width, all))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func usage(c *cobra.Command, width int, all bool) string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if c.Runnable() {
		b.WriteString("  " + c.UseLine() + "\n")
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("  " + c.CommandPath() + " [command]\n")
	}
	if c.HasExample() {
		b.WriteString("\nExamples:\n" + c.Example + "\n")
	}
	list := func(title, before string, is func(*cobra.Command) bool) {
		for _, sub := range c.Commands() {
			if is(sub) {
				b.WriteString(title + reflow(fmt.Sprintf("  %s%-*s  %s", before, sub.NamePadding(), sub.Name(), sub.Short), width) + "\n")
				title = ""
			}
		}
	}
	list("\nCommands:\n", "", isAvailable)
	flags := c.LocalFlags()
	n := len(flagNames(flags))
	if all = all || n <= manyFlags; all {
		b.WriteString(flagGroups(flags, width))
	} else {
		group := pflag.NewFlagSet("common", pflag.ContinueOnError)
		group.SortFlags = false
		flags.VisitAll(func(f *pflag.Flag) {
			if _, common := config.GroupOf(f); common {
				group.AddFlag(f)
			}
		})
		b.WriteString("\nCommon flags:\n" + reflow(group.FlagUsages(), width))
	}
	list("\nMore help:\n", "kt help ", (*cobra.Command).IsAdditionalHelpTopicCommand)
	if !all {
		b.WriteString("\n" + reflow(fmt.Sprintf("Use %q for all %d flags.", c.CommandPath()+" --help-all", n), width) + "\n")
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n" + reflow(fmt.Sprintf("Use %q for more about a command.", c.CommandPath()+" [command] --help"), width) + "\n")
	}
	return b.String()
}

// manyFlags is the number of flags above which the help shows the common ones.
const manyFlags = 20

// isAvailable reports whether a command is offered; cobra does not count help.
func isAvailable(c *cobra.Command) bool { return c.IsAvailableCommand() || c.Name() == "help" }

// flagGroups returns the usage of flags under the names of their groups.
func flagGroups(all *pflag.FlagSet, width int) string {
	var b strings.Builder
	for _, name := range append(config.Groups(), "") {
		group := pflag.NewFlagSet(name, pflag.ContinueOnError)
		group.SortFlags = false
		all.VisitAll(func(f *pflag.Flag) {
			if of, _ := config.GroupOf(f); of == name {
				group.AddFlag(f)
			}
		})
		if group.HasAvailableFlags() {
			fmt.Fprintf(&b, "\n%s flags:\n%s", cmp.Or(name, "Other"), reflow(group.FlagUsages(), width))
		}
	}
	return b.String()
}

// reflow breaks lines that are longer than so many characters; 0: none. A paragraph with
// such a line is filled anew. An indented line stands for itself: what follows of it is
// below its last column, as in a table. A line that begins with a tab is code and stays.
func reflow(text string, width int) string {
	var out, paragraph []string
	flush := func() {
		for _, line := range paragraph {
			if width > 0 && utf8.RuneCountInString(line) > width {
				paragraph = fill(strings.Join(paragraph, " "), "", width)
				break
			}
		}
		out, paragraph = append(out, paragraph...), nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "", strings.HasPrefix(line, "\t"):
			flush()
			out = append(out, line)
		case strings.HasPrefix(line, " "):
			flush()
			if width > 0 && utf8.RuneCountInString(line) > width {
				indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
				if at := strings.LastIndex(line, "  "); at >= 0 {
					indent = strings.Repeat(" ", at+len("  ")) // the text of a row begins after its last two spaces
				}
				lines := fill(line[len(indent):], indent, width)
				lines[0] = line[:len(indent)] + strings.TrimPrefix(lines[0], indent)
				out = append(out, lines...)
			} else {
				out = append(out, line)
			}
		default:
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// fill sets words in lines that begin with an indent, of at most so many characters where
// the words allow it.
func fill(text, indent string, width int) []string {
	var lines []string
	line := indent
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == indent:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// commandNames returns the names of the commands below another that are offered, and of its
// help topics.
func commandNames(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		if isAvailable(sub) || sub.IsAdditionalHelpTopicCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// helpTexts hold the long help of a command or a topic, and its examples.
//
//go:embed help/*.txt
var helpTexts embed.FS

// describe gives a command the text of its file, if it has no other, with the names of its profiles for {profiles}.
func describe(c *cobra.Command) *cobra.Command {
	file, err := helpTexts.ReadFile("help/" + c.Name() + ".txt")
	if err != nil || c.Long != "" {
		return c
	}
	names := strings.Join(config.ProfileNames(profiles.Of(c.Name())), ", ")
	long, examples, _ := strings.Cut(strings.ReplaceAll(string(file), "{profiles}", names), "\nExamples:\n")
	c.Long, c.Example = strings.TrimRight(long, "\n"), strings.TrimRight(examples, "\n")
	return c
}
