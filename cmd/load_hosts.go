package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/tui"
)

// findHosts asks the agents for the hosts of a load, and fits the load to their number.
// shown are the hosts for the screen.
func (l *load) findHosts(ctx context.Context, env *Env) (h *cluster.Hosts, shown []tui.HostHeader, err error) {
	h = &cluster.Hosts{
		Processes: l.Hosts.Processes,
		Producer:  travelling(l.Properties, clients().Producer.Has), Consumer: travelling(l.ConsumerProperties, clients().Consumer.Has),
	}
	if err := l.keepSecurity(env); err != nil {
		return nil, nil, usageError(err)
	}
	var found []cluster.Peer
	if h.Client, found, err = env.askAgents(ctx, &l.Hosts.Agents); err != nil {
		return nil, nil, err
	}
	if err := h.Choose(l.Hosts.On, l.Hosts.Watch, found); err != nil {
		return nil, nil, usageError(err)
	}
	if n := l.Hosts.Hosts; n > 0 && n != len(h.Load) {
		return nil, nil, usageError(fmt.Errorf("--hosts %d: --on %s means %d now (%s); kt peers lists the agents, and a new one takes seconds to join",
			n, strings.Join(l.Hosts.On, ","), len(h.Load), cluster.Names(h.Load)))
	}
	if len(h.Load) > 1 && l.kafka != nil && !slices.ContainsFunc(l.Plan.Bootstrap, func(s string) bool { return !config.Loopback(s) }) {
		env.say("--bootstrap-server %s: each host of --on would connect to itself; name an address that all of them reach", strings.Join(l.Plan.Bootstrap, ","))
	}
	if shown, err = l.divide(h); err != nil {
		return nil, nil, usageError(err)
	}
	return h, shown, nil
}

// keepSecurity says that security settings stay here. Those of a flag are an error, because somebody
// meant them for this load.
func (l *load) keepSecurity(env *Env) error {
	const next = "agents connect with settings of their own: kt agent --command-config FILE on each host"
	given := l.Security.Given()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if source := given[name].Source; strings.HasPrefix(source, "--") {
			return fmt.Errorf("%s (from %s): security settings are not sent to other hosts; %s", name, source, next)
		}
	}
	if len(given) > 0 {
		env.say("security settings are not sent to other hosts; %s", next)
	}
	return nil
}

// divide fits the load to the processes of the hosts, and returns their shares.
func (l *load) divide(h *cluster.Hosts) (shown []tui.HostHeader, err error) {
	p := &l.Plan
	processes := len(h.Load) * h.Processes
	if p.Writes() && !l.Hosts.OwnProducers {
		p.Producers = processes // kt's default is one in each process
	}
	if p.Reads() && !l.Hosts.OwnConsumers {
		p.Read.Consumers = processes
	}
	parts, err := p.Divide(processes)
	if err != nil {
		return nil, err
	}
	for i, peer := range h.Load {
		share := 0.0
		for k := range h.Processes {
			share += parts[i*h.Processes+k].Part()
		}
		shown = append(shown, tui.HostHeader{Name: peer.Name, Processes: h.Processes, Share: share})
	}
	for _, peer := range h.Watch {
		shown = append(shown, tui.HostHeader{Name: peer.Name})
	}
	return shown, nil
}

// travelling returns the properties that other hosts get. Addresses are in the plan. A warning has
// been given of unknown properties.
func travelling(properties map[string]plan.Given, known func(name string) bool) map[string]plan.Given {
	out := maps.Clone(properties)
	maps.DeleteFunc(out, func(name string, _ plan.Given) bool { return name == "bootstrap.servers" || !known(name) })
	return out
}
