package load

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/kafka/system"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/pulsar"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/rabbitmq"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

// systems make the system that a load goes to. They check the settings of its clients.
var systems = map[plan.System]func(*config.Run, security.Settings) (run.System, []string, error){
	plan.Kafka: func(r *config.Run, s security.Settings) (run.System, []string, error) {
		k, warnings, err := system.New(&r.Plan, r.Properties, r.ConsumerProperties, r.Lenient)
		k.Security = s
		return k, warnings, err
	},
	plan.RabbitMQ: queued(rabbitmq.New), plan.Pulsar: queued(pulsar.New),
}

// queued is for a system with queues. It makes none for a URL that it does not understand.
func queued[S any, P interface {
	*S
	run.System
}](make func(_ *plan.Plan, producer, consumer map[string]plan.Given, _ queue.Access) (P, []string, error),
) func(*config.Run, security.Settings) (run.System, []string, error) {
	return func(r *config.Run, s security.Settings) (run.System, []string, error) {
		made, warnings, err := make(&r.Plan, r.Properties, r.ConsumerProperties, queue.Access{Password: s.Password, Bound: s.Bound, TLS: s.TLS})
		if made == nil {
			return nil, warnings, err
		}
		return made, warnings, err
	}
}

// NewSystem makes the system that a load goes to. It is there even if the rest of the plan does not fit.
func NewSystem(r *config.Run, secure security.Settings) (run.System, []string, error) {
	return systems[r.Plan.System()](r, secure)
}

// SystemAt makes the system that a URL or brokers name, for questions beside a load.
func SystemAt(url string, bootstrap []string, secure security.Settings) run.System {
	s, _, _ := NewSystem(&config.Run{Plan: plan.Plan{URL: url, Bootstrap: bootstrap}}, secure) // there is no load that could not fit
	return s
}

// Cannot returns the error of what a system cannot do.
func Cannot(what string, p *plan.Plan, instead string) error {
	return misfit(fmt.Errorf("%s: kt does not do this on %s: %s", what, p.System(), instead))
}

// checkTLS returns what properties say of TLS that a URL does not.
func checkTLS(p *plan.Plan, given map[string]plan.Given) (warnings []string, err error) {
	if p.URL == "" || p.Encrypts() {
		return nil, nil
	}
	plain, secure := p.Schemes()
	if g := given["security.protocol"]; slices.Contains([]string{"SSL", "SASL_SSL"}, strings.ToUpper(strings.TrimSpace(g.Value))) {
		return nil, fmt.Errorf("security.protocol=%s (from %s): %s in --url connects without TLS: write %s", g.Value, g.Source, plain, secure)
	}
	for name := range given {
		if strings.HasPrefix(name, "ssl.") {
			return []string{"the ssl. properties have no effect with " + plain + ": " + secure + " connects by TLS"}, nil
		}
	}
	return nil, nil
}

// ofURL returns the security properties of a load on a system that a URL names: the URL says whether there is TLS.
func ofURL(p *plan.Plan, given map[string]plan.Given) map[string]plan.Given {
	if p.URL == "" {
		return given
	}
	given = maps.Clone(given)
	if !p.Encrypts() {
		maps.DeleteFunc(given, func(name string, _ plan.Given) bool { return strings.HasPrefix(name, "ssl.") }) // checkTLS says so
		return given
	}
	if given == nil {
		given = make(map[string]plan.Given)
	}
	given["security.protocol"] = plan.Given{Value: "SSL", Source: "--url"}
	return given
}

// Acks returns the acknowledgements that the load waits for; "": the system has none to choose.
func (l *Load) Acks() string {
	if s, ok := l.System.(run.Acknowledging); ok {
		return s.Acks()
	}
	return ""
}

// DeliveryTimeout returns how long a record may wait for its outcome; 0: the system does not say.
func (l *Load) DeliveryTimeout() time.Duration {
	if s, ok := l.System.(run.Delivering); ok {
		return s.DeliveryTimeout()
	}
	return 0
}

// CanCalibrate reports whether kt calibrate can find what this host can offer of the load.
func (l *Load) CanCalibrate() bool {
	s, ok := l.System.(run.Calibrated)
	return ok && s.LikeSink()
}

// Clients tells the configuration which properties the clients of all systems have.
func Clients() config.Kafka {
	producer, _, _ := javaconf.ParseProducer(nil, 0, false) // the defaults fit together, so there
	consumer, _, _ := javaconf.ParseConsumer(nil, false)    // is no error, and every property is there
	return config.Kafka{
		Producer: clientOf(javaconf.IsProducerProperty, producer.All(), rabbitmq.ProducerProperties, pulsar.ProducerProperties),
		Consumer: clientOf(javaconf.IsConsumerProperty, consumer.All(), rabbitmq.ConsumerProperties, pulsar.ConsumerProperties),
		Security: security.Is,
		Takes: func(url, property string) bool {
			own := map[plan.System][]string{plan.RabbitMQ: rabbitmq.ProducerProperties, plan.Pulsar: pulsar.ProducerProperties}
			names, other := own[(&plan.Plan{URL: url}).System()]
			return !other || slices.Contains(names, property)
		},
	}
}

// clientOf returns what Kafka's client has, which a guess may name, and what those of other systems have.
func clientOf(kafka func(name string) bool, settings []result.Setting, others ...[]string) config.Client {
	all := slices.Concat(others...)
	c := config.Client{Has: func(name string) bool { return kafka(name) || slices.Contains(all, name) }}
	for _, s := range settings {
		c.Names = append(c.Names, s.Name)
	}
	return c
}

// findHosts asks the agents for the hosts of a load.
func (l *Load) findHosts(ctx context.Context) (h *cluster.Hosts, err error) {
	h = &cluster.Hosts{Processes: l.Hosts.Processes}
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
	return h, nil
}

// onHosts returns the load as the hosts get it. name is that of a load of a workload.
func (l *Load) onHosts(name string, r run.Request, observers ...run.Observer) cluster.OneLoad {
	known := Clients()
	return cluster.OneLoad{
		Name: name, Request: r, Observers: observers,
		Producer: travelling(l.Properties, known.Producer.Has), Consumer: travelling(l.ConsumerProperties, known.Consumer.Has),
	}
}

// fit fits the load to the number of hosts, which get no security settings.
func (l *Load) fit(h *cluster.Hosts) error {
	if err := l.keepSecurity(); err != nil {
		return misfit(err)
	}
	p, processes := &l.Plan, len(h.Load)*h.Processes
	if p.Writes() && !l.Hosts.OwnProducers {
		p.Producers = processes // kt's default is one in each process
	}
	if p.Reads() && !l.Hosts.OwnConsumers {
		p.Read.Consumers = processes
	}
	parts, err := p.Divide(processes)
	l.Parts = parts
	return misfit(err)
}

// keepSecurity says that security settings stay here. Those of a flag are an error.
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

// travelling returns the properties that other hosts get. Addresses are in the plan.
func travelling(properties map[string]plan.Given, known func(name string) bool) map[string]plan.Given {
	out := maps.Clone(properties)
	maps.DeleteFunc(out, func(name string, _ plan.Given) bool { return name == "bootstrap.servers" || !known(name) })
	return out
}
