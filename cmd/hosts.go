package cmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
)

// remote is a run that other hosts make together.
type remote struct {
	env    *Env
	load   *load
	stop   *stopper
	client *cluster.Client
	order  cluster.Order
	shares []float64 // of the load, by host
	out    *output
	fold   *result.Fold            // what is known while the run goes on
	hosts  map[string]*result.Fold // likewise of each host that makes a load
	said   []string                // for when there is no screen; by the one goroutine of the client's run
	told   []string                // on stderr
}

// runRemote makes a load on other hosts, and writes the merged result.
func (l *load) runRemote(ctx context.Context, env *Env, stop *stopper) error {
	file, err := openRunFile(env, l.ResultFile, run.Stem(&l.Plan))
	if err != nil {
		return usageError(err)
	}
	defer file.Discard()
	r := &remote{env: env, load: l, stop: stop}
	if r.client, err = env.client(&l.Hosts.Agents); err != nil {
		return err
	}
	if err := r.findHosts(ctx); err != nil {
		return err
	}
	m := newMerger(env)
	defer m.close()
	dir, remove, err := scratch(env)
	if err != nil {
		return err
	}
	defer remove()
	outcome, err := r.run(ctx, dir)
	if err != nil {
		return misfitOrder(err)
	}
	return r.finish(ctx, m, file, outcome)
}

// misfitOrder gives what the hosts refuse the exit code of a command line that is wrong.
func misfitOrder(err error) error {
	var refused *cluster.RefusedError
	if errors.As(err, &refused) {
		return usageError(err)
	}
	if errors.Is(err, cluster.ErrStopped) {
		return context.Canceled // the exit code is the signal's
	}
	return err
}

// findHosts asks the agents who they are, and divides the load.
func (r *remote) findHosts(ctx context.Context) error {
	l := r.load
	found, err := peers(ctx, r.client, &l.Hosts.Agents)
	if err != nil {
		return err
	}
	on, err := choose("on", l.Hosts.On, found)
	if err != nil {
		return usageError(err)
	}
	if n := l.Hosts.Hosts; n > 0 && n != len(on) {
		return usageError(fmt.Errorf("--hosts %d: --on %s is %d now (%s): kt peers tells who is there, and an agent that was just started may take seconds to join",
			n, strings.Join(l.Hosts.On, ","), len(on), strings.Join(namesOf(on), ", ")))
	}
	watched, err := r.watched(found, on)
	if err != nil {
		return usageError(err)
	}
	p := l.Plan
	processes := len(on) * l.Hosts.Processes
	if p.Writes() && !l.Hosts.OwnProducers {
		p.Producers = processes // kt's default is one in each process
	}
	if p.Reads() && !l.Hosts.OwnConsumers {
		p.Read.Consumers = processes
	}
	parts, err := p.Divide(processes)
	if err != nil {
		return usageError(err)
	}
	for of := range slices.Chunk(parts, l.Hosts.Processes) {
		share := 0.0
		for i := range of {
			share += of[i].Part()
		}
		r.shares = append(r.shares, share)
	}
	l.Plan = p
	epoch := rand.Text()[:12]
	name := l.Name
	if name == "" {
		name = epoch
	}
	r.order = cluster.Order{
		Run: name, Epoch: epoch, Args: append([]string{"kt"}, r.env.Args...), Plan: p,
		Producer: travelling(l.Properties, javaconf.IsProducerProperty), Consumer: travelling(l.ConsumerProperties, javaconf.IsConsumerProperty),
		Load: on, Watch: watched, Processes: l.Hosts.Processes,
	}
	if err := r.order.Check(); err != nil {
		return usageError(err)
	}
	return nil
}

// travelling are the properties that other hosts get: those of the client. The addresses are
// in the plan, and what kt does not know was warned of here.
func travelling(properties map[string]plan.Given, known func(name string) bool) map[string]plan.Given {
	out := maps.Clone(properties)
	maps.DeleteFunc(out, func(name string, _ plan.Given) bool { return name == "bootstrap.servers" || !known(name) })
	return out
}

// watched are the hosts that make no load: those of brokers, unless the user says
// otherwise.
func (r *remote) watched(found, on []cluster.Peer) ([]cluster.Peer, error) {
	words := r.load.Hosts.Watch
	if slices.Equal(words, []string{"none"}) {
		return nil, nil
	}
	chosen, err := choose("watch", words, found)
	for _, p := range found {
		switch {
		case len(words) > 0 || p.Role != roleBroker:
		case p.Err != nil:
			r.env.say("%s is not watched: %v", p.Name, p.Err)
		default:
			chosen = append(chosen, p)
		}
	}
	return slices.DeleteFunc(chosen, func(p cluster.Peer) bool { return isAmong(on, &p) }), err
}

// run makes the load, behind the screen if there is one.
func (r *remote) run(ctx context.Context, dir string) (cluster.Outcome, error) {
	h := r.header()
	r.out = newOutput(r.env, r.load, r.stop, nil)
	r.fold, r.hosts = result.NewFold(h), make(map[string]*result.Fold)
	if !r.load.Quiet {
		r.env.say("run %s on %s", r.order.Run, hostList(r.order))
	}
	r.client.Log = r.say
	abort := make(chan struct{})
	r.stop.elsewhere(sync.OnceFunc(func() { close(abort) }), leaveHosts)
	r.out.openScreen(ctx, r.screenHeader(h))
	outcome, err := r.client.Run(ctx, r.order, cluster.RunOptions{Stop: r.stop.asked, Abort: abort, Observe: r.observe, Dir: dir})
	r.out.close()
	for _, text := range r.said {
		r.tell(text)
	}
	return outcome, err
}

// leaveHosts is how long the hosts may take to end a run that was ended twice, and to
// hand over what they have.
const leaveHosts = 20 * time.Second

// hostList names the hosts of an order.
func hostList(o cluster.Order) string {
	s := theme.Plural(len(o.Load), "host", "hosts") + ": " + strings.Join(namesOf(o.Load), ", ")
	if o.Processes > 1 {
		s += fmt.Sprintf(" (%d processes each)", o.Processes)
	}
	if len(o.Watch) > 0 {
		s += "; watching " + strings.Join(namesOf(o.Watch), ", ")
	}
	return s
}

func namesOf(peers []cluster.Peer) (names []string) {
	for _, p := range peers {
		names = append(names, p.Name)
	}
	return names
}

// finish merges what the hosts measured: from their files, as kt collect does.
func (r *remote) finish(ctx context.Context, m *merger, file *run.File, o cluster.Outcome) error {
	r.tellLost(o)
	if len(o.Files) == 0 {
		return fmt.Errorf("nothing was collected: %s", strings.Join(o.Lost, "; "))
	}
	for _, path := range o.Files {
		if err := m.addFetched(path); err != nil {
			return err
		}
	}
	if err := m.set.Select(r.order.Epoch); err != nil {
		return errors.Join(append(m.corrupt, err)...)
	}
	res, err := m.set.Result(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	r.tellParts(&res, o)
	err = errors.Join(append(m.lost(), m.fill(file), r.out.write(res, file.Path()))...)
	judged := judge(res, r.stop.code(), r.load.Output)
	if judged == nil {
		judged = judgeParts(&res, o)
	}
	if judged == nil {
		judged = apart(&res)
	}
	return worse(judged, err)
}

// tellLost tells what is not there, unless it was told while the run went on.
func (r *remote) tellLost(o cluster.Outcome) {
	for _, text := range o.Lost {
		if !slices.Contains(r.told, text) {
			r.tell(text)
		}
	}
}

// tellParts tells what the processes whose figures do not count said of it: their files
// may have had no room for that.
func (r *remote) tellParts(res *result.Result, o cluster.Outcome) {
	for _, row := range res.Processes {
		done := o.Ended[row.Host]
		if i := row.Process - 1; !row.Counted && i >= 0 && i < len(done) && done[i].Text != "" && !isLost(o, row.Host, done[i].Text) {
			r.tell(fmt.Sprintf("%s/%d: %s", row.Host, row.Process, done[i].Text))
		}
	}
}

// isLost tells whether what there is to say of a process is said of what is lost of its
// host.
func isLost(o cluster.Outcome, host, text string) bool {
	return slices.ContainsFunc(o.Lost, func(lost string) bool {
		return text != "" && strings.HasPrefix(lost, host+": ") && strings.Contains(lost, text)
	})
}

// judgeParts finds the worst that a process said of its own part, where the whole shows
// nothing: a reader that waited in vain, say. Of one that is lost it says how many are, for
// why was told. A signal to a process over there is none to this one.
func judgeParts(res *result.Result, o cluster.Outcome) error {
	var worst *exitError
	for _, name := range slices.Sorted(maps.Keys(o.Ended)) {
		for _, d := range o.Ended[name] {
			if d.Code != exitOK && d.Code < exitHungUp && (worst == nil || d.Code > worst.code) {
				worst = &exitError{d.Code, fmt.Errorf("%s: %s", name, d.Text)}
				if isLost(o, name, d.Text) {
					worst.err = apart(res)
				}
			}
		}
	}
	if worst == nil {
		return nil
	}
	return worst
}
