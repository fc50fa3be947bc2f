package study

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result/verdict"
)

func TestALawTellsScalesThatWereLeftOut(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	scales := []float64{0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 1, 1.1, 1.2}
	noisy := func(of func(s float64) float64) (use []float64) {
		for _, s := range scales {
			use = append(use, of(s)*(1+0.01*chance.NormFloat64()))
		}
		return use
	}
	law, curved := inference.Scaling{Gamma: 1, Alpha: 0.2, Beta: 0.05}, []float64(nil)
	for _, s := range scales {
		u := 0.0
		for law.At(u) < s {
			u += 0.001
		}
		curved = append(curved, u)
	}
	for _, tc := range []struct {
		name string
		use  []float64
		at   float64 // a use that was not reached
		want float64 // the scale that it carries
		usl  bool
	}{
		{"in proportion", noisy(func(s float64) float64 { return 2 * s }), 4, 2, false},
		{"with an idle part", noisy(func(s float64) float64 { return 0.5 + 2*s }), 4.5, 2, false},
		{"with contention and crosstalk", curved, 3, law.At(3), true},
	} {
		l := fitLaw(scales, tc.use)
		if got := l.carries(tc.at); math.Abs(got/tc.want-1) > 0.05 || (l.name == "USL") != tc.usl || l.err < 0 || l.err > 0.03 {
			t.Errorf("%s: %v carries %.3f, want %.3f; USL %t, error %.3f", tc.name, tc.at, got, tc.want, l.name == "USL", l.err)
		}
	}
	must.True(t, fitLaw([]float64{1, 2}, []float64{0, 0}) == nil, "a law of nothing")
}

func TestPartitionsCannotBeDivided(t *testing.T) {
	for _, tc := range []struct {
		partitions int
		scale, one float64
		want       int
	}{
		{0, 3, 1, 4}, {60, 3, 1, 4}, {3, 3, 1, 4}, {6, 4.5, 1, 7}, // 6 partitions on 5 brokers: two are on one of them
		{2, 3, 1, 0}, {12, 3, math.Inf(1), 2}, {12, 0.5, 1, 2},
	} {
		u := &usage{loads: []written{{share: 1, partitions: tc.partitions}}}
		if got := u.brokersFor(tc.scale, tc.one); got != tc.want {
			t.Errorf("%+v: %d", tc, got)
		}
	}
}

func TestABrokerIsReadWithItsUnits(t *testing.T) {
	got := must.Have(ParseBroker("cpu=16, disk=500MiB/s,network=10Gbit/s"))(t)
	must.Match(t, map[string]float64{ofCPU: 16, ofDisk: 500 << 20, ofNetwork: 1.25e9}, got, "of all three")
	must.Match(t, map[string]float64{ofNetwork: 125e6}, must.Have(ParseBroker("network=1000Mbit"))(t), "in Mbps")
	must.Match(t, map[string]float64{ofNetwork: 2 << 20}, must.Have(ParseBroker("network=2MiB/s"))(t), "in bytes")
	for text, want := range map[string]string{"disk=500": "write disk=500MiB/s", "cpu=16,network=10": "write network=10Gbit", "network=10/s": "write network=10Gbit"} {
		_, err := ParseBroker(text)
		must.True(t, err != nil && strings.HasSuffix(err.Error(), want), "%s: %v", text, err)
	}
	for _, text := range []string{"", "cpu", "cpu=0", "cpu=16,cpu=8", "memory=1GiB", "disk=10Gbit", "network=bit", "network=Gbit", "cpu=-1"} {
		if has, err := ParseBroker(text); err == nil {
			t.Errorf("%q is read as %v", text, has)
		}
	}
}

// sized returns a search of a workload on some brokers, each of which carries a scale of 1, with trials at some scales.
func sized(brokers int, peak PeakRate, replicas int, watched bool, scales ...float64) *Document {
	s := &Search{Scale: true, Ladder: scales}
	d := &Document{ID: "f", Over: true, Study: &Study{Find: s, Loads: []Load{{Command: "run"}}}, FindDoc: &FindDoc{Peak: peak}, state: &state{done: make(map[int]bool)}, folder: &Folder{read: make(map[int][]LoadFigures)}}
	for i, scale := range scales {
		u := &usage{brokers: brokers, used: map[string]float64{ofNetwork: 100e6 * scale}, has: make(map[string]float64), loads: []written{{share: 1, partitions: 600, replicas: replicas}}}
		if watched {
			u.used[ofCPU], u.has[ofCPU] = float64(brokers)*0.1+2*scale, 4
		}
		held := scale <= peak.Low
		d.turns, d.state.done[i+1] = append(d.turns, Turn{Number: i + 1, Repeat: 1}), true
		f := LoadFigures{usage: u, Valid: true, Measures: Measures[float64]{}}
		of := f
		of.Load, of.behind = "orders", !held
		d.folder.read[i+1] = []LoadFigures{f, of}
		if held {
			d.folder.read[i+1] = []LoadFigures{f}
		}
	}
	return d
}

// invalid returns a search in which kt was the limit where it did not hold.
func invalid(d *Document) *Document {
	for _, of := range d.folder.read {
		of[len(of)-1].Limit = verdict.ClientCPU // of a trial that held it says nothing
	}
	return d
}

// without returns a search that was made again while a broker was stopped.
func without(all, less *Document) *Document {
	less.Study.Without = new(Without)
	parts := []PartDoc{{Name: AllPart, Find: all}, {Name: WithoutPart, Find: less}}
	return &Document{ID: "f", WholeDoc: &WholeDoc{Parts: parts, OneLess: oneLess(parts)}}
}

// A limit that was not found is no measure of what a broker carries: the best lower bound counts, and its difference from another one is no error.
func TestWithoutALimitThereIsAMostOfBrokers(t *testing.T) {
	held := func(low, high float64) PeakRate {
		return PeakRate{RecordsPerSecond: 9, Scale: low, Low: low, High: high}
	}
	kt := held(3, 3.5)
	kt.ClientBound = true
	for _, tc := range []struct {
		name       string
		all, less  PeakRate
		scale      float64
		want       int
		law        string
		hasError   bool
		sentence   string
		partitions int
	}{
		{"neither", held(2, 0), held(2, 0), 2, 3, ofBound, false, "at most 3 brokers like these are needed for scale 2 while one of them is down: the search did not find the limit, so fewer may do; search with a higher --ladder", 600},
		{"neither, all carry more", held(3, 0), held(1, 0), 2, 3, ofBound, false, "at most 3 brokers", 600},
		{"kt was the limit", kt, held(1, 0), 2, 3, ofBound, false, "at most 3 brokers", 600},
		{"that of all is known", held(3, 3.2), held(1, 0), 2, 3, "measured", false, "3 brokers like these carry scale 2", 600},
		{"that of one less is known", held(3, 0), held(1, 1.1), 2, 5, "measured", false, "5 brokers like these carry scale 2", 600},
		{"both", held(3, 3.2), held(1, 1.1), 2, 5, "measured", true, "5 brokers like these carry scale 2", 600},
		{"neither, too few partitions", held(2, 0), held(2, 0), 4, 0, ofBound, false, "how many brokers like these carry scale 4 is not known", 2},
		{"both, too few partitions", held(2, 2.1), held(2, 2.1), 4, 0, "measured", true, "no number of brokers like these carries scale 4", 2},
	} {
		find := func(p PeakRate) *Document {
			d := sized(3, p, 1, false, 0.5, 1, 2, 3)
			for _, of := range d.folder.read {
				of[0].usage.loads[0].partitions = tc.partitions
			}
			return d
		}
		s := must.Have(Size(without(find(tc.all), find(tc.less)), tc.scale, ""))(t)
		if r := s.Rows[0]; s.Brokers != tc.want || r.Law != tc.law || (r.Error != nil) != tc.hasError || !strings.HasPrefix(s.Sentence, tc.sentence) {
			t.Errorf("%s: %d, %s; %+v", tc.name, s.Brokers, s.Sentence, r)
		}
	}
}

func TestTheResourceThatNeedsMostDecides(t *testing.T) {
	peak := PeakRate{RecordsPerSecond: 1000, Scale: 3, Low: 3, High: 3.2}
	rungs := []float64{0.5, 1, 1.5, 2, 2.5, 3, 3.2}
	for _, tc := range []struct {
		name    string
		d       *Document
		scale   float64
		broker  string
		brokers int // 0: it is refused
		decides string
	}{
		{"the limit", sized(3, peak, 1, false, rungs...), 3, "", 4, ofLimit},
		{"the limit of two brokers", sized(2, peak, 1, false, rungs...), 4.5, "", 4, ofLimit}, // 1.5 each
		{"replicas", sized(3, peak, 3, false, rungs...), 0.9, "", 3, ofReplicas},
		{"CPU", sized(3, PeakRate{RecordsPerSecond: 1, Scale: 3, Low: 3}, 1, true, 1, 2, 3), 6, "", 7, ofLimit},
		{"brokers with fewer cores", sized(3, peak, 1, true, rungs...), 4, "cpu=2", 6, ofCPU}, // (1.8 - 0.1) ÷ 2 = 0.85 each
		{"brokers with a slow network", sized(3, peak, 1, true, rungs...), 4, "cpu=16,network=1Gbit", 5, ofNetwork},
		{"too far", sized(3, peak, 1, false, rungs...), 6.5, "", 0, ""},
		{"as far as it may be", sized(3, peak, 1, false, rungs...), 6.4, "", 8, ofLimit},
		{"a resource that was not measured", sized(3, peak, 1, false, rungs...), 3, "cpu=16", 0, ""},
		{"too far for valid trials", invalid(sized(3, PeakRate{RecordsPerSecond: 1000, Scale: 3, Low: 3, High: 4, ClientBound: true}, 1, false, 2, 3, 4)), 7, "", 0, ""},
		{"no scale that holds", sized(3, PeakRate{High: 1}, 1, false, rungs...), 1, "", 0, ""},
	} {
		s, err := Size(tc.d, tc.scale, tc.broker)
		switch {
		case (err != nil) != (tc.brokers == 0):
			t.Errorf("%s: %v", tc.name, err)
		case err == nil && (s.Brokers != tc.brokers || s.Decides != tc.decides || s.Low > s.Brokers || s.High < s.Brokers):
			t.Errorf("%s: %s; %+v", tc.name, s.Sentence, s.Rows)
		}
	}
}
