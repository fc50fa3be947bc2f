package cmd

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/secret"
)

// Main runs kt and returns its exit code.
func Main(env Env) int {
	if !env.StdoutTTY {
		env.Stdout = &product{Writer: env.Stdout, env: &env}
	}
	secret.LearnFrom(slices.Concat(env.Args, env.Environ)...)
	root := newRoot(&env)
	if len(env.Args) > 0 && strings.HasPrefix(env.Args[0], cobra.ShellCompRequestCmd) {
		unquoteUsages(root)
	}
	args, err := config.ExpandLists(env.allHelp())
	if limited := addressSpace(host.AddressLimit()); limited != nil {
		err = limited
	} else if err == nil {
		root.SetArgs(args)
		refuseOtherShells(root)
		err = root.ExecuteContext(context.Background())
	} else {
		err = usageError(err)
	}
	if err != nil {
		env.sayError(err)
	}
	return exitCode(err)
}

// allHelp returns the arguments with --help for --help-all, which asks the help for every flag.
func (e *Env) allHelp() []string {
	args := slices.Clone(e.Args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "--help-all" {
			args[i], e.helpAll = "--help", true
		}
	}
	if e.helpAll && args[0] == "help" {
		args = slices.DeleteFunc(args, func(arg string) bool { return arg == "--help" })
	}
	return args
}

func newRoot(env *Env) *cobra.Command {
	root := describe(&cobra.Command{
		Use:               "kt",
		Short:             "Load-test Apache Kafka, and tune its machines",
		Version:           buildVersion().String(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
		Args:              noArgs,
		RunE:              func(c *cobra.Command, _ []string) error { return writeHelp(env.Stdout, c, env.width(), env.helpAll) },
	})
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetVersionTemplate("kt {{.Version}}\n")
	root.SetHelpCommand(newHelp(env))
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		_ = writeHelp(env.Stdout, c, env.width(), env.helpAll) // there is nobody left to tell
	})
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newLoad(env, config.NewProduce, &cobra.Command{Use: "produce [flags]", Short: "Produce records, measure, and say what the limit was"}),
		newLoad(env, config.NewConsume, &cobra.Command{Use: "consume [flags]", Short: "Consume records, measure, and say what the limit was"}),
		newLoad(env, config.NewRoundtrip, &cobra.Command{
			Use: "roundtrip [flags]", Short: "Produce records, read them back, and measure the whole way", Args: latencyToolArgs(env),
		}),
		newRun(env), newStudy(env), newFind(env), newTrial(env), newOptimize(env), newSize(env), newCompare(env), newCapture(env), newDoctor(env), newTune(env), newProbe(env),
		command[*config.Plain]{flags: config.NewWatch, run: watchHost, signals: true}.of(env, &cobra.Command{
			Use: "watch [flags]", Short: "Watch this host and its Kafka brokers, without a load",
		}),
		newCalibrate(env), newReport(env), newRuns(env), newCollect(env), newAgent(env), newKeygen(env), newConfig(env), newProfiles(env), newPart(env), newVersion(env),
		command[*config.Peers]{flags: config.NewPeers, run: listPeers, signals: true}.of(env, &cobra.Command{Use: "peers", Short: "List the hosts on which kt agent runs"}),
		command[none]{run: runSink}.of(env, &cobra.Command{Use: "sink", Short: "Take all records and keep none, for kt calibrate", Hidden: true}),
		// Topics of the help, without anything to run.
		describe(&cobra.Command{Use: "exit-codes", Short: "What kt's exit codes mean", SuggestFor: []string{"exit", "codes", "status"}}),
		describe(&cobra.Command{Use: "doubts", Short: "What a careful reviewer would object to in a figure", SuggestFor: []string{"doubt", "accept", "strict"}}),
		describe(&cobra.Command{Use: "engines", Short: "What the client and the wire engine measure", SuggestFor: []string{"engine", "wire", "client"}}),
		describe(&cobra.Command{Use: "systems", Short: "RabbitMQ and Pulsar under the same loads: how their words map to kt's", SuggestFor: []string{"system", "rabbitmq", "pulsar", "amqp"}}),
	)
	return root
}

// refuseOtherShells makes kt completion refuse a name that is no shell's, which cobra
// answers with the help and exit code 0.
func refuseOtherShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = noArgs
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}

// The linker sets these in a release; see the Makefile.
var (
	version = ""
	commit  = ""
	date    = ""
)

// build is what this binary was made from, as kt version --output json writes it.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Dirty    bool   `json:"dirty"`
	Date     string `json:"date,omitempty"`
	Go       string `json:"go"`
	FranzGo  string `json:"franz_go,omitempty"`
	Platform string `json:"platform"`
}

// newVersion prints the line of --version, and the parts that an issue report needs.
func newVersion(env *Env) *cobra.Command {
	forms := []string{"text", "json"}
	return command[*string]{
		flags: func(set *pflag.FlagSet) *string {
			return set.StringP("output", "o", "text", "`FORMAT`: "+strings.Join(forms, " or "))
		},
		values: map[string][]string{"output": forms},
		run: func(_ context.Context, env *Env, output *string, _ []string) (*finding, error) {
			b := buildVersion()
			switch *output {
			case "json":
				return nil, report.Indented(env.Stdout, b)
			case "text":
				parts := []string{b.Go}
				if b.FranzGo != "" { // a test binary does not record its modules
					parts = append(parts, "franz-go "+b.FranzGo)
				}
				return text(fmt.Sprintf("kt %s\n%s\n", b, strings.Join(append(parts, b.Platform), ", "))), nil
			}
			return nil, usageError(fmt.Errorf("--output %q: not a form of output; use %s", *output, strings.Join(forms, " or ")))
		},
	}.of(env, &cobra.Command{Use: "version", Short: "Print the versions of kt, Go and franz-go"})
}

// buildVersion describes this binary.
func buildVersion() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return build{Version: version, Commit: commit, Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}.complete(info)
}

// complete fills what the linker left empty with what Go recorded in the binary.
func (b build) complete(info *debug.BuildInfo) build {
	if b.Version == "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	b.Dirty = strings.HasSuffix(b.Version, "dirty")
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && b.Commit == "":
			b.Commit = s.Value
		case s.Key == "vcs.time" && b.Date == "":
			b.Date = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			b.Dirty = true
		}
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/twmb/franz-go" {
			b.FranzGo = m.Version
		}
	}
	return b
}

// String returns the version with its commit. The version that Go gives a build without a tag has the
// commit, its time and "dirty" in it.
func (b build) String() string {
	commit := b.Commit[:min(12, len(b.Commit))]
	if strings.Contains(b.Version, commit) { // also none
		return b.Version
	}
	s := b.Version + " (" + commit
	if b.Dirty {
		s += " dirty"
	}
	if b.Date != "" {
		s += ", " + b.Date
	}
	return s + ")"
}

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

// found are the values of a load that are looked up, at the system and at agents. settings loads what says where that is.
func (e *Env) found(settings func(*Env) (plan.Plan, config.Security)) map[string]names {
	silent := e.silent()
	silent.resolver = nil // no load is made, and a name server may be slower than a shell waits
	at := func(ask func(context.Context, run.System) []string) names {
		return func(ctx context.Context, set *pflag.FlagSet) []string {
			p, given := settings(silent)
			secure, _, _ := silent.maker().Secure(&p, given)
			if typed := set.Lookup("bootstrap-server").Value.String(); len(p.Bootstrap) == 0 && p.URL == "" && typed != "" {
				p.Bootstrap = strings.Split(typed, ",")
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
