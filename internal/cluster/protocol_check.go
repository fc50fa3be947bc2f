package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

var sha256Text = regexp.MustCompile(`^[0-9a-f]{64}$`)

// exactlyOne returns an error unless exactly one of the fields of a message is set.
func exactlyOne(set ...bool) error {
	n := 0
	for _, s := range set {
		if s {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("%d of its fields are set, and one must be", n)
	}
	return nil
}

func (m *toAgent) check() error {
	err := exactlyOne(m.Hello != nil, m.Ping != nil, m.Look != nil, m.Offer != nil, m.Open != nil, m.Start != nil,
		m.Order != nil, m.Resume != nil, m.Files != nil, m.Read != nil, m.Tune != nil)
	if err != nil {
		return err
	}
	switch {
	case m.Offer != nil:
		return m.Offer.check()
	case m.Open != nil:
		return m.Open.check()
	case m.Start != nil:
		return m.Start.check()
	case m.Order != nil:
		return m.Order.check()
	case m.Resume != nil:
		return checkName(m.Resume.Epoch)
	case m.Files != nil && m.Files.Run != "":
		return checkName(m.Files.Run)
	case m.Read != nil:
		return m.Read.check()
	case m.Tune != nil:
		return m.Tune.check()
	}
	return nil
}

// check returns an error if the offer is malformed. Limits decide whether the agent accepts it.
func (o *offer) check() error {
	p := &o.Part
	if err := errors.Join(checkName(p.Run), checkName(p.Epoch), checkName(p.Host)); err != nil {
		return err
	}
	for _, m := range p.Roster {
		if err := checkName(m.Host); err != nil {
			return err
		}
		if m.Processes < 0 || m.Processes > maxProcesses {
			return fmt.Errorf("host %s has %d processes", m.Host, m.Processes)
		}
	}
	args := 0
	for _, a := range o.Args {
		args += len(a)
	}
	switch {
	case p.Process != 0:
		return fmt.Errorf("it is for process %d and not for a host", p.Process)
	case len(p.Role) > maxText || len(p.Tags) > maxTags || len(p.Roster) > maxHosts:
		return errors.New("its part is too large")
	case len(o.Shares) > maxProcesses:
		return fmt.Errorf("it is for %d processes, and %d are the most", len(o.Shares), maxProcesses)
	case len(p.Limits) > maxTags || slices.ContainsFunc(p.Limits, func(l string) bool { return len(l) > maxText }):
		return errors.New("its limits are too many or too long")
	case len(o.Args) > maxArgs || args > maxArgsBytes:
		return errors.New("its command line is too long")
	case o.Lasts < 0 || o.Lasts > maxRunTime:
		return fmt.Errorf("it lasts %v", o.Lasts)
	}
	for _, t := range p.Tags {
		if len(t) > maxText {
			return errors.New("a tag is too long")
		}
	}
	return errors.Join(plan.CheckTags(o.Tags), checkGiven(o.Producer), checkGiven(o.Consumer))
}

// checkSize returns an error if the offer is too large for any agent.
func (o *offer) checkSize() error {
	b, err := json.Marshal(o)
	if err == nil && len(b) > maxOffer {
		err = fmt.Errorf("its order takes %d KiB, at most %d KiB are allowed: give fewer or shorter properties", (len(b)+1023)>>10, maxOffer>>10)
	}
	return err
}

func checkGiven(properties map[string]plan.Given) error {
	if len(properties) > maxProperties {
		return fmt.Errorf("there are %d properties, and %d are the most", len(properties), maxProperties)
	}
	for name, g := range properties {
		// A certificate in a property is a few KiB.
		if len(name) > maxText || len(g.Value) > maxArgsBytes || len(g.Source) > maxText {
			return fmt.Errorf("property %s is too long", clean(name, 64))
		}
	}
	return nil
}

func (o *open) check() error {
	if len(o.Processes) > maxProcesses {
		return errors.New("it opens too many processes")
	}
	return checkName(o.Epoch)
}

func (s *startRun) check() error {
	if a := s.Order.Agreed; a.Late != 0 || a.Bound < 0 || a.Bound > time.Hour || a.Offset < -maxClockError || a.Offset > maxClockError {
		return fmt.Errorf("the agreed start %+v is none", a)
	}
	if !plausible(s.Order.At) || !plausible(s.Order.Agreed.At) {
		return errors.New("its start is out of range")
	}
	return checkName(s.Epoch)
}

// plausible reports whether a time can be encoded as JSON and subtracted from others.
func plausible(t time.Time) bool { return t.Year() >= 1990 && t.Year() < 2200 }

func (o *order) check() error {
	switch o.Do {
	case doCancel, doStop, doAbort, doDrained, doFinish:
		o.Why = clean(o.Why, maxText)
		return checkName(o.Epoch)
	}
	return fmt.Errorf("order %q is none", clean(o.Do, 64))
}

func (c *chunkAsked) check() error {
	if c.Offset < 0 || c.Bytes < 1 || c.Bytes > maxRunFile || c.Offset >= c.Bytes {
		return fmt.Errorf("byte %d of %d is none", c.Offset, c.Bytes)
	}
	return checkName(c.RunID)
}

func (m *fromAgent) check() error {
	err := exactlyOne(m.Welcome != nil, m.Pong != nil, m.Looked != nil, m.Accepted != nil, m.Refused != nil, m.Part != nil,
		m.Starting != nil, m.Second != nil, m.Vitals != nil, m.Written != nil, m.Ended != nil, m.Files != nil, m.Tuned != nil, m.Problem != nil)
	if err != nil {
		return err
	}
	switch {
	case m.Pong != nil:
		if !plausible(m.Pong.Received) || !plausible(m.Pong.Sent) {
			return errors.New("its clock is out of range")
		}
	case m.Looked != nil:
		return m.Looked.check()
	case m.Accepted != nil:
		return checkName(m.Accepted.Epoch)
	case m.Refused != nil:
		m.Refused.Text = clean(m.Refused.Text, maxText)
	case m.Part != nil:
		return m.Part.check()
	case m.Starting != nil:
		return checkName(m.Starting.Epoch)
	case m.Second != nil:
		return m.Second.check()
	case m.Vitals != nil:
		return m.Vitals.check()
	case m.Written != nil:
		m.Written.Text = clean(m.Written.Text, maxText)
		return checkName(m.Written.Epoch)
	case m.Ended != nil:
		return checkName(m.Ended.Epoch)
	case m.Files != nil:
		return m.Files.check()
	case m.Problem != nil:
		*m.Problem = clean(*m.Problem, maxText)
	}
	return nil
}

func (l *looked) check() error {
	if !plausibleCores(l.CPU) || !plausibleCores(l.Cores) || l.Memory < 0 || l.Free < 0 || l.Results < 0 || len(l.Members) > 2*maxHosts {
		return errors.New("its description of itself is out of range")
	}
	l.Run = clean(l.Run, 64)
	for i := range l.Members {
		m := &l.Members[i]
		i := Info{Name: m.Name, Role: m.Role, Tags: m.Tags}.clean()
		m.Name, m.Role, m.Tags = i.Name, i.Role, i.Tags
		m.Addr, m.State = clean(m.Addr, 256), clean(m.State, 64)
	}
	return nil
}

// plausibleCores reports whether f can be a number of cores.
func plausibleCores(f float64) bool { return f >= 0 && f < 1e6 && !math.IsNaN(f) }

func (p *partStatus) check() error {
	if p.Process < 1 || p.Process > maxProcesses {
		return fmt.Errorf("there is no process %d", p.Process)
	}
	switch p.State {
	case partWaiting, partOpening, partReady, partRunning, partDone, partFailed, partGone:
	default:
		return fmt.Errorf("no process is %q", clean(string(p.State), 64))
	}
	p.Text = clean(p.Text, maxText)
	if p.Ended != nil {
		p.Ended.Text = clean(p.Ended.Text, maxText)
	}
	if s := p.Start; s != nil && (!plausible(s.At) || s.Agreed == nil || !plausible(s.Agreed.At)) {
		return errors.New("its start is out of range")
	}
	if h := p.Header; h != nil {
		if h.Part == nil {
			return errors.New("its header is of no part")
		}
		if h.Schema != result.Schema {
			return fmt.Errorf("its run files have schema %d, and this kt reads %d", h.Schema, result.Schema)
		}
		if err := checkName(h.RunID); err != nil {
			return err
		}
	}
	return checkName(p.Epoch)
}

func (s *partSecond) check() error {
	if s.Process < 1 || s.Process > maxProcesses {
		return fmt.Errorf("there is no process %d", s.Process)
	}
	if err := s.Second.check(); err != nil {
		return err
	}
	return checkName(s.Epoch)
}

// check checks the windows and cleans their texts.
func (s *Second) check() error {
	if len(s.Windows) > maxWindows {
		return fmt.Errorf("it has %d windows of one second", len(s.Windows))
	}
	for i := range s.Windows {
		w := &s.Windows[i]
		if w.Start > w.End || w.Start < -maxRunTime || w.End > maxRunTime {
			return fmt.Errorf("its window is from %v to %v", w.Start, w.End)
		}
		if err := checkWindow(w); err != nil {
			return err
		}
	}
	return nil
}

// maxKinds bounds the error codes, the brokers and the events of a window.
const maxKinds = 10_000

func checkWindow(w *stats.Window) error {
	if len(w.Errors) > maxKinds || len(w.Brokers) > maxKinds || len(w.Events) > maxKinds {
		return errors.New("its window is too large")
	}
	for code, n := range w.Errors {
		if c := clean(code, 256); c != code {
			delete(w.Errors, code)
			w.Errors[c] += n
		}
	}
	for i := range w.Events {
		w.Events[i].Text = clean(w.Events[i].Text, maxText)
		w.Events[i].Kind = stats.EventKind(clean(string(w.Events[i].Kind), 64))
	}
	return nil
}

func (v *hostVitals) check() error {
	h := &v.Vitals
	if len(h.Disks) > maxKinds || len(h.Networks) > maxKinds || len(h.Brokers) > maxKinds || v.Passed < 0 {
		return errors.New("the vitals are too large")
	}
	if !plausibleCores(h.CPU) || !plausibleCores(h.Cores) || h.At < -maxRunTime || h.At > maxRunTime {
		return errors.New("the vitals are out of range")
	}
	cleanVitals(h)
	return checkName(v.Epoch)
}

func cleanVitals(v *host.Vitals) {
	for i := range v.Disks {
		v.Disks[i].Name = clean(v.Disks[i].Name, 64)
	}
	for i := range v.Networks {
		v.Networks[i].Name = clean(v.Networks[i].Name, 64)
	}
}

func (f *filesFound) check() error {
	if len(f.Files) > maxFiles || len(f.Runs) > maxFiles || f.Unread < 0 {
		return errors.New("it lists too many files")
	}
	for _, e := range f.Files {
		if e.Process < 0 || e.Bytes < 1 || e.Bytes > maxRunFile || !sha256Text.MatchString(e.SHA256) {
			return fmt.Errorf("file %s is out of range", clean(e.RunID, 64))
		}
		err := errors.Join(checkName(e.RunID), checkName(e.Run), checkName(e.Host))
		if e.Epoch != "" {
			err = errors.Join(err, checkName(e.Epoch))
		}
		if err != nil {
			return err
		}
	}
	for i := range f.Runs {
		f.Runs[i] = clean(f.Runs[i], 64)
	}
	return nil
}
