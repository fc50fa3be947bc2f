//go:build !race

package study

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// published returns the figures of published tests beside cells of two loads: a producer of 1,000 records/s, and a consumer of 2,000.
func published(t *testing.T, s *Study) map[string]Published {
	t.Helper()
	d := &Document{GridDoc: new(GridDoc), Study: s}
	for _, c := range s.Cells() {
		cell := CellDoc{At: c.values()}
		run := RunDoc{}
		for i := range s.Loads {
			run.Loads = append(run.Loads, LoadFigures{Limit: verdict.BrokerAcks, Measures: Measures[float64]{metric.Rate: float64(i+1) * 1000}})
		}
		cell.Runs = []RunDoc{run}
		cell.conclude(len(s.Loads))
		d.Cells = append(d.Cells, cell)
	}
	must.Do(t, d.publish())
	found := make(map[string]Published)
	for _, p := range d.Published {
		found[p.Case+" "+p.String()] = p
	}
	return found
}

// A figure of three hosts is not put beside one producer.
func TestProducersOfAllHostsAndProcessesStandBesideAsMany(t *testing.T) {
	write := []Load{{Command: "produce"}}
	factors := func(values ...string) []Factor { return []Factor{{Name: "producers", Values: values}} }
	all := published(t, &Study{Published: []string{"three-hosts/multi-host", "kreps-2014/linkedin-4"}, Loads: write, Factors: factors("1", "3", "10")})
	must.Match(t, 1000, all["linkedin-4 producers=3"].Here, "three producers on three hosts: %+v", all)
	must.Match(t, 1000, all["multi-host producers=10"].Here, "five processes on each of two hosts: %+v", all)
}

// What several cells may be stands beside none of them, and reading stands beside reading.
func TestAFigureStandsBesideOneCellAndItsOwnLoad(t *testing.T) {
	s := &Study{
		Published: []string{"three-hosts/mixed"}, Loads: []Load{{Name: "write", Command: "produce"}, {Name: "read", Command: "consume"}},
		Factors: []Factor{{Name: "write.producers", Values: []string{"1", "3"}}, {Name: "read.consumers", Values: []string{"3"}}},
	}
	if p, ok := published(t, s)["mixed read.consumers=3"]; !ok || p.Here != 0 {
		t.Errorf("two cells fit: %+v", p)
	}
	s.Factors[0].Values = []string{"1"}
	if p := published(t, s)["mixed read.consumers=3"]; p.Here != 2000 {
		t.Errorf("%+v, want the figure of the consumer", p)
	}
}

// Another rate, or another size of records, is another load than that of the test.
func TestAnotherLoadHasNoRatio(t *testing.T) {
	for value, differs := range map[string]string{"50k": "", "1000": "rate 1000, published 50000", "-1": "rate unlimited, published 50000"} {
		s := &Study{
			Published: []string{"producer-latency/acks-0"}, Factors: []Factor{{Name: "acks", Values: []string{"0"}}},
			Loads: []Load{{Command: "produce", Flags: []Flag{{"rate", value}, {"record-size", "1KiB"}}}},
		}
		p := published(t, s)["acks-0 acks=0"]
		if got := strings.Join(p.Differs, "; "); p.Here != 1000 || got != differs || (p.Ratio > 0) != (differs == "") {
			t.Errorf("rate %s: %+v", value, p)
		}
	}
}
