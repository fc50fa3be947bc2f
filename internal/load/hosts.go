package load

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/plan"
)

// findHosts asks the agents for the hosts of a load, and fits the load to their number.
func (l *Load) findHosts(ctx context.Context) (h *cluster.Hosts, err error) {
	if err := l.keepSecurity(); err != nil {
		return nil, misfit(err)
	}
	known := Clients()
	h = &cluster.Hosts{
		Processes: l.Hosts.Processes,
		Producer:  travelling(l.Properties, known.Producer.Has), Consumer: travelling(l.ConsumerProperties, known.Consumer.Has),
	}
	var found []cluster.Peer
	if h.Client, found, err = l.maker.Agents(ctx, &l.Hosts.Agents); err != nil {
		return nil, err
	}
	if err := h.Choose(l.Hosts.On, l.Hosts.Watch, found); err != nil {
		return nil, misfit(err)
	}
	on := strings.Join(l.Hosts.On, ",")
	if n := l.Hosts.Hosts; n > 0 && n != len(h.Load) {
		return nil, misfit(fmt.Errorf("--hosts %d: --on %s means %d now (%s); kt peers lists the agents, and a new one takes seconds to join", n, on, len(h.Load), cluster.Names(h.Load)))
	}
	if len(h.Load) > 1 && !slices.ContainsFunc(l.Plan.Addresses(), func(s string) bool { return !config.Loopback(s) }) {
		flag := "bootstrap-server"
		if l.Plan.URL != "" {
			flag = "url"
		}
		l.maker.say("--"+flag+" %s: each host of --on would connect to itself; name an address that all of them reach", strings.Join(l.Plan.Servers(), ","))
	}
	p, processes := &l.Plan, len(h.Load)*h.Processes
	if p.Writes() && !l.Hosts.OwnProducers {
		p.Producers = processes // kt's default is one in each process
	}
	if p.Reads() && !l.Hosts.OwnConsumers {
		p.Read.Consumers = processes
	}
	if l.Parts, err = p.Divide(processes); err != nil {
		return nil, misfit(err)
	}
	return h, nil
}

// keepSecurity says that security settings stay here. Those of a flag are an error, because somebody
// meant them for this load.
func (l *Load) keepSecurity() error {
	const next = "agents connect with settings of their own: kt agent --command-config FILE on each host"
	given := l.Security.Given()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if source := given[name].Source; strings.HasPrefix(source, "--") {
			return fmt.Errorf("%s (from %s): security settings are not sent to other hosts; %s", name, source, next)
		}
	}
	if len(given) > 0 {
		l.maker.say("security settings are not sent to other hosts; %s", next)
	}
	return nil
}

// travelling returns the properties that other hosts get. Addresses are in the plan. A warning has
// been given of unknown properties.
func travelling(properties map[string]plan.Given, known func(name string) bool) map[string]plan.Given {
	out := maps.Clone(properties)
	maps.DeleteFunc(out, func(name string, _ plan.Given) bool { return name == "bootstrap.servers" || !known(name) })
	return out
}
