package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/suggest"
	"github.com/kt-bench/kt/internal/theme"
)

// Hosts makes runs on many hosts: its Run is to them as run.Run is to this process, of one load or of
// several at once. Several runs may go on at once. Watch may be empty.
type Hosts struct {
	Client    *Client
	Load      []Peer // make the load
	Watch     []Peer // are only watched
	Processes int    // of each host that makes the load
	Dir       string // an existing folder for the run files
}

// ProcessError is the worst error with which a process of a run on many hosts ended.
type ProcessError struct {
	Host string
	Ended
	Lost bool  // the process is lost, and a notice has given the reason
	Err  error // what went wrong beside the load, or nil
}

func (e *ProcessError) Error() string {
	return errors.Join(fmt.Errorf("%s: %s", e.Host, e.Text), e.Err).Error()
}

func (e *ProcessError) Unwrap() error { return e.Err }

// OneLoad is one of several loads that the hosts make at once, by its name.
type OneLoad struct {
	Name string // "": it is no load of a workload
	run.Request
	Producer, Consumer map[string]plan.Given // the Java properties of its clients
	Observers          []run.Observer
}

func (l *OneLoad) asked() *result.Asked {
	if l.Part == nil {
		return nil
	}
	return l.Part.Asked
}

// Run makes loads on the hosts and merges their run files, as kt collect does. The run file of the request becomes the
// collection. If a process ended with an error, Run returns a ProcessError with the result. When ctx ends, the hosts
// are told to leave at once, and what they hand over within seconds counts.
//
// Commands, ledgers and the hooks Ready, Began and Done belong to a run of one process: Run ignores them. The process
// that made the topic deletes it if the plan says so.
//
// Every host makes a share of each load. All begin at one moment, and topics are deleted when all are over. Their topics are made in the
// order of the loads: those that write come before those that only read. The file, the part, the version, and the hooks Stop, Notify and
// Now are those of the first load. A condition that ends one of them ends all.
func (h *Hosts) Run(ctx context.Context, loads ...OneLoad) (result.Result, error) {
	r := loads[0].Request
	defer r.File.Discard()
	if r.Notify == nil {
		r.Notify = func(run.Notice) {}
	}
	o := loadOrder{Hosts: *h, OneLoad: loads[0], Run: rand.Text()[:12], others: loads[1:]}
	if o.Epoch = o.Run; r.Part != nil {
		o.Run = r.Part.Run
	}
	if err := o.check(); err != nil {
		return result.Result{}, &result.MisfitError{Err: err}
	}
	r.Notify(run.Notice{Kind: run.HostsChosen, Text: fmt.Sprintf("run %s on %s", o.Run, o.hosts())})
	var to []run.Delivery
	for i := range loads {
		if opened := loads[i].Opened; opened != nil {
			if err := opened(o.header(&loads[i])); err != nil {
				return result.Result{}, err
			}
		}
		to = append(to, run.NewDelivery(loads[i].Observers))
	}
	var reported []string
	c := *h.Client
	c.Log = func(text string) {
		reported = append(reported, text)
		r.Notify(run.Notice{Kind: run.HostTrouble, Text: text})
	}
	observe := func(load int, s run.Second) { to[load].Send(s) }
	out, err := c.run(context.WithoutCancel(ctx), o, runOptions{Stop: r.Stop, Abort: ctx.Done(), Observe: observe, Dir: h.Dir})
	for i := range to {
		to[i].Close(context.WithoutCancel(ctx))
	}
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		return result.Result{}, &result.MisfitError{Err: err}
	case errors.Is(err, errStopped):
		return result.Result{}, context.Canceled
	case err != nil:
		return result.Result{}, err
	}
	out.reportLost(reported, c.Log)
	res, err := out.merge(ctx, o.Epoch, r.File)
	if res.RunID == "" {
		return res, err
	}
	out.reportParts(&res, c.Log)
	if worst := out.worst(); worst != nil {
		worst.Err = err
		return res, worst
	}
	return res, err
}

// header returns a header of a whole load for observers, before any host has answered.
func (o *loadOrder) header(l *OneLoad) result.Header {
	h := result.Header{Schema: result.Schema, RunID: o.Epoch, KTVersion: o.Version, Args: o.Args, Tags: l.Tags, Plan: l.Plan, Limits: l.Limits, Accepted: l.Accepted}
	if l.Name != "" {
		h.Part = &result.Part{Run: o.Run, Epoch: o.Epoch, Load: l.Name, Asked: l.asked()}
	}
	if o.Now != nil {
		h.StartedAt = o.Now().UTC()
	}
	t := &l.Plan.Topic
	var topics []result.Topic
	for _, name := range t.Names() {
		topics = append(topics, result.Topic{Name: name, Partitions: int(t.Partitions), ReplicationFactor: int(t.ReplicationFactor)})
	}
	if len(topics) > 0 {
		h.Environment.SetTopics(topics)
	}
	l.System.Describe(&h)
	return h
}

// hosts lists the hosts of an order for people.
func (o *loadOrder) hosts() string {
	s := theme.Plural(len(o.Load), "host", "hosts") + ": " + Names(o.Load)
	if o.Processes > 1 {
		s += fmt.Sprintf(" (%d processes each)", o.Processes)
	}
	if len(o.Watch) > 0 {
		s += "; watching " + Names(o.Watch)
	}
	return s
}

// Names returns the names of peers, separated by commas.
func Names(peers []Peer) string {
	var names []string
	for _, p := range peers {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// merge merges the run files of an epoch into one result, and writes them into one collection.
func (o *outcome) merge(ctx context.Context, epoch string, to *run.File) (result.Result, error) {
	if len(o.Files) == 0 {
		return result.Result{}, fmt.Errorf("nothing was collected: %s", strings.Join(o.Lost, "; "))
	}
	return merge.Files(ctx, o.Files, epoch, to.Fill)
}

// reportLost reports everything that is lost, unless it was reported during the run.
func (o *outcome) reportLost(reported []string, report func(text string)) {
	for _, text := range o.Lost {
		if !slices.Contains(reported, text) {
			report(text)
		}
	}
}

// reportParts reports the errors of the processes whose figures do not count: their run files may lack them.
func (o *outcome) reportParts(res *result.Result, report func(text string)) {
	for _, row := range res.Parts() {
		ended := o.Ended[row.Host]
		if i := row.Process - 1; !row.Counted && i >= 0 && i < len(ended) && ended[i].Text != "" && !o.isLost(row.Host, ended[i].Text) {
			report(fmt.Sprintf("%s/%d: %s", row.Host, row.Process, ended[i].Text))
		}
	}
}

// isLost reports whether the error of a process is already in the host's sentences about what is lost.
func (o *outcome) isLost(host, text string) bool {
	return slices.ContainsFunc(o.Lost, func(lost string) bool {
		return text != "" && strings.HasPrefix(lost, host+": ") && strings.Contains(lost, text)
	})
}

// signalCodes is above every exit code of an error. Higher ones stand for signals.
const signalCodes = 128

// worst returns the error with the highest exit code, the first one by host; nil: every process ended well.
func (o *outcome) worst() *ProcessError {
	var worst *ProcessError
	for _, host := range slices.Sorted(maps.Keys(o.Ended)) {
		for _, e := range o.Ended[host] {
			if e.Code > 0 && e.Code < signalCodes && (worst == nil || e.Code > worst.Code) {
				worst = &ProcessError{Host: host, Ended: e, Lost: o.isLost(host, e.Text)}
			}
		}
	}
	return worst
}

// Choose sets Load and Watch from the names, tags and roles of on and watch. If watch is empty,
// Watch gets all hosts of brokers; if it is "none", Watch stays empty.
func (h *Hosts) Choose(on, watch []string, found []Peer) (err error) {
	if h.Load, err = choose("on", on, found); err != nil || slices.Equal(watch, []string{"none"}) {
		return err
	}
	h.Watch, err = choose("watch", watch, found)
	for _, p := range found {
		switch {
		case len(watch) > 0 || p.Role != RoleBroker:
		case p.Err != nil:
			h.Client.Log(fmt.Sprintf("%s is not watched: %v", p.Name, p.Err))
		default:
			h.Watch = append(h.Watch, p)
		}
	}
	h.Watch = slices.DeleteFunc(h.Watch, func(p Peer) bool { return isAmong(h.Load, &p) })
	return err
}

// choose returns the peers that match the words. The word all leaves out brokers, which a load would disturb.
func choose(flag string, words []string, among []Peer) ([]Peer, error) {
	var chosen []Peer
	var errs []error
	for _, word := range words {
		matched := false
		for _, p := range among {
			if !p.matches(word) {
				continue
			}
			if matched = true; !isAmong(chosen, &p) {
				chosen = append(chosen, p)
			}
		}
		if !matched {
			errs = append(errs, fmt.Errorf("--%s %s: no agent has that name, tag or role%s", flag, word, explainNoMatch(word, among)))
		}
	}
	for _, p := range chosen {
		if p.Err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, p.Err)) // the error names the peer
		}
	}
	slices.SortFunc(chosen, func(a, b Peer) int { return strings.Compare(a.Name, b.Name) })
	return chosen, errors.Join(errs...)
}

// isAmong reports whether an agent is among others. Two agents of one name are different ones.
func isAmong(peers []Peer, p *Peer) bool {
	return slices.ContainsFunc(peers, func(o Peer) bool { return o.Name == p.Name && o.Addr == p.Addr })
}

// matches reports whether a word of --on or --watch stands for the peer.
func (p *Peer) matches(word string) bool {
	switch word { // whatever an agent calls itself
	case "all":
		return p.Role != RoleBroker
	case RoleClient + "s":
		return p.Role == RoleClient
	case RoleBroker + "s":
		return p.Role == RoleBroker
	}
	return word == p.Name || slices.Contains(p.Tags, word)
}

// The roles of hosts. As words of --on and --watch their plurals stand for all hosts of a role.
const (
	RoleClient = "client"
	RoleBroker = "broker"
)

// explainNoMatch returns the rest of the error for a word that matches no agent: a similar word, or all agents.
func explainNoMatch(word string, among []Peer) string {
	if len(among) == 0 {
		return ": there is no agent at all"
	}
	var words, there []string
	for _, p := range among {
		words = append(append(words, p.Name), p.Tags...)
		what := "does not answer"
		if p.Role != "" {
			what = p.Role
			words = append(words, p.Role+"s")
		}
		if len(p.Tags) > 0 {
			what += "; tags " + strings.Join(p.Tags, " ")
		}
		there = append(there, fmt.Sprintf("%s (%s)", p.Name, what))
	}
	slices.Sort(words)
	text := "; there are " + strings.Join(there, ", ")
	switch near := suggest.Nearest(word, slices.Compact(words)); {
	case word == "all":
		return "; all leaves out the hosts of brokers, which have to be named" + text
	case near != "" && word != RoleClient+"s" && word != RoleBroker+"s":
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return text
}
