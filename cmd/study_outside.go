package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/suggest"
	"github.com/kt-bench/kt/internal/tune"
)

// errNoCluster is the error of a change of brokers that are inside kt.
var errNoCluster = errors.New("the broker inside kt has no settings to change: name brokers with --bootstrap-server")

// CheckOutside returns all that hinders changes of brokers and of their host.
func (b *lab) CheckOutside(ctx context.Context, l study.Load, brokers, changes []study.Flag) error {
	var errs []error
	c, err := b.connect(ctx, l)
	if err != nil {
		return err
	}
	if c != nil {
		defer c.Close()
	}
	if len(changes) > 0 {
		errs = append(errs, b.checkHost(ctx, c, l, changes))
	}
	switch {
	case len(brokers) > 0 && c == nil:
		errs = append(errs, usageError(errNoCluster))
	case len(brokers) > 0:
		errs = append(errs, checkBrokers(ctx, c, brokers))
	}
	return errors.Join(errs...)
}

// checkBrokers asks the brokers whether they have settings, and would take the values.
func checkBrokers(ctx context.Context, c *kafka.Cluster, wanted []study.Flag) error {
	var names []string
	for _, f := range wanted {
		names = append(names, f.Name)
	}
	if _, err := c.BrokerSettings(ctx, names); err != nil {
		return usageError(err)
	}
	for _, f := range wanted {
		var settings []kafka.BrokerSetting
		for _, broker := range c.Info.Brokers {
			settings = append(settings, kafka.BrokerSetting{Broker: broker.ID, Name: f.Name, Value: &f.Value})
		}
		if err := c.CheckBrokerSettings(ctx, settings); err != nil {
			return usageError(fmt.Errorf("broker.%s=%s: the brokers refuse it: %w", f.Name, f.Value, err))
		}
	}
	return nil
}

// checkHost returns what hinders changes of this machine: it must be the brokers' own, and kt tune must
// not have changed it yet, because all that is in its journal is put back after each run.
func (b *lab) checkHost(ctx context.Context, c *kafka.Cluster, l study.Load, changes []study.Flag) error {
	names := changeNames(changes)
	if slices.ContainsFunc(l.Flags, func(f study.Flag) bool { return f.Name == "on" }) {
		return usageError(fmt.Errorf("%s: kt changes only the host that it runs on; leave --on out, and run kt on the brokers' host", names))
	}
	if c != nil {
		for _, broker := range c.Info.Brokers {
			if !isHere(ctx, broker.Addr) {
				return usageError(fmt.Errorf("%s: broker %d is on %s, not on this machine; run kt there", names, broker.ID, broker.Addr))
			}
		}
	}
	if !host.SystemCalls("/").Root() {
		return usageError(fmt.Errorf("%s: only root can change this machine: sudo kt", names))
	}
	held, err := hostTree().Status()
	if err == nil && len(held) > 0 {
		err = usageError(fmt.Errorf("%s: kt tune has changed this machine (kt tune --status), and its journal is needed here; kt tune --rollback first, or compare by hand with kt compare", names))
	}
	if err == nil {
		_, err = b.hostChanges(ctx, changes)
	}
	return err
}

func changeNames(changes []study.Flag) string {
	var names []string
	for _, f := range changes {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

// isHere reports whether an address is of this machine.
func isHere(ctx context.Context, addr string) bool {
	name, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ips, err := net.DefaultResolver.LookupHost(ctx, name)
	own, ownErr := net.InterfaceAddrs()
	return err == nil && ownErr == nil && slices.ContainsFunc(ips, func(ip string) bool {
		return net.ParseIP(ip).IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool { return strings.HasPrefix(a.String(), ip+"/") })
	})
}

func hostTree() *tune.Tree { return tune.NewTree("/", buildVersion().String()) }

// hostChanges returns the changes of this machine that are meant, from what is there now.
func (b *lab) hostChanges(ctx context.Context, wanted []study.Flag) (changes []tune.Change, err error) {
	var errs []error
	for _, f := range wanted {
		if id, ok := strings.CutPrefix(f.Name, "tune."); ok {
			proposed, err := b.proposed(ctx, id)
			changes, errs = append(changes, proposed...), append(errs, err)
			continue
		}
		one, err := hostTree().SysctlTo(strings.TrimPrefix(f.Name, "sysctl."), f.Value)
		if err != nil {
			err = usageError(fmt.Errorf("%s=%s: %w", f.Name, f.Value, err))
		}
		changes, errs = append(changes, one), append(errs, err)
	}
	return changes, errors.Join(errs...)
}

// proposed returns the changes that kt tune proposes of one setting.
func (b *lab) proposed(ctx context.Context, id string) ([]tune.Change, error) {
	if _, err := tune.Find(tune.Catalogue(), id); err != nil {
		return nil, usageError(fmt.Errorf("tune.%s: %w", id, err))
	}
	flags := config.NewTune(pflag.NewFlagSet("tune", pflag.ContinueOnError))
	if err := flags.Load(b.env.configSystem(), suggest.Nearest); err != nil {
		return nil, err
	}
	flags.Only = []string{id}
	t, err := newTuner(b.env, flags)
	if err != nil {
		return nil, usageError(err)
	}
	r, err := t.check(ctx)
	if err != nil {
		return nil, err
	}
	r.Limit(tune.ApplyOptions{Runtime: true})
	if len(r.Changes()) == 0 {
		return nil, usageError(fmt.Errorf("tune.%s: kt tune proposes no change that takes effect at once here; kt tune --explain %s tells why", id, id))
	}
	return r.Changes(), nil
}

// checkOwn returns an error if kt tune's journal holds more than the changes of a study: a rollback would undo that too.
func checkOwn(own []study.Flag) error {
	held, err := hostTree().Status()
	for _, u := range held {
		mine := slices.ContainsFunc(own, func(f study.Flag) bool {
			id, ofTune := strings.CutPrefix(f.Name, "tune.")
			return ofTune && u.Setting == id || u.Path == "/"+host.SysctlFile(strings.TrimPrefix(f.Name, "sysctl."))
		})
		if !mine || u.Kind == tune.OwnFile {
			err = errors.Join(err, usageError(fmt.Errorf("kt tune has changed %s since the study began, so the study undoes nothing; kt tune --rollback undoes all", u.Path)))
		}
	}
	return err
}

// SetHost makes changes of this machine by kt tune's journal, and puts back those that were made before.
func (b *lab) SetHost(ctx context.Context, wanted, own []study.Flag) error {
	if err := checkOwn(own); err != nil {
		return err
	}
	undone, err := hostTree().Rollback(tune.RollbackOptions{})
	for _, u := range undone {
		if u.Err != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", u.Path, u.Err))
		}
	}
	if err != nil || len(wanted) == 0 {
		return err
	}
	changes, err := b.hostChanges(ctx, wanted)
	if err != nil {
		return err
	}
	outcomes, err := hostTree().Apply(changes, tune.ApplyOptions{Runtime: true, Time: b.env.Now()})
	for _, o := range outcomes {
		if o.Err != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", o.Change.Path, o.Err))
		}
	}
	return err
}

// BrokerSettings returns what every broker has now of some settings.
func (b *lab) BrokerSettings(ctx context.Context, l study.Load, names []string) (all []study.BrokerSetting, err error) {
	err = b.onCluster(ctx, l, func(c *kafka.Cluster) error {
		settings, err := c.BrokerSettings(ctx, names)
		for _, s := range settings {
			all = append(all, study.BrokerSetting(s))
		}
		return err
	})
	return all, err
}

// SetBrokers gives every broker its settings.
func (b *lab) SetBrokers(ctx context.Context, l study.Load, settings []study.BrokerSetting) error {
	return b.onCluster(ctx, l, func(c *kafka.Cluster) error {
		var all []kafka.BrokerSetting
		for _, s := range settings {
			all = append(all, kafka.BrokerSetting(s))
		}
		return c.SetBrokers(ctx, all)
	})
}

// onCluster does something with the brokers that a load goes to.
func (b *lab) onCluster(ctx context.Context, l study.Load, do func(*kafka.Cluster) error) error {
	c, err := b.connect(ctx, l)
	switch {
	case err != nil:
		return err
	case c == nil:
		return errNoCluster
	}
	defer c.Close()
	return do(c)
}
