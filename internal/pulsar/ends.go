package pulsar

import (
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

// ends are where the partitions end that are read up to there.
type ends struct {
	at     []position    // by partition
	passed []atomic.Bool // of partition i by group g: at g*len(at)+i
}

// pass notes that a group has read a message. e may be nil.
func (e *ends) pass(group int, partition int32, id client.MessageID) {
	if e == nil {
		return
	}
	end, at := e.at[partition], position{id.LedgerID(), id.EntryID()}
	// The last message of a batch passes it.
	if at.Ledger > end.Ledger || at.Ledger == end.Ledger && (at.Entry > end.Entry || at.Entry == end.Entry && id.BatchIdx()+1 >= id.BatchSize()) {
		e.passed[group*len(e.at)+int(partition)].Store(true)
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
	names := s.paths()
	d.ends = &ends{at: make([]position, len(names)), passed: make([]atomic.Bool, len(names)*max(1, s.plan.Read.Groups))}
	for i, path := range names {
		if err := s.admin.get(ctx, path+"/lastMessageId", &d.ends.at[i]); err != nil && status(err) != http.StatusNotFound {
			return fmt.Errorf("where partition %d of topic %s ends: %w", i, s.topic.Name, err)
		}
	}
	for g := range max(1, s.plan.Read.Groups) {
		for i, path := range names {
			if s.own != "" && !queue.Mine(s.plan, int32(i)) { // nobody reads it here
				d.ends.passed[g*len(names)+i].Store(true)
				continue
			}
			if err := s.subscribe(ctx, path, s.subscription(g)); err != nil {
				return fmt.Errorf("subscription %s of topic %s: %w", s.subscription(g), s.topic.Name, err)
			}
		}
	}
	go d.watchEnd(ctx) // until ctx ends
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

// endPoll is how often watchEnd looks.
const endPoll = 200 * time.Millisecond

// watchEnd waits until every group has read every partition.
func (d *consumers) watchEnd(ctx context.Context) {
	ticker := time.NewTicker(endPoll)
	defer ticker.Stop()
	for {
		if d.passedAll() {
			d.End()
			return
		}
		if all, err := d.session.stats(ctx); err == nil {
			d.emptied(all)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (d *consumers) passedAll() bool {
	for i := range d.ends.passed {
		if !d.ends.passed[i].Load() {
			return false
		}
	}
	return true
}

// emptied notes partitions of which a group has nothing to read.
func (d *consumers) emptied(all []*partitionStats) {
	for g := range max(1, d.session.plan.Read.Groups) {
		for i, p := range all {
			if p == nil {
				continue
			}
			if s, there := p.Subscriptions[d.session.subscription(g)]; there && s.MsgBacklog == 0 {
				d.ends.passed[g*len(all)+i].Store(true)
			}
		}
	}
}
