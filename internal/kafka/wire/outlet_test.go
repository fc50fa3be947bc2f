package wire

import "testing"

func TestARequestGoesOverTheConnectionWithTheFewestInFlight(t *testing.T) {
	for _, tc := range []struct {
		flying     []int
		limit      int
		connection int
		room       bool
	}{
		{[]int{0, 0, 0}, 5, 0, true},
		{[]int{1, 0, 0}, 5, 1, true},
		{[]int{1, 1, 0}, 5, 2, true},
		{[]int{2, 1, 1}, 5, 1, true},
		{[]int{2, 2, 1}, 5, 2, false},
		{[]int{1}, 1, 0, false},
	} {
		o := outlet{flying: tc.flying}
		if connection, room := o.free(tc.limit); connection != tc.connection || room != tc.room {
			t.Errorf("%v, limit %d: connection %d, room %t", tc.flying, tc.limit, connection, room)
		}
	}
}
