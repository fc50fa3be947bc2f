package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/report/page"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/suggest"
)

// command is the form of all commands: flags become settings, settings are loaded from all layers, the command runs, and what
// it has found is written. S are its settings.
type command[S any] struct {
	flags  func(*pflag.FlagSet) S                   // nil: it has none
	load   func(env *Env, s S, args []string) error // nil: S has a method Load
	values map[string][]string                      // of flags, for a shell to complete; those of completeFlags need no entry
	run    func(context.Context, *Env, S, []string) (*finding, error)

	signals bool // they end the context of run; false: they end the process
}

// none are the settings of a command that has none.
type none struct{}

// finding is what a command has found. It is written even if there is an error beside it.
type finding struct {
	write func(env *Env, w config.Written) error // to stdout
	page  func(io.Writer) error                  // for --html
	runs  []string                               // the files from which the page can be written again
	last  string                                 // to be said after all else; "": nothing
	close func()                                 // nil: nothing is open
}

// found returns a finding that is a document; v is the same for JSON.
func found(d *doc.Document, v any) *finding {
	return &finding{
		write: func(env *Env, w config.Written) error { return env.document(w.Output, w.Look, d, v) },
		page:  func(w io.Writer) error { return page.Doc(w, d) },
	}
}

// text returns a finding that is a text as it stands.
func text(s string) *finding {
	return &finding{write: func(env *Env, _ config.Written) error {
		_, err := io.WriteString(env.Stdout, s)
		return err
	}}
}

// of completes a command of cobra. Without Args it takes none.
func (d command[S]) of(env *Env, c *cobra.Command) *cobra.Command {
	var s S
	if d.flags != nil {
		s = d.flags(c.Flags())
	}
	if c.Args == nil {
		c.Args = noArgs
	}
	completeFlags(env, describe(c), d.values)
	c.RunE = func(c *cobra.Command, args []string) error {
		w, err := d.settings(env, s, args)
		if err != nil {
			return usageError(err)
		}
		if !d.signals {
			return d.carryOut(c.Context(), env, s, args, w)
		}
		return env.interruptible(c.Context(), func(ctx context.Context) error { return d.carryOut(ctx, env, s, args, w) })
	}
	return c
}

// settings loads the settings, and returns how the command writes.
func (d command[S]) settings(env *Env, s S, args []string) (w config.Written, err error) {
	loader, own := any(s).(interface {
		Load(config.System) error
	})
	switch {
	case d.load != nil:
		err = d.load(env, s, args)
	case own:
		err = loader.Load(env.configSystem())
	}
	if form, ok := any(s).(interface{ How() config.Written }); ok {
		w = form.How()
	}
	return w, errors.Join(err, result.CheckAccepted(w.Accept), env.checkOutput(w.Output))
}

// carryOut runs the command and writes what it has found. The file of a page is made before.
func (d command[S]) carryOut(ctx context.Context, env *Env, s S, args []string, w config.Written) error {
	file, err := env.pageFile(w.HTML, w.Quiet)
	if err != nil {
		return err
	}
	defer file.Discard()
	f, err := d.run(ctx, env, s, args)
	if f == nil {
		return err
	}
	if f.close != nil {
		defer f.close()
	}
	var unwritten error
	if f.page != nil { // before stdout, whose reader may be gone
		unwritten = file.Write(f.page, f.runs...)
	}
	if f.write != nil {
		unwritten = errors.Join(unwritten, f.write(env, w))
	}
	if f.last != "" {
		env.say("%s", f.last)
	}
	return worse(err, unwritten)
}

// completeFlags gives a shell the values of the flags of a command.
func completeFlags(env *Env, c *cobra.Command, own map[string][]string) {
	values := map[string][]string{ // nil: names of hosts and the like, and no files
		"accept": nil, "limit": nil, "abort-on": nil, "slo": nil, "over": nil, "may-change": {"acks"}, "fail-on": nil, "join": nil, "ladder": nil, "metrics-listen": nil, "peers": nil,
	}
	maps.DeleteFunc(values, func(flag string, _ []string) bool { return c.Flags().Lookup(flag) == nil })
	maps.Copy(values, config.Values(c.Flags()))
	maps.Copy(values, own)
	for flag, v := range values {
		complete := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			switch flag { // not before: it takes milliseconds to read them
			case "limit", "abort-on", "slo":
				v = metric.Names()
			case "accept":
				v = result.DoubtIDs()
			case "for":
				return slices.Concat(v, metric.Names()), cobra.ShellCompDirectiveNoFileComp
			case "over":
				var names []string
				for _, s := range study.Settings() {
					names = append(names, s.Name+"=")
				}
				return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
			return v, cobra.ShellCompDirectiveNoFileComp
		}
		if err := c.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // the flag exists, and has no other completion
		}
	}
	if c.Flags().Lookup("cluster") != nil {
		_ = c.RegisterFlagCompletionFunc("cluster", func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return env.clusterNames(c), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// among completes an argument by one of some names.
func among(names func() []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
}

// html is the form of output of pages.
const html = "html"

// format returns the function that writes a result in a form.
func format(name string) report.Format {
	if name == html {
		return page.Run
	}
	return report.Formats[name]
}

// document writes a document in a form, or in JSON the value that it is of.
func (e *Env) document(form string, l config.Look, d *doc.Document, v any) error {
	if form == html {
		if err := e.checkOutput(form); err != nil {
			return usageError(err)
		}
		return page.Doc(e.Stdout, d)
	}
	return report.Write(e.Stdout, form, d, v, e.reportOptions(l, false))
}

// checkOutput refuses to write a page to a terminal.
func (e *Env) checkOutput(form string) error {
	if form == html && e.StdoutTTY {
		return errors.New("--output html: a page is nothing to read on a terminal: write it to a file with > page.html")
	}
	return nil
}

// pageFile creates the file of --html. With quiet, nobody is told where it is.
func (e *Env) pageFile(path string, quiet bool) (*page.File, error) {
	f, err := page.Create(path, func() {
		if !quiet {
			e.say("page %s", path)
		}
	})
	return f, usageError(err)
}

// yamlFiles completes the names of YAML files.
func yamlFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

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
		name := unknown.GetSpecifiedName()
		text = "unknown flag: --" + name + cmp.Or(behindDashes(c, name), strings.Replace(suggest.Hint(name, flagNames(c.Flags()), ""), "mean ", "mean --", 1))
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

// behindDashes returns what to do with a flag of a load among the flags of a command that makes loads of its own.
func behindDashes(c *cobra.Command, flag string) string {
	before := map[string]string{"calibrate": "", "find": "", "trial": " linger=20ms", "optimize": " --for p99"}
	change, ok := before[c.Name()]
	if !ok || !slices.ContainsFunc(c.Root().Commands(), func(c *cobra.Command) bool {
		return slices.Contains(config.LoadCommands(), c.Name()) && c.Flags().Lookup(flag) != nil
	}) {
		return ""
	}
	return fmt.Sprintf("; write the load behind --, as in: kt %s%s -- produce --engine wire", c.Name(), change)
}

// unknownShort returns the error of a letter that is no flag; the letters may be a name that lacks a dash.
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
		return fmt.Sprintf("%s; did you mean %s?", text, suggest.List(alike, "or"))
	}
	return fmt.Sprintf("%s; the flags of one letter are %s", text, suggest.List(short, "and"))
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

// unquoteUsages removes the back quotes from the texts of all flags, which a shell would show.
func unquoteUsages(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
	for _, sub := range c.Commands() {
		unquoteUsages(sub)
	}
}
