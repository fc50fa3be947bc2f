package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/doctor"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
)

func newDoctor(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Examine a cluster from this host, before a load",
		Long: `Examine a cluster from this host: does each broker answer at the address that it
advertises, and how fast; TLS, certificates and SASL; version, feature level and
controller; may this client create, describe, write, read, commit and delete; which
quotas apply to it; are the clocks alike, the leaders spread and the replicas in sync;
and do settings of the topic spoil a test.

Each check is a line: pass, warning or failure, with what to do. What this client may not
look at is unknown. kt tries its rights on a topic and a group of its own (kt-doctor-…),
and deletes both; on a cluster that is marked as protected only with --yes. The exit code
is 3 if a check failed.`,
		Example: `  # can this host make a load on the cluster?
  kt doctor --bootstrap-server kafka-1:9092

  # the same with TLS and a password, from the file that Kafka's own tools use
  kt doctor --bootstrap-server kafka-1:9093 --command-config client.properties

  # is topic orders fit for a load of 24 hours? make no topic
  kt doctor --bootstrap-server kafka-1:9092 --topic orders --duration 24h \
      --read-only

  # what failed, for a program
  kt doctor --bootstrap-server kafka-1:9092 --output json |
      jq '.checks[] | select(.state == "failure")'`,
		Args: noArgs,
	}
	flags := config.NewDoctor(c.Flags())
	completions(c, map[string][]string{"output": config.DocumentOutputs, "bootstrap-server": nil})
	completeClusters(env, c)
	load := func(env *Env) error { return flags.Load(env.configSystem()) }
	for flag, names := range env.found(func(env *Env) (plan.Plan, config.Security) {
		_ = load(env)
		return plan.Plan{Bootstrap: flags.Bootstrap}, flags.Security
	}) {
		lookUp(c, flag, names)
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		err := load(env)
		for _, w := range flags.Warnings {
			env.line(w)
		}
		if err != nil {
			return usageError(err)
		}
		return runDoctor(c.Context(), env, flags)
	}
	return c
}

func runDoctor(ctx context.Context, env *Env, flags *config.Doctor) error {
	secure, warnings, err := env.secure(&plan.Plan{}, flags.Security)
	if err != nil {
		return usageError(err)
	}
	for _, w := range warnings {
		env.say("%s", w)
	}
	ids := flags.ClientIDs
	if ids == nil {
		ids = clientIDs()
	}
	if flags.Yes {
		flags.Protected = ""
	}
	var found *doctor.Report
	err = env.interruptible(ctx, func(ctx context.Context) (err error) {
		found, err = doctor.Examine(ctx, doctor.Options{
			Access: kafka.Access{Bootstrap: flags.Bootstrap, ClientID: "kt-admin", Security: secure}, Topic: flags.Topic,
			Duration: flags.Duration, ReadOnly: flags.ReadOnly, Protected: flags.Protected, ClientIDs: ids, Now: env.Now(),
		})
		return err
	})
	if found == nil {
		return usageError(err) // an address
	}
	if err == nil && found.Failed() {
		err = &exitError{code: exitNotMet}
	}
	if writeErr := writeDoctor(env, flags, found, err); writeErr != nil {
		return writeErr
	}
	return err
}

// writeDoctor writes what was found. err is the end of the examination.
func writeDoctor(env *Env, flags *config.Doctor, found *doctor.Report, err error) error {
	doc := &report.DoctorDocument{Schema: report.DoctorSchema, Healthy: err == nil, Checks: []report.DoctorRow{}, Cluster: found.Cluster, Exit: exitCode(err)}
	if doc.Cluster.Brokers == nil {
		doc.Cluster.Brokers, doc.Cluster.Controller = []result.Broker{}, -1 // no broker was reached
	}
	for _, c := range found.Checks {
		doc.Checks = append(doc.Checks, report.DoctorRow{Name: c.Name, About: c.About, State: string(c.State), Text: c.Text, Advice: c.Advice, Figures: c.Figures})
	}
	return env.document(flags.Output, flags.Look, report.DoctorDoc(doc), doc)
}

// clientIDs returns the client ids of kt's loads.
func clientIDs() []string {
	producer, _, _ := javaconf.ParseProducer(nil, 0, false) // the defaults fit together
	consumer, _, _ := javaconf.ParseConsumer(nil, false)
	var ids []string
	for _, s := range append(producer.All(), consumer.All()...) {
		if s.Name == "client.id" {
			ids = append(ids, s.Value)
		}
	}
	return ids
}
