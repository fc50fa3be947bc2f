package driver

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// acks are the acknowledgements of the records of one partition in one poll.
type acks struct {
	stats.Share
	group           int
	number          int32 // of the partition
	delivered, made time.Duration
	records         []ledger.Record // of a run that is verified: those that nobody gets any more
	last            bool            // it was the last delivery of one that was accepted
}

func (a *acks) count() int64 { return a.Accepted + a.Released + a.Rejected }

// acknowledge acknowledges the records of the last poll. The client sends that with its next request to their brokers. At the end of
// a run the consumer releases what it still works on.
func (r *sharer) acknowledge() {
	d, by := r.driver, make(map[int32]*acks)
	marked := make(map[kgo.AckStatus][]*kgo.Record)
	for i, record := range r.polled {
		number := d.Layout.Number(record.Topic, record.Partition)
		if by[number] == nil {
			by[number] = &acks{group: r.group, number: number, delivered: r.at, made: r.shard.Now()}
		}
		a, archived := by[number], false
		last := int(record.DeliveryCount()) == d.Groups[r.group].Limit
		does := d.Plan.Read.Share.Draw(r.rng)
		if r.shard.InWork(i) {
			does = plan.Release
			a.Unfinished++
		}
		switch does {
		case plan.Accept:
			a.Accepted++
			a.last = a.last || last
		case plan.Release:
			a.Released++
			d.news.again.Add(-1)
			marked[kgo.AckRelease] = append(marked[kgo.AckRelease], record)
			if archived = last; !last {
				continue
			}
		case plan.Reject:
			a.Rejected++
			archived = true
			marked[kgo.AckReject] = append(marked[kgo.AckReject], record)
		}
		if archived {
			a.Archived++
		}
		if d.Book != nil {
			of := reading.Record(record)
			of.Again, of.Archived = record.DeliveryCount() > 1, archived
			a.records = append(a.records, of)
		}
	}
	r.mu.Lock()
	for number, a := range by {
		r.waiting[number] = append(r.waiting[number], *a)
	}
	r.mu.Unlock()
	for status, records := range marked {
		r.client.MarkAcks(status, records...)
	}
	r.client.MarkAcks(kgo.AckAccept) // the rest
	for _, record := range r.polled {
		if d.Book == nil { // else the ledger needs its value
			record.Recycle()
		}
	}
	if len(r.polled) > 0 && !d.Plan.Read.Processing.IsZero() { // a poll is less than a fetch: else its locks would wait for the next one
		now, end := context.WithTimeout(r.living, 0)
		_ = r.client.FlushAcks(now) // it waits for nothing
		end()
	}
	clear(r.polled)
	r.polled = r.polled[:0]
}

// acknowledged counts acknowledgements that have an answer. The client names their partition alone: they are those that were made
// before the request.
func (r *sharer) acknowledged(_ *kgo.Client, results kgo.ShareAckResults) {
	for _, result := range results {
		number := r.driver.Layout.Number(result.Topic, result.Partition)
		r.mu.Lock()
		all := r.waiting[number]
		n := slices.IndexFunc(all, func(a acks) bool { return a.made > r.answered })
		if n < 0 || n == 0 && result.Err != nil { // the client could not send it
			n = len(all)
		}
		done := slices.Clone(all[:n])
		r.waiting[number] = slices.Delete(all, 0, n)
		r.mu.Unlock()
		r.settle(done, result.Err)
	}
}

func (r *sharer) settle(done []acks, err error) {
	now := r.shard.Now()
	r.shard.Record(func(rec *stats.Recorder, phase int) {
		w := rec.Window(phase)
		if err != nil {
			rec.FetchFailed(phase, "acknowledge:"+kafka.ErrorCode(err))
		}
		for i := range done {
			a := &done[i]
			if err != nil {
				w.AckFailed += a.count()
				continue
			}
			w.Accepted, w.Released, w.Rejected, w.Archived = w.Accepted+a.Accepted, w.Released+a.Released, w.Rejected+a.Rejected, w.Archived+a.Archived
			w.Unfinished += a.Unfinished
			w.AckTime.RecordN(now-a.delivered, a.count())
		}
	})
	if err != nil {
		r.driver.doubt(done)
		return
	}
	for i := range done {
		r.driver.Settle(r.group, done[i].number, int(done[i].Accepted+done[i].Archived), done[i].records)
	}
}

// doubt keeps acknowledgements that no broker has confirmed.
func (d *Share) doubt(all []acks) {
	for i := range all {
		for k := range all[i].records {
			all[i].records[k].Again = true
		}
	}
	const most = 100_000
	d.mu.Lock()
	defer d.mu.Unlock()
	d.doubted = append(d.doubted, all[:min(len(all), most-len(d.doubted))]...)
}
