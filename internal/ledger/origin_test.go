//go:build !race

package ledger

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnOriginIsNotedWhereTheSequencesChange(t *testing.T) {
	for _, tc := range []struct {
		name      string
		limit     int
		all       []Origin
		want      []Origin
		forgotten int64
	}{
		{"one that goes on", 9, []Origin{{5, 0, 0, 0}, {5, 0, 10, 10}, {5, 0, 10, 10}}, []Origin{{5, 0, 0, 0}}, 0},
		{"behind records that were not sent", 9, []Origin{{5, 0, 0, 0}, {5, 0, 10, 20}}, []Origin{{5, 0, 0, 0}, {5, 0, 10, 20}}, 0},
		{"behind two batches that were not sent", 9, []Origin{{5, 0, 0, 0}, {5, 0, 10, 20}, {5, 0, 10, 30}}, []Origin{{5, 0, 0, 0}, {5, 0, 10, 30}}, 0},
		{"the first was not sent", 9, []Origin{{5, 0, 0, 0}, {5, 0, 0, 10}}, []Origin{{5, 0, 0, 10}}, 0},
		{"another id", 9, []Origin{{5, 0, 0, 0}, {6, 0, 0, 10}}, []Origin{{5, 0, 0, 0}, {6, 0, 0, 10}}, 0},
		{"another epoch", 9, []Origin{{5, 0, 0, 0}, {5, 1, 0, 10}}, []Origin{{5, 0, 0, 0}, {5, 1, 0, 10}}, 0},
		{"too many", 3, []Origin{{5, 0, 0, 0}, {6, 0, 0, 10}, {7, 0, 0, 20}, {8, 0, 0, 30}, {9, 0, 0, 40}}, []Origin{{7, 0, 0, 20}, {8, 0, 0, 30}, {9, 0, 0, 40}}, 20},
	} {
		p := NewProducer(0)
		p.limit = tc.limit
		p.Next(0, 100)
		for _, o := range tc.all {
			p.Originate(0, o)
		}
		l := p.Lanes()[0]
		if diff := cmp.Diff(tc.want, l.Origins); diff != "" || l.Forgotten != tc.forgotten {
			t.Errorf("%s: forgotten %d, want %d; -want +got:\n%s", tc.name, l.Forgotten, tc.forgotten, diff)
		}
		if err := l.check(); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestASequenceIsThatOfTheNearestNumber(t *testing.T) {
	renewed := []Origin{{5, 0, 0, 0}, {5, 0, 500, 700}}
	for _, tc := range []struct {
		name      string
		origins   []Origin
		forgotten bool
		sequence  int32
		n, next   int64
		want      int64 // -1: none
	}{
		{"the first", renewed, false, 0, 10, 0, 0},
		{"the next one", renewed, false, 20, 10, 20, 20},
		{"again", renewed, false, 10, 10, 20, 10},
		{"up to the next origin", renewed, false, 490, 10, 490, 490},
		{"across the next origin", renewed, false, 495, 10, 490, -1},
		{"behind the next origin", renewed, false, 500, 10, 500, 700},
		{"behind numbers that were not sent", renewed, false, 500, 10, 650, 700},
		{"much later", renewed, false, 5, 10, 700 + sequences - 500, 700 + sequences - 500 + 5},
		{"the largest", []Origin{{5, 0, math.MaxInt32, 0}}, false, math.MaxInt32, 1, 0, 0},
		{"behind the largest", []Origin{{5, 0, math.MaxInt32, 0}}, false, 0, 1, 1, 1},
		{"half of the first sequences are lost", []Origin{{5, 0, 0, 0}}, false, math.MaxInt32 - 5, 1, 0, math.MaxInt32 - 5},
		{"before what is remembered", []Origin{{5, 0, 500, 700}}, true, 490, 10, 700, -1},
		{"none", renewed, false, -1, 10, 0, -1},
	} {
		track := track{origins: tc.origins, forgotten: tc.forgotten}
		got, ok := track.number(tc.sequence, tc.n, tc.next)
		if ok != (tc.want >= 0) || ok && got != tc.want {
			t.Errorf("%s: number %d, %t; want %d", tc.name, got, ok, tc.want)
		}
	}
}

// FuzzSequences: a record whose number is within 2^30 of the one that is expected has that number, wherever its sequence
// is counted.
func FuzzSequences(f *testing.F) {
	f.Add(int64(0), int64(0), int64(100), int64(-100))
	f.Add(int64(math.MaxInt32-3), int64(7), int64(5), int64(0))
	f.Add(int64(1<<40), int64(1<<41), int64(1<<42), int64(1<<30-1))
	f.Fuzz(func(t *testing.T, sequence, first, behind, away int64) {
		const far = 1 << 60
		sequence, first, behind, away = abs(sequence)%far, abs(first)%far, abs(behind)%far, away%(sequences/2)
		track := track{origins: []Origin{{1, 0, sequence, first}}}
		next, want := first+behind, first+behind+away
		if want < first {
			want = next
		}
		got, ok := track.number(int32((sequence+want-first)&math.MaxInt32), 1, next)
		if !ok || got != want {
			t.Errorf("number %d, %t; want %d, where %d is expected", got, ok, want, next)
		}
	})
}

func abs(n int64) int64 { return max(n, -(n + 1)) }
