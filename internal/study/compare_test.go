package study

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// sideOf returns a side of runs whose throughput and p99 have some means and a noise of 1 %.
func sideOf(name string, runs int, throughput, p99 float64, seed uint64) *Side {
	chance := rand.New(rand.NewPCG(seed, 7))
	s := &Side{Name: name}
	for range runs {
		var l LoadFigures
		l.Valid = true
		l.Throughput = throughput * (1 + 0.01*chance.NormFloat64())
		l.Latency.P99 = p99 * (1 + 0.01*chance.NormFloat64())
		s.runs = append(s.runs, sideRun{l, map[string]string{"producer acks": name, "kt": "1"}})
	}
	return s
}

func compare(t *testing.T, a, b *Side) *CompareDocument {
	t.Helper()
	d, err := Compare(a, b, 0.03)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAComparisonTellsBetterFromWorseByTheMetric(t *testing.T) {
	d := compare(t, sideOf("1", 8, 100_000, 5000, 1), sideOf("all", 8, 80_000, 4000, 2))
	verdicts := make(map[Metric]Change)
	for _, c := range d.Metrics {
		verdicts[c.Metric] = c.Verdict
	}
	if len(verdicts) != 2 || verdicts[Throughput] != Lesser || verdicts[P99] != Better {
		t.Errorf("verdicts %v, want a lower throughput to be worse and a lower p99 to be better", verdicts)
	}
	if len(d.Differs) != 1 || d.Differs[0].What != "producer acks" {
		t.Errorf("what differs is %v, want the acks alone", d.Differs)
	}
	d = compare(t, sideOf("1", 8, 100_000, 5000, 3), sideOf("1", 8, 100_500, 5020, 4))
	for _, c := range d.Metrics {
		if c.Verdict != Same {
			t.Errorf("%s: %+v, want alike", c.Metric, c)
		}
	}
}

// Without any effect at most 5 % of comparisons may name one, in whatever metric.
func TestComparisonsWithoutAnEffectRarelyNameOne(t *testing.T) {
	const times = 400
	named := 0
	for i := range uint64(times) {
		d := compare(t, sideOf("a", 6, 100_000, 5000, 2*i), sideOf("a", 6, 100_000, 5000, 2*i+1))
		for _, c := range d.Metrics {
			if c.Verdict == Better || c.Verdict == Lesser {
				named++
				break
			}
		}
	}
	if named > times*5/100 {
		t.Errorf("%d of %d comparisons without an effect name one", named, times)
	}
}

func TestOneRunASideIsNoProof(t *testing.T) {
	d := compare(t, sideOf("a", 1, 100_000, 5000, 1), sideOf("a", 1, 50_000, 5000, 2))
	if c := d.Metrics[0]; c.Verdict != TooFew || !strings.Contains(c.Sentence, "one run a side") {
		t.Errorf("%+v", c)
	}
}

func TestAGateOpensOnlyForAShiftThatIsTold(t *testing.T) {
	gate := func(text string) []FailOn {
		f, err := ParseFailOn(text)
		if err != nil {
			t.Fatal(err)
		}
		return []FailOn{f}
	}
	for _, row := range []struct {
		name   string
		a, b   *Side
		limit  string
		closed bool
	}{
		{"worse", sideOf("a", 8, 100_000, 5000, 1), sideOf("a", 8, 90_000, 5000, 2), "throughput<-3%", true},
		{"worse, but less than allowed", sideOf("a", 8, 100_000, 5000, 1), sideOf("a", 8, 90_000, 5000, 2), "throughput<-20%", false},
		{"alike", sideOf("a", 8, 100_000, 5000, 3), sideOf("a", 8, 100_500, 5000, 4), "throughput<0%", false},
		{"higher latency", sideOf("a", 8, 100_000, 5000, 5), sideOf("a", 8, 100_000, 6000, 6), "p99>10%", true},
		{"one run a side", sideOf("a", 1, 100_000, 5000, 7), sideOf("a", 1, 50_000, 5000, 8), "throughput<-3%", true},
		{"not measured", sideOf("a", 8, 100_000, 5000, 9), sideOf("a", 8, 100_000, 5000, 10), "p50>10%", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := compare(t, row.a, row.b)
			d.Judge(gate(row.limit))
			if closed := len(d.Failures) > 0; closed != row.closed {
				t.Errorf("failures %q, want some: %v", d.Failures, row.closed)
			}
		})
	}
	for _, text := range []string{"throughput", "throughput<3", "p98<3%", "p99<x%", "<3%"} {
		if f, err := ParseFailOn(text); err == nil {
			t.Errorf("%q is %+v", text, f)
		}
	}
}
