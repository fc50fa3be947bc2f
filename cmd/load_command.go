package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/pulsar"
	"github.com/kt-bench/kt/internal/rabbitmq"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/suggest"
	"github.com/kt-bench/kt/profiles"
)

// everyFlag is a part of the help of every command that makes a load.
const everyFlag = `An environment
variable (KT_BOOTSTRAP_SERVER for --bootstrap-server) or the configuration file can
set every flag.`

// newLoad completes a command that makes a load.
func newLoad(env *Env, define func(*pflag.FlagSet) *config.Flags, c *cobra.Command) *cobra.Command {
	shipped := profiles.Of(c.Name())
	names := config.ProfileNames(shipped)
	c.Long += "\n\nProfiles: " + strings.Join(names, ", ")
	var flags *config.Flags
	var asked config.Run
	load := func(env *Env) (config.Run, error) {
		sys := env.configSystem()
		sys.Profiles = shipped
		return flags.Load(sys, clients())
	}
	command[none]{
		flags: func(set *pflag.FlagSet) none { flags = define(set); return none{} },
		load: func(env *Env, _ none, _ []string) (err error) {
			asked, err = load(env)
			for _, w := range asked.Warnings {
				env.line(w)
			}
			return err
		},
		values: map[string][]string{"output": config.Outputs, "profile": names, "run": nil},
		run: func(ctx context.Context, env *Env, _ none, _ []string) (*finding, error) {
			return nil, runLoad(ctx, env, &asked)
		},
	}.of(env, c)
	for flag, names := range env.found(func(env *Env) (plan.Plan, config.Security) {
		r, _ := load(env)
		return r.Plan, r.Security
	}) {
		lookUp(c, flag, names)
	}
	return c
}

// clients tells the configuration which properties Kafka's clients have.
func clients() config.Kafka {
	producer, _, _ := javaconf.ParseProducer(nil, 0, false) // the defaults fit together, so there
	consumer, _, _ := javaconf.ParseConsumer(nil, false)    // is no error, and every property is there
	return config.Kafka{
		Nearest:  suggest.Nearest,
		Producer: config.Client{Has: orOf(javaconf.IsProducerProperty, rabbitmq.ProducerProperties, pulsar.ProducerProperties), Names: propertyNames(producer.All())},
		Consumer: config.Client{Has: orOf(javaconf.IsConsumerProperty, rabbitmq.ConsumerProperties, pulsar.ConsumerProperties), Names: propertyNames(consumer.All())},
		Security: security.Is,
	}
}

// orOf returns a function that reports whether a property is one of Kafka's client, or of other systems.
func orOf(kafka func(name string) bool, others ...[]string) func(name string) bool {
	all := slices.Concat(others...)
	return func(name string) bool { return kafka(name) || slices.Contains(all, name) }
}

func propertyNames(all []result.Setting) []string {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}
