package inference

// Verdict is what a comparison shows of b against a.
type Verdict string

// The four verdicts.
const (
	Higher Verdict = "higher"
	Lower  Verdict = "lower"
	Alike  Verdict = "alike"           // the difference is at most delta, whatever it is
	TooFew Verdict = "not enough runs" // neither a difference nor likeness is shown
)

// Comparison is two sets of runs in one metric.
type Comparison struct {
	Verdict Verdict  `json:"verdict"`
	A       Estimate `json:"a"`     // median
	B       Estimate `json:"b"`     // median
	Ratio   Estimate `json:"ratio"` // b/a
	P       float64  `json:"p"`
	// Seen is the smallest relative effect that these runs would have shown with 80 %
	// power, given their noise. 0: none, as there are too few.
	Seen float64 `json:"seen"`
	// Repeats is the number of runs a side that shows an effect of delta with 80 % power.
	// 0: not known.
	Repeats int `json:"repeats"`
}

// Compare judges whether b is higher than a, lower, or alike within a share delta
// (0.03: ±3 %), with at most a share alpha of false alarms.
//
// An interval wholly within ±delta is alike, even if it excludes 1: the difference is
// real and does not matter. Three runs a side can be alike; to differ takes four. Delta 0
// never gives alike. One run a side gives the ratio with Coverage 0 and TooFew. A value of 0 is a run that got nothing
// done: its ratio is that of HodgesLehmannRatio, and Seen and Repeats are not known beside it. Other values that
// are not positive give ErrNotPositive.
//
// Source: MannWhitney for a difference; for likeness two one-sided tests, which ask for
// 1-2·alpha of coverage (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15
// (1987) 657–680).
//
// Several metrics of the same runs are several chances of a false alarm: see Holm.
func Compare(a, b []float64, delta, alpha float64) (Comparison, error) {
	ratio, err := HodgesLehmannRatio(a, b, alpha)
	if err != nil {
		return Comparison{}, err
	}
	spread, _ := Spread(a, b) // 0 beside a value of 0
	c := Comparison{
		Verdict: TooFew, A: Median(a, alpha), B: Median(b, alpha), Ratio: ratio,
		P: MannWhitney(a, b), Seen: Detectable(spread, len(a), len(b), alpha), Repeats: Repeats(spread, delta, alpha),
	}
	switch {
	case delta > 0 && ratio.Coverage > 1-2.001*alpha && ratio.within(1/(1+delta), 1+delta):
		c.Verdict = Alike
	case c.P > alpha:
	case ratio.Value > 1:
		c.Verdict = Higher
	case ratio.Value < 1:
		c.Verdict = Lower
	}
	return c, nil
}

// Looks returns the alpha of each of k planned looks at growing data, so that looking k
// times and stopping at the first clear answer gives at most a share alpha of false
// alarms. The looks share alpha equally.
//
// It holds for any test and any number of runs between looks, unlike the boundaries of
// Pocock and of O'Brien and Fleming, which need normal statistics and even steps.
// Its cost: to show the same effect at the last of 2, 3 or 5 looks takes 1.2, 1.3 or 1.5
// times the runs of a single look.
//
// Source: Bonferroni; see Jennison and Turnbull, Group Sequential Methods (1999), chapter 2.
func Looks(k int, alpha float64) []float64 {
	out := make([]float64, max(k, 0))
	for i := range out {
		out[i] = alpha / float64(k)
	}
	return out
}
