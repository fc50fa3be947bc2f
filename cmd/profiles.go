package cmd

import (
	"context"
	"fmt"
	"io/fs"
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

// shippedProfile is the settings that kt has for a command under a name.
type shippedProfile struct {
	Command     string `json:"command"`
	Name        string `json:"name"`
	Description string `json:"description"`
	text        string // YAML
}

func newProfiles(env *Env) *cobra.Command {
	c := command[*config.Profiles]{flags: config.NewProfiles, run: listProfiles}.of(env, &cobra.Command{
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

func listProfiles(context.Context, *Env, *config.Profiles, []string) (*finding, error) {
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
		hint := "kt profiles lists them"
		if n := suggest.Nearest(args[0], profileNames()); n != "" {
			hint = fmt.Sprintf("did you mean %s?", n)
		}
		return nil, usageError(fmt.Errorf("there is no profile %s; %s", args[0], hint))
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
