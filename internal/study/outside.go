package study

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What a study changes outside its loads: the name of such a factor, or change, begins with one of these.
const (
	brokerPrefix = "broker." // a dynamic setting of every broker
	sysctlPrefix = "sysctl." // a kernel setting of the brokers' host
	tunePrefix   = "tune."   // a change that kt tune proposes for it
)

// BrokerSetting is a dynamic setting of one broker.
type BrokerSetting struct {
	Broker int32   `json:"broker"`
	Name   string  `json:"name"`
	Value  *string `json:"value"` // nil: none of its own
}

// Outside is where a study changes what is not of its loads.
type Outside interface {
	// CheckOutside returns all that hinders changes of the brokers that a load goes to, and of their hosts, and
	// settings of its topics. Nothing is changed.
	CheckOutside(ctx context.Context, l Load, w Wanted) error
	// BrokerSettings returns what every broker has now of some settings.
	BrokerSettings(ctx context.Context, l Load, names []string) ([]BrokerSetting, error)
	SetBrokers(ctx context.Context, l Load, settings []BrokerSetting) error
	// Hosts returns the hosts of these brokers, by the names of their agents; none: this one.
	Hosts(ctx context.Context, l Load) ([]string, error)
	// ChangeHosts gives an order to some hosts that Hosts has returned. One that is gone is an error.
	ChangeHosts(ctx context.Context, l Load, hosts []string, o HostOrder) error
}

// Wanted are all settings outside its loads that a study will ask for, by their own names; those of hosts with their
// prefixes.
type Wanted struct{ Brokers, Hosts, Topics []Flag }

// HostOrder is what a host is to do with its settings. Where changes of somebody else would be put back with
// those of the study, nothing is done.
type HostOrder struct {
	Do    HostDo
	Study string // its ID
	Set   []Flag // all that is to be changed; what the study changed before is put back
	Own   []Flag // all that the study ever changes
}

// HostDo is a kind of order to a host.
type HostDo string

// The orders to hosts. After RestoreHost another study may change them.
const (
	CheckHost   HostDo = "check" // nothing is changed
	SetHost     HostDo = "set"
	RestoreHost HostDo = "restore"
)

// isOutside reports whether a factor is not of a load.
func isOutside(name string) bool {
	return hasPrefix(name, brokerPrefix, sysctlPrefix, tunePrefix)
}

func hasPrefix(name string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// outside returns the values of a cell that have one of some prefixes. The default is no value.
func (c Cell) outside(prefixes ...string) (flags []Flag) {
	for _, f := range c.At {
		if hasPrefix(f.Name, prefixes...) && f.Value != Default {
			flags = append(flags, f)
		}
	}
	return flags
}

// outside returns the values of all cells that have one of some prefixes.
func (s *Study) outside(prefixes ...string) (flags []Flag) {
	for _, c := range s.Cells() {
		flags = append(flags, c.outside(prefixes...)...)
	}
	return once(flags)
}

// CheckOutside returns all that hinders what the cells of a study change outside its loads, or want of their topics.
func (s *Study) CheckOutside(ctx context.Context, runner Runner) error {
	w := Wanted{Brokers: own(s.outside(brokerPrefix)), Hosts: s.outside(sysctlPrefix, tunePrefix)}
	for _, c := range s.Cells() {
		for _, l := range s.Loads {
			for _, f := range s.at(c, l).Flags {
				if name, value, ok := strings.Cut(f.Value, "="); ok && f.Name == "topic-config" {
					w.Topics = append(w.Topics, Flag{name, value})
				}
			}
		}
	}
	if w.Topics = once(w.Topics); len(w.Brokers)+len(w.Hosts)+len(w.Topics) == 0 {
		return nil
	}
	return runner.CheckOutside(ctx, s.Loads[0], w)
}

// own returns settings of brokers by the names that they have there.
func own(flags []Flag) []Flag {
	for i := range flags {
		flags[i].Name = strings.TrimPrefix(flags[i].Name, brokerPrefix)
	}
	return flags
}

// surround changes brokers and hosts as a cell wants them. What was there is in the log before. The first cell
// keeps other studies from the hosts, even if it changes nothing there.
func (x *executor) surround(ctx context.Context, c Cell) error {
	wanted, l := c.outside(brokerPrefix, sysctlPrefix, tunePrefix), x.Study.Loads[0]
	if x.around != nil && slices.Equal(wanted, x.around) {
		return nil
	}
	if len(x.Study.outside(sysctlPrefix, tunePrefix)) > 0 {
		hosts, known := x.hosts()
		var err error
		if !known {
			hosts, err = x.runner.Hosts(ctx, l)
		}
		if err == nil {
			err = x.note(entry{What: changed, Host: true, Hosts: hosts})
		}
		if err == nil {
			err = x.runner.ChangeHosts(ctx, l, hosts, x.order(SetHost, c.outside(sysctlPrefix, tunePrefix)))
		}
		if err != nil {
			return err
		}
	}
	if err := x.surroundBrokers(ctx, own(c.outside(brokerPrefix))); err != nil {
		return err
	}
	x.around = append([]Flag{}, wanted...)
	return nil
}

func (x *executor) order(do HostDo, set []Flag) HostOrder {
	return HostOrder{Do: do, Study: x.name(), Set: set, Own: x.Study.outside(sysctlPrefix, tunePrefix)}
}

// surroundBrokers gives brokers some settings, and what they had before for the others that the study changes.
func (x *executor) surroundBrokers(ctx context.Context, set []Flag) error {
	var names []string
	for _, f := range own(x.Study.outside(brokerPrefix)) {
		names = append(names, f.Name)
	}
	if len(names) == 0 {
		return nil
	}
	before, _ := x.changed()
	if before == nil {
		var err error
		if before, err = x.runner.BrokerSettings(ctx, x.Study.Loads[0], once(names)); err == nil {
			err = x.note(entry{What: changed, Brokers: before})
		}
		if err != nil {
			return err
		}
	}
	wanted := slices.Clone(before)
	for i := range wanted {
		for _, f := range set {
			if wanted[i].Name == f.Name {
				wanted[i].Value = &f.Value
			}
		}
	}
	return x.runner.SetBrokers(ctx, x.Study.Loads[0], wanted)
}

// putBack puts back what the study has changed on brokers and hosts, by its log.
func (x *executor) putBack(ctx context.Context) error {
	brokers, host := x.changed()
	if brokers == nil && !host {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	var errs []error
	if brokers != nil {
		errs = append(errs, x.runner.SetBrokers(ctx, x.Study.Loads[0], brokers))
	}
	if host {
		hosts, _ := x.hosts()
		errs = append(errs, x.runner.ChangeHosts(ctx, x.Study.Loads[0], hosts, x.order(RestoreHost, nil)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("not everything that the study changed is as before: %w; kt study restore %s tries again", err, x.ID)
	}
	x.around = nil
	return x.note(entry{What: restored})
}

// hosts returns the agents of the hosts that the study changes, by its log; none: this host. They stay the same
// from its first change on, so that a host that is gone later is missed, and not left as it is.
func (f *Folder) hosts() (agents []string, known bool) {
	for e := range f.all(changed) {
		if e.Host {
			return e.Hosts, true
		}
	}
	return nil, false
}

// changed returns what the study has changed and not put back, by its log: what brokers had before, and whether
// hosts are changed.
func (f *Folder) changed() (brokers []BrokerSetting, host bool) {
	for e := range f.all(changed, restored) {
		if e.What == restored {
			brokers, host = nil, false
			continue
		}
		if host = host || e.Host; brokers == nil {
			brokers = e.Brokers
		}
	}
	return brokers, host
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
		x := &executor{Folder: p, runner: runner}
		done = append(done, p.left()...)
		err = errors.Join(err, x.putBack(ctx), x.deleteTopics(ctx))
	}
	return once(done), errors.Join(err, f.bad)
}

// left returns a line for each thing that is to be put back.
func (f *Folder) left() (lines []string) {
	brokers, host := f.changed()
	for _, s := range brokers {
		value := "no value of its own"
		if s.Value != nil {
			value = *s.Value
		}
		lines = append(lines, fmt.Sprintf("broker %d: %s has %s again", s.Broker, s.Name, value))
	}
	if host {
		hosts, _ := f.hosts()
		if len(hosts) == 0 {
			hosts = []string{"this host"}
		}
		for _, h := range hosts {
			for _, c := range f.Study.outside(sysctlPrefix, tunePrefix) {
				lines = append(lines, h+": "+c.Name+" is as before")
			}
		}
	}
	for _, t := range f.topics() {
		lines = append(lines, "topic "+t+" is deleted")
	}
	return lines
}
