package cmd

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/suggest"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/profiles"
)

func newConfig(env *Env) *cobra.Command {
	c := command[*config.Configure]{flags: config.NewConfigure, run: showConfig}.of(env, &cobra.Command{
		Use:   "config [COMMAND]",
		Short: "Show every setting and where it came from; check it; choose a cluster",

		SuggestFor: []string{"configuration", "settings", "context"},
		Args:       oneCommand,
		ValidArgs:  config.Commands(),
	})
	c.AddCommand(
		command[*config.Configure]{flags: config.NewConfigFile, load: unloaded, run: checkConfig}.of(env, &cobra.Command{
			Use:   "check [FILE]",
			Short: "Find mistakes in the configuration files",
			Long: `Find mistakes in the configuration files that commands read, or in one file: keys that kt
does not know, with their lines, values that do not fit, clusters that are not there, and
properties files that cannot be read. Variables that look like kt's and are none are
told too. Exit code 2: there is a mistake.`,
			Example: `  kt config check
  kt config check ci/kt.yaml`,
			Args:              orNone("one file"),
			ValidArgsFunction: yamlFiles,
		}),
		command[*config.Configure]{flags: config.NewConfigure, run: listClusters}.of(env, &cobra.Command{
			Use:     "clusters",
			Short:   "List the clusters of the configuration file, and which one is in use",
			Example: "  kt config clusters --output json | jq -r '.clusters[].name'",
		}),
		command[*config.Configure]{flags: config.NewConfigFile, load: unloaded, run: useCluster}.of(env, &cobra.Command{
			Use:   "use CLUSTER",
			Short: "Choose the cluster that commands use",
			Long: `Choose the cluster that commands use when nothing else names brokers. kt writes a line,
cluster: NAME, into the file that holds the clusters, and leaves the rest of it as it is.`,
			Example: "  kt config use staging",
			Args:    one("the name of a cluster"),
			ValidArgsFunction: func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
				return env.clusterNames(c), cobra.ShellCompDirectiveNoFileComp
			},
		}),
	)
	return c
}

// oneCommand refuses arguments that are no command with settings.
func oneCommand(c *cobra.Command, args []string) error {
	known := config.Commands()
	switch {
	case len(args) > 1:
		return usageError(fmt.Errorf("%s takes one command or none (see: %s --help)", c.CommandPath(), c.CommandPath()))
	case len(args) == 0 || slices.Contains(known, args[0]):
		return nil
	}
	return usageError(fmt.Errorf("unknown command %q%s (see: %s --help)", args[0], suggest.Hint(args[0], append(commandNames(c), known...), ""), c.CommandPath()))
}

func showConfig(_ context.Context, env *Env, flags *config.Configure, commands []string) (*finding, error) {
	if len(commands) == 0 {
		commands = config.Commands()
	}
	values, err := flags.Effective(commands, env.configSystem())
	if err != nil {
		return nil, usageError(err)
	}
	t := doc.NewTable("list", theme.Plural(len(values), "setting", "settings"), "setting|whole", "value|words", "from|words", "only of|words|1")
	for _, v := range values {
		t.Add(v.Name, v.Value, v.Source, strings.Join(v.Commands, ", "))
	}
	d := report.OfTable("kt config", t.Caption, t, values)
	return found(d, struct {
		Schema   int            `json:"schema"`
		Settings []config.Value `json:"settings"`
	}{1, values}), nil
}

// unloaded is for commands that only read or write the files.
func unloaded(*Env, *config.Configure, []string) error { return nil }

func checkConfig(_ context.Context, env *Env, flags *config.Configure, args []string) (*finding, error) {
	names, err := flags.Check(strings.Join(args, ""), env.configSystem(), env.maker().CheckClients)
	if err != nil {
		return nil, usageError(err)
	}
	if len(names) == 0 {
		return text("there is no configuration file, and no mistake in the environment\n"), nil
	}
	return text(theme.Clean(strings.Join(names, ", ")+": no mistake found") + "\n"), nil
}

func listClusters(_ context.Context, env *Env, flags *config.Configure, _ []string) (*finding, error) {
	all, err := flags.Clusters(env.configSystem())
	if err == nil && len(all) == 0 && flags.Output != "json" {
		err = config.ErrNoClusters
	}
	if err != nil {
		return nil, usageError(err)
	}
	t := doc.NewTable("list", theme.Plural(len(all), "cluster", "clusters"), "in use|words", "cluster|whole", "brokers|words", "properties|words|1", "protected|words", "description|words|2")
	for _, c := range all {
		mark, protected, properties := "", "", ""
		if c.Current {
			mark = "*"
		}
		if c.Protected {
			protected = "yes"
		}
		if c.Properties != "" {
			properties = filepath.Base(c.Properties)
		}
		t.Add(mark, c.Name, strings.Join(c.Bootstrap, ","), properties, protected, c.Description)
	}
	d := report.OfTable("kt config clusters", t.Caption, t, all)
	return found(d, struct {
		Schema   int              `json:"schema"`
		Clusters []config.Cluster `json:"clusters"`
	}{1, all}), nil
}

func useCluster(_ context.Context, env *Env, flags *config.Configure, args []string) (*finding, error) {
	path, err := flags.Use(args[0], env.configSystem())
	if err != nil {
		return nil, usageError(err)
	}
	env.say("commands use cluster %s now: %s", args[0], path)
	all, err := flags.Clusters(env.configSystem())
	if err == nil && !slices.ContainsFunc(all, func(c config.Cluster) bool { return c.Current && c.Name == args[0] }) {
		env.say("but a variable or ./%s names other brokers, which count more: kt config shows them", projectFile)
	}
	return nil, err
}

// shippedProfile is the settings that kt has for a command under a name.
type shippedProfile struct {
	Command     string `json:"command"`
	Name        string `json:"name"`
	Description string `json:"description"`
	text        string // YAML
}

func newProfiles(env *Env) *cobra.Command {
	c := command[*config.Plain]{flags: config.NewProfiles, run: listProfiles}.of(env, &cobra.Command{
		Use:   "profiles",
		Short: "List the profiles of all commands, and show one",
	})
	c.AddCommand(command[none]{run: showProfile}.of(env, &cobra.Command{
		Use:               "show NAME",
		Short:             "Show what a profile sets, as YAML",
		Long:              "Show what a profile sets, as YAML: of every command that has one of this name.",
		Example:           "  kt profiles show linkedin-3 > mine.yaml",
		Args:              one("the name of a profile"),
		ValidArgsFunction: among(profileNames),
	}))
	return c
}

func listProfiles(context.Context, *Env, *config.Plain, []string) (*finding, error) {
	all, err := shippedProfiles()
	t := doc.NewTable("list", theme.Plural(len(all), "profile", "profiles"), "command|whole", "profile|whole", "description|sentence")
	for _, p := range all {
		t.Add("kt "+p.Command, p.Name, p.Description)
	}
	d := report.OfTable("kt profiles", t.Caption, t, all)
	return found(d, struct {
		Schema   int              `json:"schema"`
		Profiles []shippedProfile `json:"profiles"`
	}{1, all}), err
}

func showProfile(_ context.Context, _ *Env, _ none, args []string) (*finding, error) {
	all, err := shippedProfiles()
	var texts []string
	for _, p := range all {
		if p.Name == args[0] {
			texts = append(texts, fmt.Sprintf("# kt %s --profile %s\n%s", p.Command, p.Name, p.text))
		}
	}
	if err == nil && len(texts) == 0 {
		return nil, usageError(fmt.Errorf("there is no profile %s%s", args[0], suggest.Hint(args[0], profileNames(), "; kt profiles lists them")))
	}
	return text(strings.Join(texts, "---\n")), err
}

// shippedProfiles returns the profiles of all commands.
func shippedProfiles() (all []shippedProfile, err error) {
	for _, command := range []string{string(plan.Produce), string(plan.Consume), string(plan.Roundtrip), "tune"} {
		for _, name := range config.ProfileNames(profiles.Of(command)) {
			text, err := fs.ReadFile(profiles.Of(command), name+".yaml")
			if err != nil {
				return nil, err
			}
			first, _, _ := strings.Cut(string(text), "\n") // as a test has it
			all = append(all, shippedProfile{command, name, strings.TrimPrefix(first, "description: "), string(text)})
		}
	}
	return all, nil
}

// profileNames returns the names of all profiles, sorted.
func profileNames() []string {
	all, _ := shippedProfiles() // they are in the binary
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
