//go:build !race

package ledger

import "testing"

// read is a record of producer 0 of run 1; marked says that the system calls it delivered before.
type read struct {
	seq    int64
	marked bool
}

// queueOf returns what is known of a queue in which records were read in this order. A connection was lost before the record
// at the place lost; the reader had read the records last, and the system sends 3 without an acknowledgement.
func queueOf(order []read, lost int, last ...int64) Verdict {
	r := NewReader(&Book{Run: 1})
	l := r.Log(0)
	for i, m := range order {
		if i == lost {
			var held []Number
			for _, seq := range last {
				held = append(held, Number{0, seq})
			}
			l.Returned(held, 3)
		}
		record := at(int64(i), -1, put(0, 0, m.seq))
		record.Again = m.marked
		l.Lock()
		l.Add(record, new(Stamp))
		l.Unlock()
	}
	return (&Book{SameTopic: true}).Verify(r)
}

func TestOnlyALostConnectionExcusesCopiesAndOrder(t *testing.T) {
	for _, tc := range []struct {
		name                               string
		order                              []read
		lost                               int // -1: no connection was
		last                               []int64
		duplicated, reordered, redelivered int64
	}{
		{"a marked copy", []read{{0, false}, {1, false}, {0, true}}, -1, nil, 1, 0, 0},
		{"all are marked", []read{{0, true}, {1, true}, {2, true}}, -1, nil, 0, 0, 0},
		{"a marked record that is late", []read{{0, false}, {2, false}, {1, true}}, -1, nil, 0, 1, 0},
		{"copies of what a lost connection had", []read{{0, false}, {1, false}, {0, true}, {1, true}, {2, false}}, 2, []int64{0, 1}, 0, 0, 2},
		{"a second copy", []read{{0, false}, {1, false}, {1, true}, {1, true}}, 2, []int64{0, 1}, 1, 0, 1},
		{"a copy of what was acknowledged before", []read{{0, false}, {1, false}, {0, true}, {1, true}}, 2, []int64{1}, 1, 0, 1},
		{"a copy that is not marked", []read{{0, false}, {0, false}}, 1, []int64{0}, 1, 0, 0},
		{"what was on its way comes late", []read{{0, false}, {4, false}, {1, true}, {2, true}, {3, true}}, 1, nil, 0, 0, 0},
		{"more than was on its way comes late", []read{{0, false}, {5, false}, {1, true}, {2, true}, {3, true}, {4, true}}, 1, nil, 0, 1, 0},
		{"it is late and not marked", []read{{0, false}, {2, false}, {1, false}}, 1, nil, 0, 1, 0},
		{"it was passed over before the loss", []read{{0, false}, {2, false}, {1, true}}, 2, nil, 0, 1, 0},
	} {
		v := queueOf(tc.order, tc.lost, tc.last...)
		if v.Duplicated != tc.duplicated || v.Reordered != tc.reordered || v.Redelivered != tc.redelivered || v.Checked+v.Redelivered != int64(len(tc.order)) {
			t.Errorf("%s: %d duplicated, %d reordered, %d redelivered, %d checked", tc.name, v.Duplicated, v.Reordered, v.Redelivered, v.Checked)
		}
	}
}

func TestManyLostConnectionsDoNotFillTheMemory(t *testing.T) {
	l := NewReader(&Book{Run: 1}).Log(0)
	held := make([]Number, 65_535)
	for loss := range int64(10) {
		for i := range held {
			held[i] = Number{Seq: loss*int64(len(held)) + int64(i)}
		}
		l.Returned(held, len(held))
	}
	if n := len(l.owed); n > maxOwed || n < len(held) || l.outstanding > 2*int64(len(held)) {
		t.Errorf("%d records are kept, and %d may be late", n, l.outstanding)
	}
}
