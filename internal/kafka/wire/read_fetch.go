package wire

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/format"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
	"github.com/kt-bench/kt/internal/stats"
)

type fetched struct {
	chunks []chunk // with something to count
	bytes  []byte  // memory of them, to be freed
	err    error   // ends reading
}

type chunk struct {
	partition *partition
	broker    int32
	bytes     []byte // batches that are not begun yet
	reach     int64  // offset behind them
	start     int64  // of the log
	known     int64  // where it ended at the fetch before
	aborts    aborts
	moved     bool // the position changes without records
	cut       bool // because the log was truncated below it

	next    int64        // the position: records before it are counted, or are not asked for
	begun   format.Batch // the batch of the rest, nil: none
	from    int64        // records of it before this offset are not asked for
	records []byte       // the rest of its records
	left    int          // their number
	passed  []span       // of batches that are too large to read, which are not counted yet
}

func (r *reader) fetch(ctx context.Context, broker int32) {
	for ctx.Err() == nil {
		req, asked, changed := r.request(broker)
		if len(asked) == 0 {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		a := &fetched{}
		res, err := r.client.Broker(int(broker)).Request(ctx, req)
		failed := err != nil
		if failed {
			a.err = r.refused(err)
		} else {
			whole := r.responses.take(res.(*kmsg.FetchResponse))
			a.bytes = whole.bytes
			failed = r.accept(ctx, a, broker, asked, whole.FetchResponse)
		}
		empty := len(a.chunks) == 0
		if a.err != nil || !empty {
			select {
			case r.answers <- a:
			case <-ctx.Done():
			}
		} else {
			r.responses.free(a.bytes)
		}
		r.release(broker, asked)
		if failed {
			r.followAgain()
			if empty {
				kafka.Pause(ctx, r.backoff)
			}
		}
	}
}

// request returns a fetch of the partitions that a broker leads, without those whose records still wait for the reader. It has
// no session and no rack. changed is closed when there may be others.
func (r *reader) request(broker int32) (req *kmsg.FetchRequest, asked map[int32]*partition, changed <-chan struct{}) {
	req = kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32(r.Settings.Duration("fetch.max.wait.ms").Milliseconds())
	req.MinBytes, req.MaxBytes = int32(r.Settings.Int("fetch.min.bytes")), int32(r.Settings.Int("fetch.max.bytes"))
	req.SessionEpoch = -1
	if r.Settings.ReadCommitted() {
		req.IsolationLevel = 1
	}
	most := int32(r.Settings.Int("max.partition.fetch.bytes"))
	asked = make(map[int32]*partition)
	places := make(map[string]int)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn++
	for i := range r.partitions {
		p := r.partitions[(i+r.turn)%len(r.partitions)]
		of := r.leaders.leader(p.number)
		if of.broker != broker || p.busy {
			continue
		}
		p.busy = true
		asked[p.number] = p
		place, ok := places[p.topic]
		if !ok {
			place = len(req.Topics)
			places[p.topic] = place
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = p.topic, p.topicID
			req.Topics = append(req.Topics, t)
		}
		f := kmsg.NewFetchRequestTopicPartition()
		f.Partition, f.FetchOffset, f.PartitionMaxBytes = p.id, p.offset, p.size
		f.CurrentLeaderEpoch, f.LastFetchedEpoch = of.epoch, p.epoch
		if p.size > most { // for one batch
			req.MaxBytes = max(req.MaxBytes, p.size)
		}
		req.Topics[place].Partitions = append(req.Topics[place].Partitions, f)
	}
	return req, asked, r.changed
}

// release frees partitions for the next fetch, which is another broker's if the leader has changed.
func (r *reader) release(broker int32, asked map[int32]*partition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	moved := false
	for _, p := range asked {
		p.busy = false
		moved = moved || r.leaders.leader(p.number).broker != broker
	}
	if moved {
		r.wake()
	}
}

// refused counts a fetch that failed as a whole. It returns an error if reading has to end.
func (r *reader) refused(err error) error {
	if kgo.IsRetryableBrokerErr(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	r.count(kafka.ErrorCode(err))
	if reading.Fatal(err) {
		return err
	}
	return nil
}

func (r *reader) count(code string) {
	r.shard.Record(func(rec *stats.Recorder, phase int) { rec.FetchFailed(phase, code) })
}

// accept makes chunks of an answer, and moves the partitions behind them. It reports whether a partition failed.
func (r *reader) accept(ctx context.Context, a *fetched, broker int32, asked map[int32]*partition, res *kmsg.FetchResponse) (failed bool) {
	if err := kerr.ErrorForCode(res.ErrorCode); err != nil {
		a.err = r.refused(err)
		return true
	}
	names := make(map[[16]byte]string)
	for _, p := range asked {
		names[p.topicID] = p.topic
	}
	for i := range res.Topics {
		t := &res.Topics[i]
		if t.Topic == "" {
			t.Topic = names[t.TopicID]
		}
		for j := range t.Partitions {
			p := asked[r.Layout.Number(t.Topic, t.Partitions[j].Partition)]
			if p == nil {
				continue
			}
			c, err := r.scan(ctx, p, &t.Partitions[j])
			switch {
			case errors.Is(err, errAgain):
				failed = true
			case err != nil:
				a.err = fmt.Errorf("partition %d of topic %s: %w", p.id, p.topic, err)
				return true
			}
			if c.moved || len(c.bytes) > 0 {
				c.broker = broker
				a.chunks = append(a.chunks, c)
			}
		}
	}
	return failed
}

// errAgain is that of a partition which may be fetched after a pause.
var errAgain = errors.New("fetch again")

// maxUnknown is how often in a row brokers may not know a partition: not all know a topic that was just created.
const maxUnknown = 10

func (r *reader) scan(ctx context.Context, p *partition, f *kmsg.FetchResponseTopicPartition) (chunk, error) {
	switch err := kerr.TypedErrorForCode(f.ErrorCode); {
	case err == kerr.OffsetOutOfRange:
		r.count(err.Message)
		return r.reset(ctx, p)
	case err != nil:
		return chunk{}, r.leave(p, err)
	case f.DivergingEpoch.EndOffset >= 0:
		r.count("client:DATA_LOSS")
		return r.move(p, min(p.offset, f.DivergingEpoch.EndOffset), true), nil
	}
	end := f.HighWatermark
	if r.Settings.ReadCommitted() {
		end = f.LastStableOffset
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.unknown = 0
	c := chunk{partition: p, next: p.offset, start: f.LogStartOffset, known: r.At.At(p.number).End.Load(), aborts: newAborts(f.AbortedTransactions)}
	to, err := reachOf(f.RecordBatches, p.offset, r.byHeaders())
	if err != nil {
		return chunk{}, fmt.Errorf("offset %d: %w", to.next, err)
	}
	if to.next == p.offset && to.open && p.size == math.MaxInt32 && end > p.offset { // nothing follows the damaged batch
		to.bytes, to.next = f.RecordBatches, end
	}
	if to.next > p.offset {
		c.bytes, c.reach = to.bytes, to.next
		p.offset, p.epoch, p.size = to.next, to.epoch, int32(r.Settings.Int("max.partition.fetch.bytes"))
	} else if len(f.RecordBatches) > 0 { // one batch, or with that behind it, is larger than the limit
		if p.size == math.MaxInt32 {
			return chunk{}, fmt.Errorf("offset %d: %w", to.next, format.ErrMalformed)
		}
		p.size = int32(min(max(2*int64(p.size), int64(to.size)), math.MaxInt32))
	}
	r.At.SawEnd(p.number, max(end, p.offset))
	return c, nil
}

func (r *reader) byHeaders() bool { return r.Books != nil && r.Books[0].Headers() }

type reach struct {
	bytes []byte // of the batches that are counted
	next  int64  // offset behind them
	epoch int32  // of the last one, -1: not known
	size  int    // of the first batch that is not there whole, as far as it is known
	open  bool   // a damaged batch follows, and where it ends is not known
}

// reachOf returns the reach of an answer to a fetch from an offset. By headers, damaged batches are passed over, but the last.
func reachOf(b []byte, from int64, byHeaders bool) (to reach, err error) {
	to = reach{bytes: b, next: from, epoch: -1}
	for rest := b; len(rest) > 0; {
		var first format.Batch
		at := len(b) - len(rest)
		if first, rest, to.size, err = format.Cut(rest); first == nil {
			break
		}
		next, known := first.Next(), first.Sane()
		if byHeaders {
			next, known = first.Behind(rest)
		}
		switch {
		case !known && !byHeaders:
			return to, format.ErrMalformed
		case !known:
			to.bytes, to.size, to.open = b[:at], 0, true
			return to, nil
		case next > to.next:
			to.next, to.epoch = next, first.Epoch()
		}
	}
	return to, err
}

// leave takes the leader from a partition after an error. It returns errAgain if another may be looked for.
func (r *reader) leave(p *partition, err *kerr.Error) error {
	r.count(err.Message)
	r.leaders.forget(p.number)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == kerr.UnknownTopicOrPartition || err == kerr.UnknownTopicID {
		if p.unknown++; p.unknown < maxUnknown {
			return errAgain
		}
	}
	if reading.Fatal(err) {
		return err
	}
	return errAgain
}

// move sets the offset of the next fetch, and returns a chunk without records that sets the reader's position.
func (r *reader) move(p *partition, to int64, cut bool) chunk {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.offset, p.epoch = to, -1
	return chunk{partition: p, next: to, start: to, moved: true, cut: cut}
}

// reset goes on where the log begins, or at the end of one that was truncated below the position.
func (r *reader) reset(ctx context.Context, p *partition) (chunk, error) {
	starts, err := r.Cluster.LogStarts(ctx, r.Layout)
	if err != nil || starts[p.number] < 0 {
		return chunk{}, errAgain
	}
	if start := starts[p.number]; start > p.offset {
		return r.move(p, start, false), nil
	}
	ends, _, err := r.Cluster.LogEnds(ctx, r.Layout)
	if err != nil || ends[p.number] < 0 || ends[p.number] >= p.offset { // in range by now
		return chunk{}, errAgain
	}
	r.count("client:DATA_LOSS")
	return r.move(p, ends[p.number], true), nil
}
