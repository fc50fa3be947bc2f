package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/study"
)

// errNoBrokers is the error of a change of brokers that are inside kt.
var errNoBrokers = errors.New("the broker inside kt has no settings to change: name brokers with --bootstrap-server")

// CheckOutside returns all that hinders changes of brokers and of their hosts, and settings of topics.
func (b *Runner) CheckOutside(ctx context.Context, l study.Load, w study.Wanted) error {
	a, err := b.admin(ctx, l)
	if err != nil {
		return err
	}
	var errs []error
	if len(w.Hosts) > 0 {
		errs = append(errs, b.checkHosts(ctx, a, l, w.Hosts))
	}
	if a == nil {
		if len(w.Brokers) > 0 {
			errs = append(errs, misfit(errNoBrokers))
		}
		return errors.Join(errs...)
	}
	defer a.Close()
	for _, f := range w.Brokers {
		settings, err := a.BrokerSettings(ctx, []string{f.Name})
		for i := range settings {
			settings[i].Value = &f.Value
		}
		if err == nil {
			if err = a.CheckBrokerSettings(ctx, settings); err != nil {
				err = fmt.Errorf("broker.%s=%s: the brokers refuse it: %w", f.Name, f.Value, err)
			}
		}
		errs = append(errs, misfit(err))
	}
	for _, f := range w.Topics {
		if err := a.CheckTopicSetting(ctx, f.Name, f.Value); err != nil {
			errs = append(errs, misfit(fmt.Errorf("topic.%s=%s: the brokers refuse it: %w", f.Name, f.Value, err)))
		}
	}
	return errors.Join(errs...)
}

// checkHosts returns what hinders changes of the brokers' hosts.
func (b *Runner) checkHosts(ctx context.Context, a run.Admin, l study.Load, changes []study.Flag) error {
	var names []string
	for _, f := range changes {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	hosts, err := b.Hosts(ctx, l)
	if err == nil && a != nil {
		err = misfit(reached(ctx, a.Brokers(), hosts))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(slices.Compact(names), ", "), err)
	}
	return misfit(b.ChangeHosts(ctx, l, hosts, study.HostOrder{Do: study.CheckHost, Study: "check", Set: changes}))
}

// reached returns an error if a broker is on a host that kt does not change. Agents are only counted.
func reached(ctx context.Context, brokers []result.Broker, agents []string) error {
	on := make(map[string]bool)
	for _, broker := range brokers {
		name, _, err := net.SplitHostPort(broker.Addr)
		if err != nil {
			return err
		}
		on[name] = true
		if len(agents) == 0 && !host.IsHere(ctx, name) {
			return fmt.Errorf("broker %d is on %s, not on this machine; run kt there, or start kt agent --allow-tune on the brokers' hosts and make the loads with --on", broker.ID, broker.Addr)
		}
	}
	if len(agents) > 0 && len(on) != len(agents) {
		return fmt.Errorf("hosts of brokers: %d, agents of brokers: %d (%s); each host needs one with --allow-tune, and --watch chooses where there are others", len(on), len(agents), strings.Join(agents, ", "))
	}
	return nil
}

// agents returns a client of the agents that a load names, the agents, and the place of the load; a nil client: it is made here.
func (b *Runner) agents(ctx context.Context, l study.Load) (c *cluster.Client, found []cluster.Peer, ld *Load, err error) {
	if ld, err = b.place(l); err != nil || len(ld.Hosts.On) == 0 {
		return nil, nil, nil, err
	}
	c, found, err = b.maker.Agents(ctx, &ld.Hosts.Agents)
	if c != nil {
		c.Log = b.warn
	}
	return c, found, ld, err
}

// chosen returns the agents that make a load or watch it; none: it is made here.
func (b *Runner) chosen(ctx context.Context, l study.Load) ([]cluster.Peer, error) {
	c, found, ld, err := b.agents(ctx, l)
	if err != nil || c == nil {
		return nil, err
	}
	h := cluster.Hosts{Client: c}
	err = misfit(h.Choose(ld.Hosts.On, ld.Hosts.Watch, found))
	return slices.Concat(h.Load, h.Watch), err
}

// Hosts returns the agents of brokers that make a load or watch it; none: it is made here, and this host is changed.
func (b *Runner) Hosts(ctx context.Context, l study.Load) (names []string, err error) {
	chosen, err := b.chosen(ctx, l)
	for _, p := range chosen {
		if p.Role == cluster.RoleBroker {
			names = append(names, p.Name)
		}
	}
	if err == nil && len(chosen) > 0 && len(names) == 0 {
		err = misfit(errors.New("no agent of a broker makes or watches the load: start kt agent --role broker --allow-tune on the brokers' hosts"))
	}
	return names, err
}

// ChangeHosts gives an order to the agents of some hosts, or to this one.
func (b *Runner) ChangeHosts(ctx context.Context, l study.Load, hosts []string, o study.HostOrder) error {
	_, err := b.order(ctx, l, hosts, o)
	return err
}

// order gives an order to hosts, and returns what each has found.
func (b *Runner) order(ctx context.Context, l study.Load, hosts []string, o study.HostOrder) (all [][]study.HostFinding, err error) {
	if len(hosts) == 0 {
		err := b.host.Obey(ctx, &o)
		return append(all, o.Found), err
	}
	c, found, _, err := b.agents(ctx, l)
	if c == nil {
		return nil, err
	}
	errs := []error{err}
	for _, name := range hosts {
		peer := cluster.Peer{Err: fmt.Errorf("%s: its agent does not answer", name)}
		if i := slices.IndexFunc(found, func(p cluster.Peer) bool { return p.Name == name }); i >= 0 {
			peer = found[i]
		}
		one, err := c.Tune(ctx, peer, o)
		all, errs = append(all, one), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// LookAtHosts returns what kt tune finds on the brokers' hosts: the settings that each of them has in its role. do is how they are asked.
func (b *Runner) LookAtHosts(ctx context.Context, l study.Load, do study.HostDo) ([]study.HostFinding, error) {
	hosts, err := b.Hosts(ctx, l)
	if err != nil {
		return nil, err
	}
	all, err := b.order(ctx, l, hosts, study.HostOrder{Do: do, Study: "look"})
	if err != nil {
		return nil, misfit(err)
	}
	for i := range all[0] {
		f := &all[0][i]
		if slices.ContainsFunc(all, func(of []study.HostFinding) bool { return !slices.Contains(of, *f) }) {
			f.State = study.Unlike
		}
	}
	return all[0], nil
}

// BrokerSettings returns what every broker has now of some settings.
func (b *Runner) BrokerSettings(ctx context.Context, l study.Load, names []string) (all []result.BrokerSetting, err error) {
	err = b.administer(ctx, l, func(a run.Admin) (err error) {
		all, err = a.BrokerSettings(ctx, names)
		return err
	})
	return all, err
}

// SetBrokers gives every broker its settings.
func (b *Runner) SetBrokers(ctx context.Context, l study.Load, settings []result.BrokerSetting) error {
	return b.administer(ctx, l, func(a run.Admin) error { return a.SetBrokers(ctx, settings) })
}

// administer does something with the brokers that a load goes to.
func (b *Runner) administer(ctx context.Context, l study.Load, do func(run.Admin) error) error {
	a, err := b.admin(ctx, l)
	switch {
	case err != nil:
		return err
	case a == nil:
		return errNoBrokers
	}
	defer a.Close()
	return do(a)
}

// Command runs a command of the user's to its end, whatever becomes of ctx: a broker that is stopped by halves would be worse. What it
// starts in the background may live on.
func (b *Runner) Command(_ context.Context, command string) error {
	b.Say("runs: " + command)
	var said tail
	cmd := exec.Command("sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C on this terminal is not its
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, time.Second
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) { // what runs on in the background has its output
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", command, said.add(err))
	}
	return nil
}

// Child is a process of this program.
type Child struct {
	*exec.Cmd
	In   io.WriteCloser
	Out  io.ReadCloser
	said tail // on its standard error
}

// Spawn starts this program once more, with one of its hidden commands.
func Spawn(ctx context.Context, command ...string) (*Child, error) {
	path := "/proc/self/exe" // on Linux, even when another version has taken the place of the file
	if _, err := os.Stat(path); err != nil {
		if path, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	c := &Child{Cmd: exec.CommandContext(ctx, path, command...)}
	c.Args[0] = "kt"                                    // whatever the path is
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C on this terminal is not the child's
	c.Stderr = &c.said
	var err error
	if c.In, err = c.StdinPipe(); err == nil {
		c.Out, err = c.StdoutPipe()
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s %s: %w", path, strings.Join(command, " "), err)
	}
	return c, nil
}

// End waits for the child, and returns its error with the last line that it said.
func (c *Child) End() error {
	return c.said.add(c.Wait())
}

// tail keeps the end of a process's output.
type tail []byte

// add adds the last line to an error.
func (t tail) add(err error) error {
	lines := strings.Split(strings.TrimSpace(string(t)), "\n")
	if text := strings.TrimSpace(lines[len(lines)-1]); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}

func (t *tail) Write(b []byte) (int, error) {
	const most = 4 << 10
	*t = append(*t, b...)
	*t = (*t)[max(0, len(*t)-most):]
	return len(b), nil
}
