package study

import (
	"context"
	"fmt"
	"math"

	"github.com/kt-bench/kt/internal/plan"
)

// Without is how a broker is stopped while the runs of a part are made.
type Without struct {
	Stop  string `json:"exec"` // a command of the user's for sh
	Start string `json:"undo"` // likewise: it brings the broker back
}

// The parts of a search that is made again without a broker.
const (
	AllPart     = "all"
	WithoutPart = "without"
)

// AddWithout makes a search one of two parts: with all brokers, and again while one is stopped. The second part has no curve.
func (s *Study) AddWithout(w Without) {
	all, less := *s, *s
	search := *s.Find
	search.Curve = nil
	all.Name, less.Name, less.Without, less.Find = AllPart, WithoutPart, &w, &search
	less.About += " (while one broker is stopped)"
	less.Loads = []Load{less.at(Cell{}, less.Loads[0])} // its flags may differ from those of the first part
	*s = Study{Name: s.Name, About: s.About, Parts: []*Study{&all, &less}, Repeats: 1, Order: Listed}
}

// LeaveReplicas lowers the replicas of the topics of loads to the number of brokers that are left. While a broker is stopped a topic with
// one on every broker has as many in sync, and none with more can be made. The error names loads that do not say how many they have.
func (s *Study) LeaveReplicas(brokers int, plans []plan.Plan) error {
	if brokers < 2 {
		return fmt.Errorf("--without broker: there is %d broker, and none would be left", brokers)
	}
	l := &s.Loads[0]
	for i := range plans {
		name, replicas := "", int(plans[i].Topic.ReplicationFactor)
		if l.IsWorkload() {
			name = l.Loads[i].Name
		}
		switch flag := named(name, "replication-factor"); {
		case !plans[i].Writes():
		case replicas == 0:
			return fmt.Errorf("--without broker: %s is not set, and the brokers' default may be more than the %d brokers that are left: set it to %d, or to less", flag, brokers-1, brokers)
		case replicas >= brokers:
			l.set(flag, fmt.Sprint(brokers-1))
			l.typed(flag, fmt.Sprint(brokers-1))
		}
	}
	return nil
}

// stop stops the broker of a part. The log knows it before it is done.
func (x *executor) stop(ctx context.Context) error {
	w := x.Study.Without
	if w == nil || x.state().changed != nil {
		return nil
	}
	if err := x.note(entry{What: changed, Command: w.Start}); err != nil {
		return err
	}
	return x.runner.Command(ctx, w.Stop)
}

// OneLess is what it costs that one broker is stopped.
type OneLess struct {
	Scale   bool  `json:"-"`
	All     Peak  `json:"all"`     // with all brokers: n and low are the highest that held, high is the lowest that did not; 0: none is known
	Without Peak  `json:"without"` // while one is stopped
	Costs   Share `json:"costs"`   // 0.33: the peak is 33 % lower; null: a peak is not known
	Low     Share `json:"low"`     // its interval, where it is known
	High    Share `json:"high"`
}

// bracket returns a peak by itself. Its n and low are 0 if none was found, and its high if none is known: where kt was the limit more may hold.
func (p *PeakRate) bracket() (b Peak) {
	if p.RecordsPerSecond > 0 {
		b.N, b.Low = p.Low, p.Low
	}
	if !p.ClientBound {
		b.High = p.High
	}
	return b
}

// oneLess compares the two parts of a search; nil: one is not over.
func oneLess(parts []PartDoc) *OneLess {
	var peaks []Peak
	for _, p := range parts {
		if p.Find != nil && p.Find.Over && (p.Find.Study.Without != nil) == (len(peaks) == 1) {
			peaks = append(peaks, p.Find.Peak.bracket())
		}
	}
	if len(parts) != 2 || len(peaks) != 2 {
		return nil
	}
	all, less := peaks[0], peaks[1]
	o := &OneLess{Scale: parts[0].Find.Study.Find.Scale, All: all, Without: less, Costs: Share(math.NaN())}
	if min(all.N, all.High, less.N, less.High) > 0 {
		o.Costs, o.Low, o.High = Share(1-less.N/all.N), Share(1-less.High/all.Low), Share(1-less.Low/all.High)
	}
	return o
}
