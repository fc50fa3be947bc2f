package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/result"
)

// What a study changes outside its loads: the name of such a factor, or change, begins with one of these.
const (
	brokerPrefix = "broker." // a dynamic setting of every broker
	sysctlPrefix = "sysctl." // a kernel setting of the brokers' host
	tunePrefix   = "tune."   // a change that kt tune proposes for it
)

// Wanted are all settings outside its loads that a study will ask for, by their own names; those of hosts with their
// prefixes.
type Wanted struct{ Brokers, Hosts, Topics []Flag }

// HostOrder asks a host to change some of its settings for a study. The host alone decides whether it may: its kt tune knows
// the settings and their values, and has a journal of the old ones. Where changes of somebody else would be put back with
// those of the study, nothing is done.
type HostOrder struct {
	Do    HostDo `json:"do"`
	Study string `json:"study"`         // whose changes they are: its ID
	Set   []Flag `json:"set,omitempty"` // all that is to be changed; what the study changed before is put back
	Own   []Flag `json:"own,omitempty"` // all that the study ever changes

	Found []HostFinding `json:"-"` // the answer to LookAtHost and TryHost, which is no part of the order
}

// HostFinding is a setting that a host's kt tune knows in its role.
type HostFinding struct {
	ID    string    `json:"id"`
	Group string    `json:"group"`
	About string    `json:"about"`
	State HostState `json:"state"`
}

// HostState is how a setting of a host is.
type HostState string

// The states.
const (
	Proposed  HostState = "proposed" // a change that takes effect at once
	Fine      HostState = "fine"
	ByHand    HostState = "to be changed by hand or at the next boot"
	Refused   HostState = "refused by the host"
	NotOfHost HostState = "not of this host"
	Unlike    HostState = "not the same on all hosts"
)

// HostDo is a kind of order to a host.
type HostDo string

// The orders to hosts. After RestoreHost another study may change them.
const (
	LookAtHost  HostDo = "look"  // what its kt tune finds; nothing is changed
	TryHost     HostDo = "try"   // the same, and each change that it proposes is made and undone at once: some hosts refuse some
	CheckHost   HostDo = "check" // whether Set could be changed; nothing is
	SetHost     HostDo = "set"
	RestoreHost HostDo = "restore"
)

func isOutside(name string) bool {
	return slices.ContainsFunc([]string{brokerPrefix, sysctlPrefix, tunePrefix}, func(p string) bool { return strings.HasPrefix(name, p) })
}

// outside returns what some cells change outside their loads, each once. The default is no value.
func outside(cells ...Cell) (w Wanted) {
	for _, c := range cells {
		for _, f := range c.At {
			name, ofBrokers := strings.CutPrefix(f.Name, brokerPrefix)
			switch value := (Flag{name, strings.Join(strings.Fields(f.Value), " ")}); {
			case !isOutside(f.Name) || f.Value == Default:
			case ofBrokers:
				w.Brokers = append(w.Brokers, value)
			default:
				w.Hosts = append(w.Hosts, value)
			}
		}
	}
	w.Brokers, w.Hosts = once(w.Brokers), once(w.Hosts)
	return w
}

// CheckOutside returns all that hinders what the cells of a study change outside its loads, or want of their topics.
func (s *Study) CheckOutside(ctx context.Context, runner Runner) error {
	cells := s.Cells()
	w := outside(cells...)
	for _, c := range cells {
		for _, l := range s.Loads {
			for _, f := range s.at(c, l).Flags {
				if name, value, ok := strings.Cut(f.Value, "="); ok && f.Name == "topic-config" {
					w.Topics = append(w.Topics, Flag{name, value})
				} else if _, name, ok := strings.Cut("."+f.Name, "."+topicPrefix); ok && l.IsWorkload() && f.Value != Default { // topic.X or LOAD.topic.X
					w.Topics = append(w.Topics, Flag{name, f.Value})
				}
			}
		}
	}
	if w.Topics = once(w.Topics); len(w.Brokers)+len(w.Hosts)+len(w.Topics) == 0 {
		return nil
	}
	return runner.CheckOutside(ctx, s.Loads[0], w)
}

// surround changes brokers and hosts as a cell wants them. What the cell leaves is as it was before.
func (x *executor) surround(ctx context.Context, c Cell) error {
	l, now, ever := x.Study.Loads[0], outside(c), outside(x.Study.Cells()...)
	names := mapped(ever.Brokers, func(f Flag) string { return f.Name })
	wanted := slices.Concat([]Flag{}, now.Hosts, now.Brokers)
	if x.around != nil && slices.Equal(wanted, x.around) {
		return nil
	}
	if err := x.stop(ctx); err != nil {
		return err
	}
	s := x.state()
	e, err := cmp.Or(s.changed, &entry{What: changed, Host: len(ever.Hosts) > 0}), error(nil)
	if s.changed == nil && e.Host {
		if s.hosts != nil { // one that is gone is missed
			e.Hosts = s.hosts.Hosts
		} else if e.Hosts, err = x.runner.Hosts(ctx, l); err != nil {
			return err
		}
		err = x.note(*e)
	}
	if err == nil && e.Host { // first, because it keeps other studies from the hosts: brokers may have settings of one of them
		err = x.runner.ChangeHosts(ctx, l, e.Hosts, x.order(SetHost, now.Hosts))
	}
	if err == nil && e.Brokers == nil && len(names) > 0 {
		if e.Brokers, err = x.runner.BrokerSettings(ctx, l, once(names)); err == nil {
			err = x.note(*e)
		}
	}
	if err == nil && len(names) > 0 {
		set := mapped(e.Brokers, func(b result.BrokerSetting) result.BrokerSetting {
			if i := slices.IndexFunc(now.Brokers, func(f Flag) bool { return f.Name == b.Name }); i >= 0 {
				b.Value = &now.Brokers[i].Value
			}
			return b
		})
		if err = x.runner.SetBrokers(ctx, l, set); err != nil { // threads only from half to twice of what there are: by way of those before
			if x.runner.SetBrokers(ctx, l, e.Brokers) == nil {
				err = x.runner.SetBrokers(ctx, l, set)
			}
		}
	}
	if err == nil {
		x.around = wanted
	}
	return err
}

func (x *executor) order(do HostDo, set []Flag) HostOrder {
	return HostOrder{Do: do, Study: x.name(), Set: set, Own: outside(x.Study.Cells()...).Hosts}
}

// tidy puts back what the study has changed on brokers and hosts, by its log, and deletes topics that are left.
func (x *executor) tidy(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	s, l := x.state(), x.Study.Loads[0]
	var err error
	if e := s.changed; e != nil {
		if len(e.Brokers) > 0 {
			err = x.runner.SetBrokers(ctx, l, e.Brokers)
		}
		if e.Command != "" {
			err = errors.Join(err, x.runner.Command(ctx, e.Command))
		}
		if e.Host {
			err = errors.Join(err, x.runner.ChangeHosts(ctx, l, e.Hosts, x.order(RestoreHost, nil)))
		}
		if err != nil {
			err = fmt.Errorf("not everything that the study changed is as before: %w; kt study restore %s tries again", err, x.ID)
		} else {
			x.around, err = nil, x.note(entry{What: restored})
		}
	}
	for _, t := range s.topics {
		bad := x.deleteTopic(ctx, t)
		if bad != nil {
			bad = fmt.Errorf("topic %s of this study is still there: %w; kt study resume %s deletes it", t.Topic, bad, x.ID)
		} else {
			bad = x.note(entry{What: removed, Topic: t.Topic})
		}
		err = errors.Join(err, bad)
	}
	return err
}

// Restore puts back what a study that was cut off has changed on brokers and hosts, and deletes its topics.
// It returns a line for each of them.
func Restore(ctx context.Context, f *Folder, runner Runner) (done []string, err error) {
	release, err := f.hold()
	if err != nil {
		return nil, err
	}
	defer release()
	parts, err := f.begun()
	for _, p := range parts {
		done = append(done, p.left()...)
		err = errors.Join(err, (&executor{Folder: p, runner: runner}).tidy(ctx), p.bad)
	}
	return once(done), err
}

// left returns a line for each thing that is to be put back.
func (f *Folder) left() []string {
	s := f.state()
	return lines("left", map[string]any{"Changed": s.changed, "Topics": s.topics, "Settings": outside(f.Study.Cells()...).Hosts, "Here": []string{"this host"}})
}
