//go:build !race

package ledger

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

func TestEachPartitionIsNumberedByItself(t *testing.T) {
	p := NewProducer(1)
	for want := range int64(3) {
		for _, partition := range []int32{0, 7, 3, 1000} {
			must.Match(t, want, p.Next(partition, 1), "partition %d: number", partition)
		}
	}
}

func TestALaneSaysWhatBecameOfItsRecords(t *testing.T) {
	p := NewProducer(3)
	for range 10 {
		p.Next(2, 1)
	}
	p.Next(4, 1)
	p.Acknowledged(2, 5, 1, 105) // a later batch is answered first
	p.Acknowledged(2, 0, 1, 100)
	p.Acknowledged(2, 1, 1, 101)
	p.Failed(2, 2, 1)
	p.Acknowledged(2, 4, 1, 104)
	want := []Lane{
		{Producer: 3, Partition: 2, Issued: 10, LastOffset: 105, Acknowledged: Ranges{{0, 2, 0}, {4, 6, 0}}, Failed: Ranges{{2, 3, 0}}},
		{Producer: 3, Partition: 4, Issued: 1, LastOffset: -1},
	}
	got := p.Lanes(new(sync.Mutex))
	must.Match(t, want, got, "")
	must.Match(t, 5, got[0].Unknown(), "unknown")
}

func TestTransactionsThatWereNotCommittedAreRemembered(t *testing.T) {
	p := NewProducer(0)
	for i, committed := range []bool{true, false, false, true, false} {
		p.Next(0, 1)
		if i > 2 {
			p.Next(1, 1)
		}
		p.EndTransaction(committed)
	}
	p.EndTransaction(false) // of nothing
	p.Next(0, 1)            // in no transaction that ended
	got := p.Lanes(new(sync.Mutex))
	if want := (Ranges{{1, 3, 0}, {4, 5, 0}}); !cmp.Equal(want, got[0].Aborted) {
		t.Errorf("aborted %v, want %v", got[0].Aborted, want)
	}
	if want := (Ranges{{1, 2, 0}}); !cmp.Equal(want, got[1].Aborted) {
		t.Errorf("aborted %v, want %v", got[1].Aborted, want)
	}
}

func TestOutstandingIsExactAtZeroAndNearIt(t *testing.T) {
	p := NewProducer(0)
	must.Match(t, 0, p.Outstanding(5), "outstanding before there is anything")
	issued, settled := int64(0), int64(0)
	for round := range int64(200) {
		for range round {
			p.Next(0, 1)
			issued++
		}
		for settled < issued && (round%10 == 0 || settled%7 != 6) {
			if settled%3 == 0 {
				p.Failed(0, settled, 1)
			} else {
				p.Acknowledged(0, settled, 1, settled)
			}
			settled++
			got, want := p.Outstanding(0), issued-settled
			must.Hold(t, got >= want && got < want+publishEvery && (want != 0 || got == 0), "%d outstanding, want %d", got, want)
		}
		if settled%7 == 6 && settled < issued {
			p.Acknowledged(0, settled, 1, settled)
			settled++
		}
	}
}

func TestAnOutcomeDoesNotAllocate(t *testing.T) {
	p := NewProducer(0)
	p.Acknowledged(0, p.Next(0, 1), 1, 0)
	n := testing.AllocsPerRun(1000, func() { p.Acknowledged(0, p.Next(0, 1), 1, 0) })
	must.True(t, n <= 0, "%v allocations a record", n)
}
