//go:build !race

package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// firstColumn returns the first words of the table's rows, from the top.
func firstColumn(m Model) (ids []string) {
	for line := range strings.Lines(ansi.Strip(m.frame())) {
		if f := strings.Fields(strings.Trim(line, "│\n ")); len(f) > 3 && len(f[0]) <= 3 && strings.HasPrefix(f[0], "p") && f[1] != "p1" {
			ids = append(ids, f[0])
		}
	}
	return ids
}

func TestTheTableOfPartitionsIsSortedAndScrolled(t *testing.T) {
	m, _ := callable(t)
	m = send(send(m, tea.WindowSizeMsg{Width: 120, Height: 30}), press("4"))
	m.data.rows = nil
	for id := range int32(40) {
		m.data.rows = append(m.data.rows, result.PartitionNow{ID: id, Leader: 1, Acknowledged: float64(id * 7 % 40)})
	}
	if got := firstColumn(m); len(got) < 5 || got[0] != "p0" || got[1] != "p1" {
		t.Fatalf("by number: %v", got)
	}
	if got := firstColumn(send(m, press("down"))); got[0] != "p1" {
		t.Errorf("scrolled by one: %v", got)
	}
	sorted := firstColumn(send(send(m, press("o")), press("o")))
	want := slices.SortedFunc(slices.Values(m.data.rows), func(a, b result.PartitionNow) int { return int(b.Acknowledged - a.Acknowledged) })
	must.Match(t, []string{fmt.Sprintf("p%d", want[0].ID), fmt.Sprintf("p%d", want[1].ID)}, []string{sorted[0], sorted[1]}, "by rate: %v", sorted)
}
