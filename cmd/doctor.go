package cmd

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/kafka/doctor"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

func newDoctor(env *Env) *cobra.Command {
	var flags *config.Doctor
	settings := func(env *Env) error { return flags.Load(env.configSystem()) }
	c := command[*config.Doctor]{
		flags: func(set *pflag.FlagSet) *config.Doctor { flags = config.NewDoctor(set); return flags },
		load: func(env *Env, s *config.Doctor, _ []string) error {
			err := settings(env)
			for _, w := range s.Warnings {
				env.line(w)
			}
			return err
		},
		values: map[string][]string{"bootstrap-server": nil}, run: examine, signals: true,
	}.of(env, &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Examine a cluster from this host, before a load",
	})
	for flag, names := range env.found(func(env *Env) (plan.Plan, config.Security) {
		_ = settings(env)
		return plan.Plan{Bootstrap: flags.Bootstrap}, flags.Security
	}) {
		lookUp(c, flag, names)
	}
	return c
}

func examine(ctx context.Context, env *Env, s *config.Doctor, _ []string) (*finding, error) {
	p := plan.Plan{Bootstrap: s.Bootstrap, URL: s.URL}
	secure, warnings, err := env.maker().Secure(&p, s.Security)
	if err != nil {
		return nil, usageError(err)
	}
	system, ok := load.SystemAt(s.URL, s.Bootstrap, secure).(interface {
		Examine(ctx context.Context, o doctor.Options) (*doctor.Report, error)
	})
	if !ok {
		return nil, load.Cannot("kt doctor", &p, "kt roundtrip --url "+theme.Quoted(s.URL)+" --verify --duration 10s tells whether a load gets through")
	}
	for _, w := range warnings {
		env.say("%s", w)
	}
	if s.Yes {
		s.Protected = ""
	}
	r, err := system.Examine(ctx, doctor.Options{
		Topic: s.Topic, Duration: s.Duration, ReadOnly: s.ReadOnly, Protected: s.Protected, ClientIDs: s.ClientIDs, Now: env.Now(),
	})
	if r == nil {
		return nil, usageError(err) // an address
	}
	if err == nil && r.Failed() {
		err = &exitError{code: exitNotMet}
	}
	d := &report.DoctorDocument{Schema: report.DoctorSchema, Healthy: err == nil, Checks: []report.DoctorRow{}, Cluster: r.Cluster, Exit: exitCode(err)}
	if d.Cluster.Brokers == nil {
		d.Cluster.Brokers, d.Cluster.Controller = []result.Broker{}, -1 // no broker was reached
	}
	for _, c := range r.Checks {
		d.Checks = append(d.Checks, report.DoctorRow{Name: c.Name, About: c.About, State: string(c.State), Text: c.Text, Advice: c.Advice, Figures: c.Figures})
	}
	return found(report.DoctorDoc(d), d), err
}
