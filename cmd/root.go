package cmd

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/suggest"
)

// Main runs kt and returns its exit code.
func Main(env Env) int {
	root := newRoot(&env)
	args, err := config.ExpandLists(env.Args)
	if err == nil {
		root.SetArgs(args)
		err = root.ExecuteContext(context.Background())
	} else {
		err = usageError(err)
	}
	if err != nil {
		env.sayError(err)
	}
	return exitCode(err)
}

func newRoot(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "kt",
		Short: "Load-test Apache Kafka, and tune its machines",
		Long: `kt offers load to Apache Kafka from one process, measures it honestly, and says
what the limit was. It also says whether a machine is fit for Kafka, makes it so, and
puts everything back.`,
		Example: `  # no Kafka at hand: a broker inside kt
  kt produce --acks all --partitions 21

  # a real cluster, at a fixed rate, so that latency means something
  kt produce --bootstrap-server kafka-1:9092 --topic orders --rate 50000 --duration 2m

  # and how fast it can be read again
  kt consume --bootstrap-server kafka-1:9092 --topic orders --consumers 4

  # is this broker's machine fit, and what can its disks do?
  kt tune --check
  kt probe /data/kafka1`,
		Version:           buildVersion().String(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
		Args:              noArgs,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetVersionTemplate("kt {{.Version}}\n")
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newProduce(env), newConsume(env), newRoundtrip(env), newTune(env), newProbe(env), newReport(env), newCollect(env), newAgent(env), newPeers(env), newKeygen(env), newPart(env), newDocs(env), newExitCodes())
	return root
}

// noArgs refuses arguments, and suggests the command that was meant.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command or argument %q", args[0])
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	if n := suggest.Nearest(args[0], names); n != "" {
		text += fmt.Sprintf("; did you mean %s?", n)
	}
	return usageError(fmt.Errorf("%s (see: %s --help)", text, c.CommandPath()))
}

// flagError makes cobra's errors usage errors, and suggests the nearest flag.
func flagError(c *cobra.Command, err error) error {
	text := err.Error()
	if before, _, ok := strings.Cut(text, ": strconv."); ok {
		text = before + ": it must be a number, and whole where it counts something"
	}
	if _, name, ok := strings.Cut(text, "unknown flag: --"); ok {
		if n := suggest.Nearest(name, flagNames(c)); n != "" {
			text += fmt.Sprintf("; did you mean --%s?", n)
		}
	}
	return usageError(fmt.Errorf("%s (see: %s --help)", text, c.CommandPath()))
}

// The linker sets these in a release; see the Makefile.
var (
	version = ""
	commit  = ""
	date    = ""
)

// build is what this binary was made from.
type build struct{ version, commit, date string }

// buildVersion reads what the linker set, or else what Go noted by itself.
func buildVersion() build {
	b := build{version, commit, date}
	info, ok := debug.ReadBuildInfo()
	if b.version == "" && ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		b.version = info.Main.Version
	}
	if b.version == "" {
		b.version = "devel"
	}
	return b
}

func (b build) String() string {
	s := b.version
	if b.commit != "" {
		s += " (" + b.commit[:min(12, len(b.commit))]
		if b.date != "" {
			s += ", " + b.date
		}
		s += ")"
	}
	return s
}
