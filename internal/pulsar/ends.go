package pulsar

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	client "github.com/apache/pulsar-client-go/pulsar"

	"github.com/kt-bench/kt/internal/queue"
)

// position is the place of an entry in a partition.
type position struct {
	Ledger int64 `json:"ledgerId"`
	Entry  int64 `json:"entryId"`
}

// end is where the reading of a partition by a group is over.
type end struct {
	position
	passed atomic.Bool
}

// pass notes that a message was read. The last one of a batch passes an end.
func (e *end) pass(id client.MessageID) {
	at := cmp.Or(cmp.Compare(id.LedgerID(), e.Ledger), cmp.Compare(id.EntryID(), e.Entry))
	if at > 0 || at == 0 && id.BatchIdx()+1 >= id.BatchSize() {
		e.passed.Store(true)
	}
}

// SetEndOffsets looks up where the partitions end now. Brokers count entries, which are batches: the messages that wait are not
// known by their number. So reading is over at the last entry, or where a subscription has nothing left.
func (d *consumers) SetEndOffsets(ctx context.Context) error {
	s := d.session
	if s.seen != nil {
		return fmt.Errorf("where topic %s ends: %w; --num-records or --duration ends reading without the admin API", s.topic.Name, s.seen)
	}
	if s.plan.Writes() {
		return d.Arrivals.SetEndOffsets(ctx)
	}
	paths := s.each(s.path())
	d.ends = make([][]end, len(s.subscriptions))
	for g, name := range s.subscriptions {
		d.ends[g] = make([]end, len(paths))
		for i, path := range paths {
			e := &d.ends[g][i]
			if s.own && !queue.Mine(s.plan, int32(i)) { // nobody reads it here
				e.passed.Store(true)
				continue
			}
			if err := s.admin.get(ctx, path+"/lastMessageId", &e.position); err != nil && status(err) != http.StatusNotFound {
				return fmt.Errorf("where partition %d of topic %s ends: %w", i, s.topic.Name, err)
			}
			if err := s.subscribe(ctx, path, name); err != nil {
				return fmt.Errorf("subscription %s of topic %s: %w", name, s.topic.Name, err)
			}
		}
	}
	go queue.Every(ctx, endPoll, func() { d.lookForEnd(ctx) })
	return nil
}

// subscribe makes a subscription of a partition, so that its backlog is known before it is read.
func (s *session) subscribe(ctx context.Context, path, name string) error {
	from := position{-1, -1}
	if s.plan.Read.From.Latest {
		from = position{math.MaxInt64, math.MaxInt64}
	}
	err := s.admin.do(ctx, http.MethodPut, path+"/subscription/"+url.PathEscape(name), from, nil)
	if status(err) == http.StatusConflict {
		return nil // it is there
	}
	return err
}

// endPoll is how often lookForEnd is called.
const endPoll = 200 * time.Millisecond

// lookForEnd ends the reading when every group has read every partition, or has nothing left of it to read.
func (d *consumers) lookForEnd(ctx context.Context) {
	left := false
	all, err := d.session.stats(ctx)
	for g, name := range d.session.subscriptions {
		for i := range d.ends[g] {
			e := &d.ends[g][i]
			if err == nil && all[i].emptied(name) {
				e.passed.Store(true)
			}
			left = left || !e.passed.Load()
		}
	}
	if !left {
		d.End()
	}
}
