package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/profiles"
)

func newProduce(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "produce [flags]",
		Short: "Produce records, measure, and say what the limit was",
		Long: `Produce records to a topic, measure throughput and latency, and say what the
limit was.

At a target --rate latency counts from the moment each record was due, so that a
stall is seen at full weight; a run whose schedule kt itself could not keep is not
valid (exit code 4). Without one kt sends as fast as the brokers take it, and
latency is queueing.

Command lines of kafka-producer-perf-test work unchanged. Every flag can also be
set by an environment variable (KT_BOOTSTRAP_SERVER for --bootstrap-server) and in
the configuration file. Where no broker is configured, kt starts one inside its
process, to try kt and not Kafka.

Profiles: ` + strings.Join(config.ProfileNames(profiles.Produce()), ", "),
		Example: `  # no Kafka at hand
  kt produce --acks all --partitions 21

  # how much does the cluster take? Creates the topic, and deletes it in the end
  kt produce --bootstrap-server kafka-1:9092 --topic kt-max --partitions 21 \
      --replication-factor 3 --producers 4 --duration 2m --delete-topic

  # what is the latency at 50,000 records a second?
  kt produce --bootstrap-server kafka-1:9092 --topic orders --rate 50000 --warmup 10s

  # a command line of Kafka's own tool
  kt produce --topic orders --num-records 1000000 --record-size 512 --throughput -1 \
      --producer-props bootstrap.servers=kafka-1:9092 acks=1 linger.ms=5

  # for a script
  kt produce --rate 10000 --duration 30s --output json | jq .latency_us.response.p99`,
		Args: noArgs,
	}
	flags := config.NewProduce(c.Flags())
	completeProduce(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		sys := config.System{Getenv: env.Getenv, Environ: env.Environ, ConfigDir: env.ConfigDir, Profiles: profiles.Produce()}
		p, err := flags.Load(sys, kafka.Nearest)
		for _, w := range p.Warnings {
			fmt.Fprintln(env.Stderr, w)
		}
		if err != nil {
			return usageError(err)
		}
		return runProduce(c.Context(), env, &p)
	}
	return c
}

// completeProduce gives the shell the values of flags that have few.
func completeProduce(c *cobra.Command) {
	for flag, values := range map[string][]string{
		"acks":             {"0", "1", "all"},
		"arrivals":         {"uniform", "poisson"},
		"compression":      {"none", "gzip", "snappy", "lz4", "zstd"},
		"idempotence":      {"true", "false"},
		"key-distribution": {"none", "range", "random"},
		"output":           config.Outputs,
		"profile":          config.ProfileNames(profiles.Produce()),
	} {
		if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // the flag is defined above
		}
	}
}

// runProduce checks everything that can be checked, makes the load and writes the
// result. What it opened or created is closed or undone in the reverse order.
func runProduce(ctx context.Context, env *Env, p *config.Produce) error {
	values, err := kafka.MakeValues(&p.Plan)
	if err != nil {
		return usageError(err)
	}
	settings, warnings, err := kafka.ParseProducer(kafkaGiven(p.Properties), p.Plan.Payload.MaxBytes(), p.Lenient)
	for _, w := range warnings {
		fmt.Fprintln(env.Stderr, "kt: "+w)
	}
	if err != nil {
		return usageError(err)
	}
	if p.PrintConfig {
		return printConfig(env.Stdout, p, settings)
	}
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	stop := newStopper(abort, env.Exit, func(text string) {
		if _, screen := env.screen(); !screen || p.Quiet {
			fmt.Fprintln(env.Stderr, text)
		}
	})
	signals, ignore := env.Signals()
	defer ignore()
	defer stop.listen(signals)()

	err = produce(ctx, env, p, settings, values, stop)
	code := stop.code()
	if err == nil || code == exitOK {
		return err
	}
	if errors.Is(err, context.Canceled) {
		err = nil // what the signal asked for
	}
	return &exitError{code, err}
}

// produce makes the run itself.
func produce(ctx context.Context, env *Env, p *config.Produce, settings kafka.Settings, values *kafka.Values, stop *stopper) error {
	file, err := openRunFile(env, p)
	if err != nil {
		return usageError(err)
	}
	defer file.discardUnused()

	target, err := openTarget(ctx, env, p, settings)
	if err != nil {
		return err
	}
	defer target.close()

	r := &runner{env: env, config: p, settings: settings, values: values, target: target, file: file, stop: stop}
	return r.run(ctx)
}

// kafkaGiven passes properties from one adapter to another.
func kafkaGiven(in map[string]config.Given) map[string]kafka.Given {
	out := make(map[string]kafka.Given, len(in))
	for k, v := range in {
		out[k] = kafka.Given(v)
	}
	return out
}

// target is the cluster and the topic that a run goes to.
type target struct {
	bootstrap []string
	embedded  *kafka.Embedded // nil: a real cluster
	cluster   *kafka.Cluster
	topic     kafka.Topic
}

// openTarget connects, or starts the embedded broker when none is configured
// anywhere; it never does the second because the first failed.
func openTarget(ctx context.Context, env *Env, p *config.Produce, s kafka.Settings) (*target, error) {
	t := &target{bootstrap: p.Plan.Bootstrap}
	if p.Plan.Embedded() {
		embedded, err := kafka.StartEmbedded(false)
		if err != nil {
			return nil, err
		}
		t.embedded, t.bootstrap = embedded, embedded.Addrs()
	}
	if err := t.prepare(ctx, env, p, s); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *target) prepare(ctx context.Context, env *Env, p *config.Produce, s kafka.Settings) (err error) {
	if t.cluster, err = kafka.Connect(ctx, t.bootstrap); err != nil {
		var bad *kafka.AddressError
		if errors.As(err, &bad) {
			return usageError(err)
		}
		return err
	}
	for _, u := range t.cluster.Unreached {
		fmt.Fprintf(env.Stderr, "kt: bootstrap server %v; going on with the others\n", u)
	}
	t.topic, err = t.cluster.EnsureTopic(ctx, p.Plan, s)
	if err == nil && t.topic.Created && t.embedded == nil && !p.Quiet {
		fmt.Fprintf(env.Stderr, "kt: created topic %s (partitions %d, replication factor %d)\n", t.topic.Name, t.topic.Partitions, t.topic.ReplicationFactor)
	}
	var misfit *kafka.MisfitError
	if errors.As(err, &misfit) {
		return usageError(err)
	}
	return err
}

func (t *target) close() {
	if t.cluster != nil {
		t.cluster.Close()
	}
	if t.embedded != nil {
		t.embedded.Close()
	}
}

// printConfig writes what --print-config asks for: every flag and every Java
// property with its value and source.
func printConfig(w io.Writer, p *config.Produce, s kafka.Settings) error {
	var b strings.Builder
	b.WriteString("# flags\n")
	for _, name := range slices.Sorted(maps.Keys(p.Flags)) {
		if name == "help" || p.Sources[name] == "default" && (p.Flags[name] == "" || p.Flags[name] == "0") {
			continue // nothing is set, and the default is not the flag's
		}
		fmt.Fprintf(&b, "%-42s %-24s %s\n", name, p.Flags[name], p.Sources[name])
	}
	b.WriteString("\n# producer properties\n")
	for _, set := range s.All() {
		fmt.Fprintf(&b, "%-42s %-24s %-18s %s\n", set.Name, set.Value, set.Source, strings.TrimSpace(set.Client+"  "+set.Note))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
