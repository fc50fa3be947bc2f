package page

import "testing"

func TestALineOfACommandBreaksBetweenItsWords(t *testing.T) {
	got := words(`kt produce --limit 'p99<1s over  2s'`)
	want := `<span>kt</span> <span>produce</span> <span>--limit</span> <span>&#39;p99&lt;1s</span> <span>over</span>  <span>2s&#39;</span>`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
