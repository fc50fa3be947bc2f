package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/tui"
)

// leaveHosts is how long the hosts may take to end a run that was ended twice, and to hand
// over what they have.
const leaveHosts = 20 * time.Second

// findHosts asks the agents for the hosts of a load, and fits the load to their number.
// shown are the hosts for the screen.
func (l *load) findHosts(ctx context.Context, env *Env) (h *cluster.Hosts, shown []tui.HostHeader, err error) {
	h = &cluster.Hosts{
		Processes: l.Hosts.Processes,
		Producer:  travelling(l.Properties, javaconf.IsProducerProperty), Consumer: travelling(l.ConsumerProperties, javaconf.IsConsumerProperty),
	}
	if h.Client, err = env.client(&l.Hosts.Agents); err != nil {
		return nil, nil, err
	}
	found, err := peers(ctx, h.Client, &l.Hosts.Agents)
	if err != nil {
		return nil, nil, err
	}
	if err := h.Choose(l.Hosts.On, l.Hosts.Watch, found); err != nil {
		return nil, nil, usageError(err)
	}
	if n := l.Hosts.Hosts; n > 0 && n != len(h.Load) {
		return nil, nil, usageError(fmt.Errorf("--hosts %d: --on %s is %d now (%s): kt peers tells who is there, and an agent that was just started may take seconds to join",
			n, strings.Join(l.Hosts.On, ","), len(h.Load), cluster.Names(h.Load)))
	}
	if shown, err = l.divide(h); err != nil {
		return nil, nil, usageError(err)
	}
	return h, shown, nil
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

// travelling are the properties that other hosts get: those of the client. The addresses are
// in the plan, and what kt does not know was warned of here.
func travelling(properties map[string]plan.Given, known func(name string) bool) map[string]plan.Given {
	out := maps.Clone(properties)
	maps.DeleteFunc(out, func(name string, _ plan.Given) bool { return name == "bootstrap.servers" || !known(name) })
	return out
}

// judgeHosts returns the worst error of a process, of a run that shows nothing itself: a
// reader that waited in vain for instance. Of a process that is lost it has the number, since
// the reason was a notice. A signal to a process over there is none to this one.
func judgeHosts(res *result.Result, o *cluster.Outcome) error {
	var worst *exitError
	for _, name := range slices.Sorted(maps.Keys(o.Ended)) {
		for _, d := range o.Ended[name] {
			if d.Code != exitOK && d.Code < exitHungUp && (worst == nil || d.Code > worst.code) {
				worst = &exitError{d.Code, fmt.Errorf("%s: %s", name, d.Text)}
				if o.IsLost(name, d.Text) {
					worst.err = apart(res)
				}
			}
		}
	}
	if worst == nil {
		return apart(res)
	}
	return worst
}

// notice tells for whom the run waits that is else over, for as long as it does; "": it
// waits for nobody. The screen has an event for a host that came back or is lost.
func notice(hosts []run.Host) string {
	var waits []string
	var until time.Time
	for _, h := range hosts {
		if h.Until.IsZero() {
			continue
		}
		waits = append(waits, h.Name)
		if h.Until.After(until) {
			until = h.Until
		}
	}
	who, them := "", "them"
	switch n := len(waits); n {
	case 0:
		return ""
	case 1:
		who, them = waits[0], "it"
	case 2:
		who = waits[0] + " and " + waits[1]
	default: // the key must have room, whoever is away
		who = fmt.Sprintf("%s and %d others", waits[0], n-1)
	}
	return fmt.Sprintf("waiting for %s until %s; q: without %s", who, until.Format(time.TimeOnly), them)
}
