package cmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/run"
)

// lookUpTime is how long a shell waits for values that are looked up.
const lookUpTime = 350 * time.Millisecond

// names looks up values of a flag. set has the other flags.
type names func(ctx context.Context, set *pflag.FlagSet) []string

// lookUp gives the shell the values of a flag, if the command has it. A failure gives none.
func lookUp(c *cobra.Command, flag string, find names) {
	if c.Flags().Lookup(flag) == nil {
		return
	}
	_ = c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		late := time.After(lookUpTime)
		ctx, cancel := context.WithTimeout(context.Background(), lookUpTime*3/4)
		defer cancel()
		found := make(chan []string, 1)
		go func() { found <- find(ctx, c.Flags()) }() // it ends with the process, which is a completion alone
		select {
		case values := <-found:
			return values, cobra.ShellCompDirectiveNoFileComp
		case <-late:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}) // the flag exists, and has no second one
}

// found are the values of a load that are looked up: at the system, and at agents. settings applies the layers below the command
// line, and returns what they say of the load. What is wrong with them is for the command to tell.
func (e *Env) found(settings func(*Env) (plan.Plan, config.Security)) map[string]names {
	silent := e.silent()
	silent.resolver = nil // no load is made, and a name server may be slower than a shell waits
	at := func(ask func(context.Context, run.System) []string) names {
		return func(ctx context.Context, set *pflag.FlagSet) []string {
			p, given := settings(silent)
			secure, _, _ := silent.maker().Secure(&p, given)
			if len(p.Bootstrap) == 0 && p.URL == "" {
				p.Bootstrap, _ = set.GetStringSlice("bootstrap-server")
			}
			return ask(ctx, load.SystemAt(p.URL, p.Bootstrap, secure))
		}
	}
	hosts := func(ctx context.Context, set *pflag.FlagSet) []string {
		settings(silent)
		values := []string{"all", "clients", "brokers"}
		_, found := e.agents(ctx, set)
		for i := range found {
			values = append(values, found[i].Name)
		}
		return values
	}
	return map[string]names{
		"topic": at(func(ctx context.Context, s run.System) []string {
			if l, ok := s.(run.TopicLister); ok {
				return l.Topics(ctx)
			}
			return nil
		}),
		"group": at(func(ctx context.Context, s run.System) []string {
			if l, ok := s.(run.GroupLister); ok {
				return l.Groups(ctx)
			}
			return nil
		}),
		"on": hosts,
	}
}

// clusterNames returns the names of the clusters of the configuration file. Its mistakes are for the command to tell.
func (e *Env) clusterNames(c *cobra.Command) []string {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags := config.NewConfigFile(set)
	if f := c.Flags().Lookup("config"); f != nil {
		_ = set.Set("config", f.Value.String()) // any text will do
	}
	all, _ := flags.Clusters(e.silent().configSystem())
	var names []string
	for _, cluster := range all {
		names = append(names, cobra.CompletionWithDesc(cluster.Name, strings.Join(cluster.Bootstrap, ",")))
	}
	return names
}

// agents asks the agents that the flags name who is there. The client is nil after a failure.
func (e *Env) agents(ctx context.Context, set *pflag.FlagSet) (*cluster.Client, []cluster.Peer) {
	a := config.AgentsOf(set)
	if a.Check() != nil {
		return nil, nil
	}
	client, found, _ := e.silent().maker().Agents(ctx, &a)
	return client, found
}
