package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
)

func init() { cobra.AddTemplateFunc("flagGroups", flagGroups) }

// usageTemplate is cobra's, with flags in groups.
const usageTemplate = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if or .IsAvailableCommand (eq .Name "help")}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}
{{flagGroups .LocalFlags}}{{end}}{{if .HasHelpSubCommands}}

More help:{{range .Commands}}{{if .IsAdditionalHelpTopicCommand}}
  kt help {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableSubCommands}}

Use "{{.CommandPath}} [command] --help" for more about a command.{{end}}
`

// flagGroups writes the usage of flags under the names of their groups.
func flagGroups(all *pflag.FlagSet) string {
	var b strings.Builder
	for _, name := range append(config.Groups, "") {
		group := pflag.NewFlagSet(name, pflag.ContinueOnError)
		group.SortFlags = false
		all.VisitAll(func(f *pflag.Flag) {
			if config.GroupOf(f) == name {
				group.AddFlag(f)
			}
		})
		if !group.HasAvailableFlags() {
			continue
		}
		title := name
		if title == "" {
			title = "Other"
		}
		fmt.Fprintf(&b, "\n%s flags:\n%s", title, group.FlagUsages())
	}
	return strings.TrimRight(b.String(), "\n")
}

func flagNames(c *cobra.Command) []string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// newExitCodes is a help topic: a command without anything to run.
func newExitCodes() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit codes of every kt command:\n\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, e.meaning)
	}
	b.WriteString("\n" + precedence + "\n")
	return &cobra.Command{Use: "exit-codes", Short: "What kt's exit codes mean", Long: b.String()}
}
