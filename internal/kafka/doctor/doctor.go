package doctor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// State is the outcome of a check.
type State string

// The states. Unknown is the state of a check that was left out, or that this client may not make.
const (
	Pass    State = "pass"
	Warn    State = "warning"
	Fail    State = "failure"
	Unknown State = "unknown"
)

// Check is one finding.
type Check struct {
	Name    string // what was checked: one of a small, fixed set of words
	About   string // the broker, topic, group or address; "" for the cluster
	State   State
	Text    string           // what was found
	Advice  string           // what to do; "" if nothing
	Figures map[string]int64 // numbers of the text by name and unit; nil: none
}

// Options are what to examine, and for which load.
type Options struct {
	Access    kafka.Access
	Topic     string        // of the load; it need not exist
	Duration  time.Duration // of the load
	ClientIDs []string      // of the load's clients
	ReadOnly  bool          // make no topic
	Protected string        // the name of a cluster on which no topic is made unasked; "": none
	Now       time.Time     // by which certificates end
}

// Report is what was found.
type Report struct {
	Cluster result.Cluster // the zero value: no broker was reached
	Checks  []Check
}

// Failed reports whether a check failed.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.State == Fail })
}

// Examine makes all checks. Brokers that do not answer are failed checks and no errors. After an interrupt it returns the
// checks so far with the error. The report is nil if a bootstrap server is not written HOST:PORT.
func Examine(ctx context.Context, o Options) (*Report, error) {
	e := examination{Options: o}
	defer e.sumUp()
	cluster, err := kafka.Connect(ctx, o.Access)
	var address *kafka.AddressError
	switch {
	case ctx.Err() != nil:
		e.unknown("bootstrap", "", interrupted)
		return &e.Report, ctx.Err()
	case errors.As(err, &address):
		return nil, err
	case err != nil:
		all := []error{err}
		if many, ok := errors.Unwrap(err).(interface{ Unwrap() []error }); ok {
			all = many.Unwrap()
		}
		for _, err := range all {
			e.server(Fail, err)
		}
		return &e.Report, nil
	}
	defer cluster.Close()
	e.cluster, e.Cluster = cluster, cluster.Info
	for _, err := range cluster.Unreached {
		e.server(Warn, err)
	}
	e.pass("bootstrap", "", "%s answered", theme.Plural(len(e.Access.Bootstrap)-len(cluster.Unreached), "bootstrap server", "bootstrap servers"))
	e.step(ctx, e.listeners)
	e.step(ctx, e.roundTrips)
	if len(e.answering) == 0 {
		return &e.Report, ctx.Err()
	}
	client, err := cluster.Client(e.clientOptions()...)
	if err != nil {
		return &e.Report, err
	}
	defer client.Close()
	e.admin, e.client = kadm.NewClient(client), client
	for _, check := range []func(context.Context){
		e.security, e.versions, e.controller, e.layout, e.settings, e.quotas, e.rights,
	} {
		e.step(ctx, check)
	}
	return &e.Report, ctx.Err()
}

const interrupted = "interrupted"

// step makes checks, unless somebody has interrupted. Those that an interrupt ended say nothing about the cluster.
func (e *examination) step(ctx context.Context, checks func(context.Context)) {
	if ctx.Err() != nil {
		return
	}
	before := len(e.Checks)
	checks(ctx)
	if ctx.Err() == nil {
		return
	}
	for i, c := range e.Checks[before:] {
		if c.State != Pass {
			e.Checks[before+i] = Check{Name: c.Name, About: c.About, State: Unknown, Text: interrupted}
		}
	}
}

type examination struct {
	Options
	Report

	cluster   *kafka.Cluster
	client    *kgo.Client
	admin     *kadm.Client
	made      map[string]int  // checks by kind, listed or not
	answering []result.Broker // at their advertised listeners, as brokers of this cluster
}

// clientOptions returns options of clients that connect to the brokers that answer, and give up soon.
func (e *examination) clientOptions() []kgo.Opt {
	var addrs []string
	for _, b := range e.answering {
		addrs = append(addrs, b.Addr)
	}
	const tries = 5 * time.Second
	return []kgo.Opt{
		kgo.SeedBrokers(addrs...), kgo.RequestRetries(5), kgo.DialTimeout(tries), kgo.RetryTimeout(kafka.AdminTimeout),
		kgo.RequestTimeoutOverhead(tries), kgo.RecordDeliveryTimeout(kafka.AdminTimeout), kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}
}

// add adds a check. An error of the connection says what to do at its end.
func (e *examination) add(c Check) {
	if (c.State == Fail || c.State == Warn) && c.Advice == "" {
		if parts := advice.FindStringSubmatch(c.Text); parts != nil && !strings.Contains(parts[2], ": ") {
			c.Text, c.Advice = parts[1], parts[2]
		}
	}
	if e.made == nil {
		e.made = make(map[string]int)
	}
	if e.made[c.kind()]++; e.made[c.kind()] <= maxNamed {
		e.Checks = append(e.Checks, c)
	}
}

// kind is the same of checks of one name and state.
func (c Check) kind() string { return c.Name + " " + string(c.State) }

const maxNamed = 20

func (e *examination) sumUp() {
	for _, c := range slices.Clone(e.Checks) {
		if more := e.made[c.kind()] - maxNamed; more > 0 {
			e.Checks = append(e.Checks, Check{Name: c.Name, State: c.State, Text: fmt.Sprintf("the same of %d more", more)})
			delete(e.made, c.kind())
		}
	}
}

// advice begins with one of the verbs that kt's own errors use.
var advice = regexp.MustCompile(`(?s)^(.*): ((?:add|check|connect|correct|give|name|put|renew|run|set|start|write) .*)$`)

func (e *examination) pass(name, about, format string, args ...any) {
	e.add(Check{Name: name, About: about, State: Pass, Text: fmt.Sprintf(format, args...)})
}

func (e *examination) warn(name, about, advice, format string, args ...any) {
	e.add(Check{Name: name, About: about, State: Warn, Text: fmt.Sprintf(format, args...), Advice: advice})
}

func (e *examination) fail(name, about, advice, format string, args ...any) {
	e.add(Check{Name: name, About: about, State: Fail, Text: fmt.Sprintf(format, args...), Advice: advice})
}

func (e *examination) unknown(name, about, text string) {
	e.add(Check{Name: name, About: about, State: Unknown, Text: text})
}

// unread adds a check that could not be made. right is the ACL that it needs.
func (e *examination) unread(name, about, right string, err error) {
	advice := "" // the brokers do not offer it, or do not answer in time
	if kafka.Denied(err) {
		advice = "allow " + right + ", or look at it with an admin's account"
	}
	e.add(Check{Name: name, About: about, State: Unknown, Text: "it cannot be read: " + err.Error(), Advice: advice})
}

func aboutBroker(id int32) string { return fmt.Sprintf("broker %d", id) }
