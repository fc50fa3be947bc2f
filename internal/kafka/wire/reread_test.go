package wire

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The fetches of each broker fail on a goroutine of its own.
func TestBrokersMayFailAtOnceWhileALogIsReadAgain(t *testing.T) {
	s := newReadScene(t, 3)
	s.write(s.client(), 3, 500)
	s.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "t", Err: kerr.NotLeaderForPartition, Count: 60})
	d := NewConsumer(s.state(readPlan(nil), nil))
	ends := map[int32]int64{0: 500, 1: 500, 2: 500}
	if err := d.reread(t.Context(), ends, time.Minute); err != nil || len(ends) > 0 {
		t.Errorf("%v; not read to their end: %v", err, ends)
	}
}

// Batches without records come for twice as long as a reader waits for one.
func TestALogIsReadAgainOverBatchesWithoutRecords(t *testing.T) {
	const idle, between = 3 * time.Second, 600 * time.Millisecond
	s := newReadScene(t, 1)
	s.answer(func(p *kmsg.FetchRequestTopicPartition, res *kmsg.FetchResponseTopicPartition) {
		if p.FetchOffset < 10 {
			<-time.After(between)
			res.RecordBatches = encodeBatch(p.FetchOffset, p.FetchOffset+1)
		}
	})
	d := NewConsumer(s.state(readPlan(nil), nil))
	ends := map[int32]int64{0: 10}
	if err := d.reread(t.Context(), ends, idle); err != nil || len(ends) > 0 {
		t.Errorf("%v; not read to their end: %v", err, ends)
	}
}
