package pulsar

import (
	"testing"
	"time"

	client "github.com/apache/pulsar-client-go/pulsar"
	"github.com/kt-bench/kt/internal/must"
)

// Two consumers share a partition. One reads its last message before the other has read an earlier one.
func TestAPartitionIsOverWhenNoConsumerHasEarlierMessages(t *testing.T) {
	e := end{position: position{Ledger: 7, Entry: 2}}
	at := time.Unix(1000, 0)
	look := func(after time.Duration, want bool) {
		t.Helper()
		at = at.Add(after)
		must.Match(t, want, e.over(othersWithin, at), "after %v: over %v", at.Sub(time.Unix(1000, 0)), !want)
	}
	read := func(entry int64) { e.take(client.NewMessageID(7, entry, 0, 0)) }
	look(0, false)
	read(0)
	look(2*othersWithin, false) // the last one is missing
	read(2)
	look(time.Second, false)
	read(1)
	look(othersWithin-time.Second, false)
	look(othersWithin-time.Second, false)
	read(3) // written later, by others
	look(time.Second, true)
	if one := (&end{position: position{Ledger: 7, Entry: 2}}); one.over(0, at) {
		t.Error("nothing was read, and it is over")
	}
}
