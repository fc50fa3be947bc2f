package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// scribe is a runner whose runs leave an empty file, as kt does: never in the place of another.
type scribe struct {
	Runner // nothing outside the loads is changed

	mu                               sync.Mutex // held by Run: loads are made at once
	made, deletedAt, topics, deleted []string
	fails                            error // of every run that is not prepared
}

func (*scribe) Plans(l Load) ([]plan.Plan, error) {
	var p plan.Plan
	if p.Topic.Name = l.value("topic"); l.has("topics") {
		n, _ := strconv.ParseInt(l.value("topics"), 10, 64)
		p.Topic.Name = plan.NumberedTopics(p.Topic.Name, n)
	}
	return []plan.Plan{p}, nil
}

func (s *scribe) Run(_ context.Context, l Load, path string, opened func([]string) error) (result.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := opened(nil); err != nil {
		return result.Result{}, err
	}
	s.topics = append(s.topics, l.value("topic"))
	if path == "" {
		return result.Result{}, nil
	}
	if s.fails != nil {
		return result.Result{}, s.fails
	}
	s.made = append(s.made, path)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return result.Result{}, err
	}
	return result.Result{}, file.Close()
}

func (s *scribe) DeleteTopic(_ context.Context, l Load, topic string) error {
	s.deletedAt, s.deleted = append(s.deletedAt, l.value("url")), append(s.deleted, topic)
	return nil
}

// unplanned is a runner that can make no plan, because a file that a load names is gone.
type unplanned struct{ scribe }

var errGone = errors.New("ca.pem: no such file")

func (*unplanned) Plans(Load) ([]plan.Plan, error) { return nil, errGone }

func TestAPlanThatCannotBeMadeEndsAStudyAndLeavesNoCellOut(t *testing.T) {
	dir := t.TempDir()
	s := &Study{Loads: []Load{{Command: "produce"}}, Factors: []Factor{{Name: "acks", Values: []string{"1", "all"}}}, Repeats: 1, Order: Listed}
	f := must.Have(Create(dir, s, "gone"))(t)
	if err := Execute(t.Context(), f, new(unplanned), func(Progress) {}); !errors.Is(err, errGone) {
		t.Errorf("%v, want %v", err, errGone)
	}
	must.Match(t, map[int]string{}, must.Have(Open(dir, "gone"))(t).state().leftOut, "cells that were left out")
}

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

func (w *world) Run(ctx context.Context, l Load, path string, opened func([]string) error) (result.Result, error) {
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
		had := w.broker[s.Name]
		if s.Value != nil && (*s.Value == "16" && had == "4" || *s.Value == "4" && had == "16") {
			return errors.New("value should be at least half and at most twice the current value")
		}
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
	must.True(t, w.state() == "8 " && !w.held, "in the end there is %q, held by the study: %t", w.state(), w.held)
	f, w = outsider(t)
	f.Study.Factors[0].Values, f.Study.Factors[1].Values = []string{"5"}, []string{"1"}
	w.stop = errors.New("no")
	if err := Execute(t.Context(), f, w, func(Progress) {}); !errors.Is(err, w.stop) || w.state() != "8 " {
		t.Errorf("when a run fails: %v, and there is %q", err, w.state())
	}
}

// Kafka changes a number of threads to at most twice and at least half of what there are.
func TestBrokersGoFromOneValueToAnotherByWayOfTheirOwn(t *testing.T) {
	f, w := outsider(t)
	f.Study.Factors = []Factor{{Name: brokerPrefix + "num.io.threads", Values: []string{"4", "16"}}}
	f.Study.Pair, w.held = false, true
	must.Do(t, Execute(t.Context(), f, w, func(Progress) {}))
	must.Match(t, []string{"4 ", "16 ", "4 ", "16 "}, w.seen, "the runs found")
	must.Match(t, "8 ", w.state(), "in the end there is")
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
	must.Do(t, f.note(entry{What: changed, Host: true, Hosts: []string{"b1"}, Brokers: []result.BrokerSetting{{Broker: 1, Name: "num.io.threads", Value: &old}}}))
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

// Brokers may still know a topic that was just deleted, and take records for it.
func TestATopicThatWasDeletedIsNotMadeAgain(t *testing.T) {
	s := parsed(t, "prepare: [{name: old, command: produce}]\nloads: [{name: write, command: produce}]\nrepeats: 1\ndiscard: 0")
	f := must.Have(Create(t.TempDir(), s, "killed"))(t)
	var known []string
	for _, fails := range []error{errors.New("once"), errors.New("twice"), nil} {
		runner := &scribe{fails: fails}
		if err := Execute(t.Context(), f, runner, func(Progress) {}); !errors.Is(err, fails) || len(runner.topics) != 2 {
			t.Errorf("%q, %v", runner.topics, err)
		}
		for _, topic := range runner.topics {
			must.True(t, strings.HasPrefix(topic, "kt-study-") && !slices.Contains(known, topic), "%s again, after %q", topic, known)
		}
		known = append(known, runner.topics...)
	}
	must.Match(t, []string{"kt-study-killed-old", "kt-study-killed-0001"}, known[:2], "the first ones")
}

// Another study may have changed the brokers until the hosts are this study's alone.
func TestSettingsOfBrokersThatAreOfAnotherStudyAreNotPutBack(t *testing.T) {
	f, w := outsider(t)
	w.broker["num.io.threads"], w.away = "5", errors.New("another study changes this machine")
	must.Err(t, w.away.Error(), Execute(t.Context(), f, w, func(Progress) {}), "while the other goes on")
	w.broker["num.io.threads"], w.away = "8", nil // as the other puts it back
	must.Have(Restore(t.Context(), f, w))(t)
	must.True(t, w.state() == "8 ", "then there is %q", w.state())
}

// A part that cannot be read hides no change of the others.
func TestADamagedPartIsToldAndTheOthersArePutBack(t *testing.T) {
	part, w := outsider(t)
	s := &Study{Repeats: 1, Parts: []*Study{{Name: "torn"}, {Name: "whole"}}}
	for _, p := range s.Parts {
		p.Loads, p.Repeats, p.Order, p.Factors, p.Pair = part.Study.Loads, 1, Listed, part.Study.Factors, true
	}
	dir := t.TempDir()
	f := must.Have(Create(dir, s, "all"))(t)
	must.Have(Create(dir, s.Parts[0], "all/torn"))(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "all", "parts", "torn", studyFile), []byte("{"), 0o600))
	whole := must.Have(Create(dir, s.Parts[1], "all/whole"))(t)
	must.Do(t, whole.note(entry{What: changed, Brokers: []result.BrokerSetting{{Broker: 1, Name: "num.io.threads"}}}))
	w.log = filepath.Join(whole.dir, logFile)
	_, err := f.Status()
	must.Err(t, "all/torn", err, "the status")
	done, err := Restore(t.Context(), f, w)
	must.Err(t, "all/torn", err, "what is put back")
	must.True(t, len(done) == 1 && w.state() == " ", "%q, and there is %q", done, w.state())
	must.Err(t, "all/torn", must.Fail(f.Document()), "the document")
}

// The disk may be full for a moment.
func TestALineThatIsHalfWrittenDamagesNoOther(t *testing.T) {
	f, w := outsider(t)
	must.Do(t, f.note(entry{What: Begun}))
	text := must.Have(os.ReadFile(w.log))(t)
	must.Do(t, os.Remove(w.log))
	must.Do(t, os.Symlink("/dev/full", w.log))
	must.Err(t, "no space", f.note(entry{What: Skipped}), "a full disk")
	must.Do(t, os.Remove(w.log))
	must.Do(t, os.WriteFile(w.log, append(text, `{"what":"lef`...), 0o600))
	must.Do(t, f.note(entry{What: Preparing, Cell: -1}))
	if err := f.readLog(); err != nil || f.bad != nil || len(f.log) != 2 {
		t.Errorf("the log has %v, %v, %v", f.log, f.bad, err)
	}
	must.Have(Restore(t.Context(), f, w))(t) // a number that no cell has
}

func TestARunOfAnotherCellIsNotTakenForOneOfTheStudy(t *testing.T) {
	f, _ := outsider(t)
	must.Do(t, f.note(entry{What: Begun, Turn: 1, Cell: 5}))
	must.Have(f.known())(t) // it is made once more
	must.Do(t, f.note(entry{What: Finished, Turn: 1}))
	must.Err(t, "run 1 of study outside was made with other settings", must.Fail(f.known()), "a run that is done")
}

// searching makes a search in memory: rate returns the throughput of a run.
func searching(t *testing.T, s *Study, rate func(turn Turn) float64) (*Document, []Turn) {
	t.Helper()
	must.Do(t, s.Check())
	f := &Folder{ID: "made-up", Study: s, read: make(map[int][]LoadFigures)}
	var turns []Turn
	for made := -1; made < len(turns); {
		made = len(turns)
		d, err := f.known()
		if turns = d.turns; err != nil || made > 1000 {
			t.Fatal(made, err)
		}
		for _, turn := range turns[max(made, 0):] {
			f.log = append(f.log, entry{What: Finished, Turn: turn.Number})
			f.read[turn.Number] = []LoadFigures{{Measures: Measures[float64]{metric.Rate: rate(turn)}, Limit: verdict.BrokerAcks}}
		}
	}
	last := make(map[int]int) // the newest block of each cell
	for i, turn := range turns {
		block := slices.IndexFunc(turns, func(o Turn) bool { return o.Repeat == turn.Repeat })
		tied := slices.ContainsFunc(turns[block:], func(o Turn) bool { return o.Repeat == turn.Repeat && last[o.Cell.Index] > 0 })
		if last[turn.Cell.Index] = turn.Repeat; turn.Repeat > 1 && !tied || turn.Number != i+1 {
			t.Errorf("turn %+v, and its block has no cell of an earlier one: %v", turn, !tied)
		}
	}
	d := must.Have(f.Document())(t)
	for all := f.log; len(f.log) > 0; { // a search that was cut off goes on as it would have
		f.log, f.done = f.log[:len(f.log)-len(all)/4-1], nil
		known, err := f.known()
		if next := known.open(); err != nil || next == nil || len(known.turns) > len(turns) || next.Number != len(f.log)+1 || next.Cell.String() != turns[len(f.log)].Cell.String() {
			t.Fatalf("after %d runs comes %+v, %v; want %+v", len(f.log), next, err, turns[len(f.log)])
		}
		if len(f.log) <= len(all)/4 {
			f.log = nil
		}
	}
	return d, turns
}

func partitions(span Span) *Study {
	return &Study{
		Loads: []Load{{Command: "produce"}}, Factors: []Factor{{Name: "partitions", Search: &span}}, Repeats: 3, Order: Shuffled, Seed: 1,
		Ask: []Question{{Best: "partitions", By: metric.Rate}},
	}
}

// curve is highest at a number of partitions, and falls to both sides as ratios do.
func curve(best, n float64) float64 { return 100_000 / (1 + 0.15*math.Pow(math.Log2(n/best), 2)) }

func TestASearchEndsAndSaysWhy(t *testing.T) {
	exact := func(truth float64) func(Turn) float64 {
		chance := rand.New(rand.NewPCG(3, 0))
		return func(turn Turn) float64 {
			return curve(truth, float64(amount(turn.Cell.Values()["partitions"]))) * math.Exp(1e-6*chance.NormFloat64())
		}
	}
	for name, tc := range must.Rows[map[string]struct {
		Span  Span
		Truth float64
		Best  string
		Tried []string
	}](t, "execute") {
		d, _ := searching(t, partitions(tc.Span), exact(tc.Truth))
		var tried []string
		for _, c := range d.Cells {
			tried = append(tried, c.At["partitions"])
		}
		must.Match(t, tc.Tried, tried, "%s: tried", name)
		a := &d.Answers[0]
		must.True(t, a.Best == tc.Best && a.SearchEnd == EndFine, "%s: best %s, end %q", name, a.Best, a.SearchEnd)
	}
	chance := rand.New(rand.NewPCG(1, 0))
	d, turns := searching(t, partitions(Span{"1", "64", ""}), func(Turn) float64 { return 1000 + 50*chance.NormFloat64() })
	if a := d.Answers[0]; a.SearchEnd != EndAlike || len(turns) != 7*3 {
		t.Errorf("noise alone: end %q after %d runs", a.SearchEnd, len(turns))
	}
	d, _ = searching(t, partitions(Span{"2", "16", "1"}), func(Turn) float64 { return 1000 + 50*chance.NormFloat64() })
	if a := d.Answers[0]; a.SearchEnd != EndFine || len(d.Cells) < 5 {
		t.Errorf("noise alone, to the end: end %q after %d values", a.SearchEnd, len(d.Cells))
	}
	d, _ = searching(t, partitions(Span{"1", "4", "1"}), func(Turn) float64 { return 0 })
	if a := d.Answers[0]; a.SearchEnd != EndNothing || a.Best != "" {
		t.Errorf("no throughput: %+v", a)
	}
}

// With another factor there is a search for each of its values.
func TestASearchBesideAnotherFactor(t *testing.T) {
	s := partitions(Span{"1", "16", "1"})
	s.Factors = append(s.Factors, Factor{Name: "acks", Values: []string{"1", "all"}})
	s.Ask = append(s.Ask, Question{Best: "partitions", By: metric.Throughput})
	chance := rand.New(rand.NewPCG(1, 0))
	d, _ := searching(t, s, func(turn Turn) float64 {
		truth := map[string]float64{"1": 3, "all": 13}[turn.Cell.Values()["acks"]]
		return curve(truth, float64(amount(turn.Cell.Values()["partitions"]))) * math.Exp(1e-4*chance.NormFloat64())
	})
	if len(d.Answers) != 4 || d.Answers[2].SearchEnd != "" || d.Answers[0].Best != "3" || d.Answers[1].Best != "13" || d.Answers[1].SearchEnd != EndFine {
		t.Errorf("%+v", d.Answers)
	}
}

// A value that the cluster cannot carry is gone round, and the search ends all the same.
func TestASearchGoesRoundWhatCannotBeMade(t *testing.T) {
	f := &Folder{Study: partitions(Span{"1", "16", "1"}), read: make(map[int][]LoadFigures)}
	for {
		d := must.Have(f.known())(t)
		turn := d.open()
		if turn == nil {
			break
		}
		n := amount(turn.Cell.Values()["partitions"])
		if n > 11 {
			f.log = append(f.log, entry{What: Skipped, Cell: turn.Cell.Index, Reason: "too many"})
			continue
		}
		f.log = append(f.log, entry{What: Finished, Turn: turn.Number})
		f.read[turn.Number] = []LoadFigures{{Measures: Measures[float64]{metric.Rate: float64(n * 1000)}, Limit: verdict.BrokerAcks}}
	}
	d, err := f.Document()
	must.True(t, err == nil && d.Answers[0].Best == "11" && d.Answers[0].SearchEnd == EndFine, "%v, %+v", err, d.Answers)
}

func TestASpanHasSizesAndTimes(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Set, Want []string
		Half      string // between the last two
	}](t, "execute") {
		s := partitions(Span{"1", "2", ""})
		s.Set("partitions", tc.Set)
		must.Do(t, s.Check())
		f := &s.Factors[0]
		must.Match(t, tc.Want, f.values(), "%v", tc.Set)
		span := must.Have(f.Search.steps())(t)
		last := f.values()[len(f.values())-2:]
		must.Match(t, tc.Half, strings.Join(span.between(amount(last[0]), amount(last[1])), ", "), "%v: between %v", tc.Set, last)
	}
	s := partitions(Span{"1", "2", ""})
	s.Set("partitions", []string{"1", "2"})
	must.True(t, !s.IsOpen(), "a list is no search")
	unfilled := partitions(Span{"1", "$most", ""})
	f := must.Have(Create(t.TempDir(), unfilled, "copied"))(t) // of somebody else
	_, err := f.Document()
	must.Do(t, err)
}

// What a load makes of the name that kt gives is noted before, and deleted wholly; a load that reads a prepared one reads all of it.
func TestAStudyDeletesAllTopicsThatItsLoadsNumber(t *testing.T) {
	f := must.Have(Create(t.TempDir(), parsed(t, "prepare: [{name: old, command: produce, topics: 3}]\n"+
		"loads: [{name: write, command: produce, topics: 100}, {name: read, command: consume, reads: old}]\nrepeats: 1\ndiscard: 0\nrest: 0"), "many"))(t)
	runner := new(scribe)
	must.Do(t, Execute(t.Context(), f, runner, func(Progress) {}))
	slices.Sort(runner.deleted)
	must.Match(t, []string{"kt-study-many-0001-{0..99}", "kt-study-many-old-{0..2}"}, runner.deleted, "deleted")
	l := f.Study.at(f.Study.Cells()[0], f.Study.Loads[1])
	must.Match(t, "3", l.value("topics"), "topics that are read of the prepared ones")
}
