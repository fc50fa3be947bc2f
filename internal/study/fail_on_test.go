package study

import "testing"

// Four runs a side tell nothing of five metrics, so the shift decides; of five runs the test decides.
func TestFailOnOfFewRuns(t *testing.T) {
	for n, want := range map[int]int{1: 1, 4: 1, 5: 0} {
		f, err := ParseFailOn("throughput<-3%")
		if err != nil {
			t.Fatal(err)
		}
		c := Compared{Metric: Throughput, Shift: -0.5, Verdict: TooFew}
		c.A.N, c.B.N = n, n
		d := &CompareDocument{Metrics: []Compared{c}}
		d.Judge([]FailOn{f})
		if len(d.Failures) != want {
			t.Errorf("%d runs a side: %d failures, want %d", n, len(d.Failures), want)
		}
	}
}
