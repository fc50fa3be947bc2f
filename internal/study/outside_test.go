package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// world is a runner with one broker and one host that can be changed.
type world struct {
	scribe

	log    string // of the study
	broker map[string]string
	host   []Flag
	held   bool     // the host, by the study
	gone   bool     // the agent, after the first look
	seen   []string // what each run found
	stop   error    // of every run
	leaves error    // of the host, after a run that was stopped
	away   error    // of every change of the host
}

func (w *world) state() string {
	return w.broker["num.io.threads"] + " " + Cell{At: w.host}.String()
}

func (w *world) Run(ctx context.Context, l Load, path string, opened func()) (result.Result, error) {
	if w.seen = append(w.seen, w.state()); !w.held {
		return result.Result{}, errors.New("another study may change the host")
	}
	if w.stop != nil {
		w.away = w.leaves
		return result.Result{}, w.stop
	}
	return w.scribe.Run(ctx, l, path, opened)
}

func (*world) CheckOutside(context.Context, Load, Wanted) error { return nil }

func (w *world) BrokerSettings(_ context.Context, _ Load, names []string) (all []result.BrokerSetting, err error) {
	for _, n := range names {
		s := result.BrokerSetting{Broker: 1, Name: n}
		if v, ok := w.broker[n]; ok {
			s.Value = &v
		}
		all = append(all, s)
	}
	return all, nil
}

// journalled refuses a change that the log on the disk does not know.
func (w *world) journalled() error {
	if text, err := os.ReadFile(w.log); err != nil || !strings.Contains(string(text), `"what":"changed"`) {
		return errors.Join(err, errors.New("it is changed and not in the log"))
	}
	return nil
}

func (w *world) SetBrokers(_ context.Context, _ Load, settings []result.BrokerSetting) error {
	for _, s := range settings {
		delete(w.broker, s.Name)
		if s.Value != nil {
			w.broker[s.Name] = *s.Value
		}
	}
	return w.journalled()
}

// Hosts returns the host once: later looks must not take it from the study.
func (w *world) Hosts(context.Context, Load) (hosts []string, err error) {
	if !w.gone {
		hosts, w.gone = []string{"b1"}, true
	}
	return hosts, nil
}

func (w *world) ChangeHosts(_ context.Context, _ Load, hosts []string, o HostOrder) error {
	for _, c := range o.Set {
		if !slices.Contains(o.Own, c) {
			return errors.New(c.Name + " is not of the study")
		}
	}
	if !slices.Equal(hosts, []string{"b1"}) || o.Study != "outside" {
		return fmt.Errorf("hosts %q are changed for %s", hosts, o.Study)
	}
	if w.away != nil {
		return w.away
	}
	w.host, w.held = o.Set, o.Do == SetHost
	return w.journalled()
}

// outsider returns a study of a broker's and a host's setting.
func outsider(t *testing.T) (*Folder, *world) {
	t.Helper()
	s := &Study{
		Loads: []Load{{Command: "produce"}}, Repeats: 2, Order: Listed, Pair: true, Factors: []Factor{
			{Name: brokerPrefix + "num.io.threads", Values: []string{Default, "5"}}, {Name: sysctlPrefix + "vm.swappiness", Values: []string{Default, "1"}},
		},
	}
	must.Do(t, s.Check())
	f := must.Have(Create(t.TempDir(), s, "outside"))(t)
	return f, &world{log: filepath.Join(f.dir, logFile), broker: map[string]string{"num.io.threads": "8"}}
}

func TestEachRunFindsItsSettingsAndTheEndPutsThemBack(t *testing.T) {
	f, w := outsider(t)
	must.Do(t, Execute(t.Context(), f, w, func(Progress) {}))
	must.Match(t, []string{"8 ", "5 sysctl.vm.swappiness=1", "8 ", "5 sysctl.vm.swappiness=1"}, w.seen, "the runs found")
	if w.state() != "8 " || w.held {
		t.Errorf("in the end there is %q, held by the study: %t", w.state(), w.held)
	}
	f, w = outsider(t)
	f.Study.Factors[0].Values, f.Study.Factors[1].Values = []string{"5"}, []string{"1"}
	w.stop = errors.New("no")
	if err := Execute(t.Context(), f, w, func(Progress) {}); !errors.Is(err, w.stop) || w.state() != "8 " {
		t.Errorf("when a run fails: %v, and there is %q", err, w.state())
	}
}

// Whoever ends a study knows that it has ended, and not that a host could not be put back.
func TestAHostThatIsGoneIsToldAtCtrlC(t *testing.T) {
	f, w := outsider(t)
	w.stop, w.leaves = context.Canceled, errors.New("b1 does not answer")
	if err := Execute(t.Context(), f, w, func(Progress) {}); !errors.Is(err, w.leaves) || errors.Is(err, context.Canceled) {
		t.Errorf("it says %v", err)
	}
	w.away = nil
	if done, err := Restore(t.Context(), f, w); err != nil || len(done) == 0 || w.state() != "8 " {
		t.Errorf("then: %v, there is %q, and it says %q", err, w.state(), done)
	}
}

// A kt that was killed leaves its changes behind, with a log that knows what was there before.
func TestRestoreAfterAKill(t *testing.T) {
	f, w := outsider(t)
	release := must.Have(f.hold())(t)
	old := "8"
	for _, e := range []entry{{Host: true, Hosts: []string{"b1"}}, {Brokers: []result.BrokerSetting{{Broker: 1, Name: "num.io.threads", Value: &old}}}} {
		e.What = changed
		must.Do(t, f.note(e))
	}
	release()
	w.broker["num.io.threads"], w.host = "5", []Flag{{"sysctl.vm.swappiness", "1"}}
	done, err := Restore(t.Context(), f, w)
	if err != nil || w.state() != "8 " || len(done) != 2 {
		t.Errorf("%v, there is %q, and it says %q", err, w.state(), done)
	}
	w.broker["num.io.threads"] = "12" // by somebody else, later
	if done, err := Restore(t.Context(), f, w); err != nil || len(done) > 0 || w.state() != "12 " {
		t.Errorf("once more: %v, there is %q, and it says %q", err, w.state(), done)
	}
}
