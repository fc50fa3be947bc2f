package look

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/must"
)

// A stretch of log is a partition, as offsets by time tell of it: first are the offset and the age in seconds of the first record
// at or after each bound.
type stretch struct {
	start, end int64
	first      [][2]int64 // none: it was not asked
}

func TestRatesAreWhatTheLogsTell(t *testing.T) {
	const span = 1000 * time.Second
	end := time.UnixMilli(1_700_000_000_000)
	rows := []struct {
		name      string
		stages    int
		compacted bool
		of        []stretch
		want      []float64
		busiest   float64 // 0: not compared
		sure      capture.Sure
		note      string
		late      time.Duration // of the newest record
	}{
		{"older than the time", 1, false, []stretch{{0, 1100, [][2]int64{{100, 1000}}}}, []float64{1}, 1, capture.Measured, "", 0},
		{"a topic that is new", 1, false, []stretch{{0, 500, [][2]int64{{0, 100}}}, {0, 100, [][2]int64{{0, 20}}}}, []float64{6}, 5. / 6, capture.Measured, "begins 1m40s ago", 0},
		{"a new partition of an old topic", 1, false, []stretch{{0, 1100, [][2]int64{{100, 1000}}}, {0, 100, [][2]int64{{0, 20}}}}, []float64{1.1}, 0, capture.Measured, "", 0},
		{"what is older is deleted", 1, false, []stretch{{400, 900, [][2]int64{{400, 50}}}, {100, 1200, [][2]int64{{200, 1000}}}}, []float64{11}, 0, capture.Measured, "", 0},
		{"nothing is as new", 1, false, []stretch{{0, 700, [][2]int64{{700, -1}}}}, []float64{0}, 0, capture.Measured, "", 0},
		{"compaction has taken most", 1, true, []stretch{{0, 1000, [][2]int64{{900, 100}}}}, []float64{1}, 1, capture.Measured, "begins 1m40s ago", 0},
		{"records are on their way", 1, false, []stretch{{0, 9100, [][2]int64{{100, 1000}}}}, []float64{9000 / 998.1}, 0, capture.Measured, "", 1900 * time.Millisecond},
		{"few were due since the newest", 1, false, []stretch{{0, 9100, [][2]int64{{100, 1000}}}}, []float64{9}, 0, capture.Measured, "", time.Second},
		{"empty", 1, false, []stretch{{0, 0, nil}}, []float64{0}, 0, capture.Measured, "", 0},
		{"one of two was asked", 1, false, []stretch{{0, 1000, [][2]int64{{500, 1000}}}, {0, 3000, nil}}, []float64{2}, 0.75, capture.Estimated, "1 of 2 partitions", 0},
		{"stages", 2, false, []stretch{{0, 1600, [][2]int64{{100, 1000}, {600, 500}}}}, []float64{1, 2}, 1, capture.Measured, "", 0},
		{"stages of which the first are deleted", 4, false, []stretch{{100, 1100, [][2]int64{{100, 500}, {100, 500}, {100, 500}, {350, 250}}}}, []float64{2, 2, 1, 3}, 0, capture.Estimated, "begins 8m20s ago: its rate is of the time since", 0},
		{"stages before a topic that is new", 4, false, []stretch{{0, 1000, [][2]int64{{0, 500}, {0, 500}, {0, 500}, {500, 250}}}}, []float64{0, 0, 2, 2}, 0, capture.Measured, "begins 8m20s", 0},
		{"stages of a topic that is new", 2, false, []stretch{{0, 1000, [][2]int64{{0, 600}, {200, 500}}}}, []float64{0.4, 1.6}, 0, capture.Measured, "begins 10m", 0},
		{"stages of a compacted topic that is new", 4, true, []stretch{{0, 1000, [][2]int64{{0, 500}, {0, 500}, {0, 500}, {500, 250}}}}, []float64{0, 0, 2, 2}, 0, capture.Measured, "begins 8m20s", 0},
		{"stages of which compaction may have taken the first", 4, true, []stretch{{0, 1100, [][2]int64{{100, 500}, {100, 500}, {100, 500}, {600, 250}}}}, []float64{2, 2, 2, 2}, 0, capture.Estimated, "taken to be as the rest", 0},
		{"stages of which all but a quiet partition are deleted", 2, false, []stretch{{100, 1100, [][2]int64{{100, 500}, {100, 500}}}, {0, 10, [][2]int64{{0, 20}, {0, 20}}}}, []float64{2.02, 2.02}, 0, capture.Estimated, "taken to be as the rest", 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			v := &view{Look: capture.Look{Last: span, Stage: span / time.Duration(row.stages)}, began: end, gone: map[int32]bool{}}
			topic := &topic{compacted: row.compacted, Topic: capture.Topic{Configs: map[string]string{}}}
			for i, s := range row.of {
				p := &partition{topic: topic, id: int32(i), start: s.start, end: s.end, at: end}
				for _, f := range s.first {
					o := point{f[0], 0}
					if f[1] >= 0 {
						o.ms = end.Add(-time.Duration(f[1]) * time.Second).UnixMilli()
					}
					p.bounds = append(p.bounds, o)
				}
				topic.partitions = append(topic.partitions, p)
			}
			if row.late > 0 {
				topic.newest, topic.read, topic.partitions[0].grown = end.Add(-row.late), end, 9
			}
			v.settle(topic)
			must.True(t, near(topic.Rates, row.want), "rates %v, want %v", topic.Rates, row.want)
			must.True(t, row.busiest == 0 || near([]float64{topic.Busiest}, []float64{row.busiest}), "share of the busiest partition %v, want %v", topic.Busiest, row.busiest)
			must.Match(t, row.sure, topic.Sure, "sure")
			if notes := strings.Join(topic.Notes, "; "); row.note == "" {
				must.Match(t, "", notes, "notes")
			} else {
				must.Has(t, "notes", notes, row.note)
			}
		})
	}
}

func near(got, want []float64) bool {
	return slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= 0.001*max(1, math.Abs(b)) })
}

// Ends of transactions are left out by their share in the time and the partition that they are in.
func TestEndsOfTransactionsAreThoseOfTheirTime(t *testing.T) {
	of := &topic{sampled: sampled{control: 100}, Topic: capture.Topic{Records: &capture.Records{Count: 300}}}
	p := &partition{topic: of, counted: map[int64]offsets{0: {900, 100}, 1: {500, 500}, 2: {10, 90}}}
	for _, row := range []struct{ from, until, want float64 }{{0, bin - 1, 0.9}, {bin, 2*bin - 1, 0.5}, {2 * bin, 3*bin - 1, 1410. / 2100}, {0, 2*bin - 1, 0.7}} {
		must.True(t, near([]float64{p.data(int64(row.from), int64(row.until))}, []float64{row.want}), "the share of %v to %v, want %v", row.from, row.until, row.want)
	}
	must.Match(t, 0.75, (&partition{topic: of}).data(0, bin), "the share where only the topic's is known")
}

// A producer writes to one partition after the other, so each has only a part of a transaction.
func TestPartsOfTransactionsAreTakenTogether(t *testing.T) {
	a, b := []*partition{new(partition)}, []*partition{new(partition)}
	part := func(first, last, end, records int64, in []*partition) transaction {
		return transaction{first: first, last: last, end: end, records: records, in: in}
	}
	for _, row := range []struct {
		name  string
		parts []transaction
		want  time.Duration
	}{
		{"none", nil, 0},
		{"one partition", []transaction{part(0, 100, 150, 11, a), part(500, 600, 650, 11, a)}, 110 * time.Millisecond},
		{"half in each of two", []transaction{part(0, 240, 505, 50, a), part(245, 480, 510, 50, b)}, 484 * time.Millisecond},
		{"one after the other in two, which end late", []transaction{
			part(0, 240, 505, 50, a), part(245, 480, 510, 50, b), part(500, 740, 1005, 50, a), part(745, 980, 1010, 50, b),
		}, 484 * time.Millisecond},
		{"old times that overlap all ends", []transaction{part(0, 100, 10_000, 11, a), part(200, 300, 10_001, 11, a)}, 110 * time.Millisecond},
	} {
		of := &topic{sampled: sampled{committed: map[int64][]transaction{1: row.parts}}}
		must.Match(t, row.want, of.transaction(), row.name)
	}
}
