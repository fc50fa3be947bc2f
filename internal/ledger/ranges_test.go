//go:build !race

package ledger

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNumbersBecomeRanges(t *testing.T) {
	for _, tc := range []struct {
		name string
		add  []int64
		want Ranges
	}{
		{"in order", []int64{0, 1, 2, 3}, Ranges{{0, 4, 0}}},
		{"backwards", []int64{3, 2, 1, 0}, Ranges{{0, 4, 0}}},
		{"with a hole", []int64{0, 2, 3}, Ranges{{0, 1, 0}, {2, 4, 0}}},
		{"with a hole that is filled", []int64{0, 3, 1, 2}, Ranges{{0, 4, 0}}},
		{"one twice", []int64{0, 1, 1, 0}, Ranges{{0, 2, 0}}},
		{"four apart fill the list", []int64{0, 2, 4, 6}, Ranges{{0, 1, 0}, {2, 3, 0}, {4, 5, 0}, {6, 7, 0}}},
		{"a fifth makes the older half one", []int64{0, 2, 4, 6, 8}, Ranges{{0, 3, 1}, {4, 5, 0}, {6, 7, 0}, {8, 9, 0}}},
		{"a number in between fills a hole", []int64{0, 2, 4, 6, 8, 1}, Ranges{{0, 3, 0}, {4, 5, 0}, {6, 7, 0}, {8, 9, 0}}},
		{"a number beside holes stays by itself", []int64{0, 2, 4, 6, 7, 9, 3}, Ranges{{0, 3, 1}, {3, 5, 0}, {6, 8, 0}, {9, 10, 0}}},
	} {
		var rs Ranges
		for _, n := range tc.add {
			rs.add(n, n+1, 4)
		}
		if diff := cmp.Diff(tc.want, rs); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tc.name, diff)
		}
	}
}

func TestSetsAreThoseOfTheirNumbers(t *testing.T) {
	const n = 40
	rng := rand.New(rand.NewPCG(1, 1))
	random := func() (rs Ranges, in [n]bool) {
		for range rng.IntN(n) {
			i := rng.Int64N(n)
			rs.add(i, i+1, n)
			in[i] = true
		}
		return rs, in
	}
	numbers := func(rs Ranges) (in [n]bool) {
		for i, r := range rs {
			if r.From >= r.To || r.Holes != 0 || i > 0 && r.From < rs[i-1].To {
				t.Fatalf("no set: %v", rs)
			}
			for k := r.From; k < r.To; k++ {
				in[k] = true
			}
		}
		return in
	}
	for range 2000 {
		a, inA := random()
		b, inB := random()
		var both, only, either [n]bool
		for i := range n {
			both[i], only[i], either[i] = inA[i] && inB[i], inA[i] && !inB[i], inA[i] || inB[i]
		}
		if numbers(a) != inA || numbers(intersect(a, b)) != both || numbers(subtract(a, b)) != only || numbers(union(append(append(Ranges{}, a...), b...))) != either {
			t.Fatalf("of %v and %v: both %v, only the first %v", a, b, intersect(a, b), subtract(a, b))
		}
	}
}

func TestARangeIsAShortListInJSON(t *testing.T) {
	in := Ranges{{0, 10, 0}, {12, 20, 3}}
	b, err := json.Marshal(in)
	if err != nil || string(b) != "[[0,10],[12,20,3]]" {
		t.Fatalf("%s, %v", b, err)
	}
	var got Ranges
	if err := json.Unmarshal(b, &got); err != nil || !cmp.Equal(in, got) {
		t.Errorf("read back as %v, %v", got, err)
	}
	for _, bad := range []string{"[[1]]", "[[1,2,3,4]]", `[["a","b"]]`, "[{}]", "[[1.5,2]]"} {
		if json.Unmarshal([]byte(bad), &got) == nil {
			t.Errorf("%s is read as %v", bad, got)
		}
	}
}
