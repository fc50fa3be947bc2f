package look

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/theme"
)

// Times of Kafka's protocol that stand for offsets.
const latest, earliest = -1, -2

// list asks for offsets: at a time in milliseconds since 1970, or one of those above.
func (v *view) list(ctx context.Context, ps []*partition, at int64, use func(*partition, point)) {
	if len(ps) == 0 || ctx.Err() != nil {
		return
	}
	req := kmsg.NewPtrListOffsetsRequest()
	for _, p := range ps {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.topic.Name {
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = p.topic.Name
			req.Topics = append(req.Topics, t)
		}
		asked := kmsg.NewListOffsetsRequestTopicPartition()
		asked.Partition, asked.Timestamp = p.id, at
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, asked)
	}
	for _, shard := range v.client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			for _, t := range shard.Req.(*kmsg.ListOffsetsRequest).Topics {
				for _, asked := range t.Partitions {
					if ctx.Err() == nil {
						v.fail(v.partition(t.Topic, asked.Partition), shard.Err)
					}
				}
			}
			continue
		}
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, answer := range t.Partitions {
				p := v.partition(t.Topic, answer.Partition)
				if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
					v.fail(p, err)
				} else {
					use(p, point{answer.Offset, answer.Timestamp})
				}
			}
		}
	}
}

// inParts calls f with a thousand partitions at most: a question of its size takes a broker milliseconds.
func inParts(ps []*partition, f func([]*partition)) {
	for some := range slices.Chunk(ps, 1000) {
		f(some)
	}
}

func (v *view) findBounds(ctx context.Context) {
	inParts(v.partitions(), func(some []*partition) {
		v.list(ctx, some, earliest, func(p *partition, o point) { p.start = o.offset })
		v.list(ctx, some, latest, func(p *partition, o point) { p.end, p.at = o.offset, time.Now() })
	})
}

// measureGrowth compares the ends now with those from before.
func (v *view) measureGrowth(ctx context.Context) {
	inParts(v.partitions(), func(some []*partition) {
		v.list(ctx, some, latest, func(p *partition, o point) {
			if over := time.Since(p.at); p.end >= 0 && over > 0 {
				p.grown, p.last = max(0, float64(o.offset-p.end)/over.Seconds()), o.offset
			}
		})
	})
}

// live returns the records/s while kt looked.
func (t *topic) live() (sum float64) {
	for _, p := range t.partitions {
		sum += p.grown
	}
	return sum
}

func (p *partition) length() int64 { return max(0, p.end-p.start) }

// most is how long offsets by time may be asked for. Where that is not enough, some partitions of each topic stand for all.
const most = 15 * time.Second

// lookUp asks for the offsets at the bounds of all stages.
func (v *view) lookUp(ctx context.Context, now time.Time) {
	byTopic := make(map[*topic][]*partition)
	for _, p := range v.partitions() {
		if p.length() > 0 && !p.topic.tiered {
			byTopic[p.topic] = append(byTopic[p.topic], p)
		}
	}
	stages := v.stages(now)
	stages = stages[:len(stages)-1]
	each := math.MaxInt
	if budget := v.Lookups * int(most/time.Second) / len(stages); budget > 0 {
		each = spread(byTopic, budget)
	}
	var asked []*partition
	for _, t := range v.topics {
		all := byTopic[t]
		for i := range min(each, len(all)) {
			asked = append(asked, all[i*len(all)/min(each, len(all))])
		}
	}
	v.say("asking for " + theme.Plural(len(asked)*len(stages), "offset", "offsets") + " by time")
	chunk := 1000
	if v.Lookups > 0 {
		chunk = min(chunk, max(1, v.Lookups/5))
	}
	next := time.Now()
	for i, at := range stages {
		for some := range slices.Chunk(asked, chunk) {
			if !kafka.Pause(ctx, time.Until(next)) {
				return
			}
			some = slices.DeleteFunc(slices.Clone(some), func(p *partition) bool { return !v.alive(p) || len(p.bounds) < i })
			v.list(ctx, some, at.UnixMilli(), func(p *partition, o point) {
				if o.offset < 0 {
					o = point{p.end, 0}
				}
				p.bounds = append(p.bounds, o)
			})
			if v.Lookups > 0 {
				next = next.Add(time.Duration(len(some)) * time.Second / time.Duration(v.Lookups))
			}
		}
	}
}

// spread returns how many partitions of each topic can be asked with a number of questions: at least one.
func spread(byTopic map[*topic][]*partition, budget int) (each int) {
	for each = 1; ; each++ {
		sum, more := 0, false
		for _, all := range byTopic {
			sum += min(each+1, len(all))
			more = more || len(all) > each
		}
		if !more || sum > budget {
			return each
		}
	}
}

// stages returns the bounds of the stages, oldest first. The last is now.
func (v *view) stages(now time.Time) (bounds []time.Time) {
	n := 1
	if v.Stage > 0 {
		n = int(v.Last / v.Stage)
	}
	for i := range n + 1 {
		bounds = append(bounds, now.Add(-v.Last*time.Duration(n-i)/time.Duration(n)))
	}
	return bounds
}

// history is what the log of a partition tells of the time between some bounds.
type history struct {
	from    time.Time // it tells nothing of what was before
	written []float64 // records up to each bound
}

// tell makes a history. existed reports whether the topic had records before the first bound; began is the time of its first record.
func (p *partition) tell(bounds []time.Time, existed bool, began time.Time) history {
	points := append(slices.Clone(p.bounds), point{p.end, p.at.UnixMilli()})
	first := points[0]
	h := history{from: bounds[0]}
	switch {
	case p.topic.compacted || first.offset <= p.start && p.start > 0:
		h.from = later(bounds[0], time.UnixMilli(first.ms))
	case first.offset <= p.start && !existed:
		h.from = later(bounds[0], began)
	}
	for i, o := range points {
		written := float64(o.offset)
		if behind := float64(o.ms - bounds[i].UnixMilli()); p.topic.compacted && i > 0 && i < len(bounds)-1 && o.ms > points[i-1].ms && points[i-1].ms > 0 {
			// Compaction has taken the record at the bound: those around it tell how many there were.
			written -= (written - float64(points[i-1].offset)) * min(1, max(0, behind)/float64(o.ms-points[i-1].ms))
		}
		h.written = append(h.written, written)
	}
	return h
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// settle makes the rates of a topic of what was found.
func (v *view) settle(t *topic, now time.Time) {
	v.tellFailures(t)
	if t.refused != nil {
		t.note("its records may not be read (%s): it is captured by its offsets alone", cause(t.refused))
	}
	if t.damaged {
		t.note("a batch of it could not be read")
	}
	if t.ended > 0 {
		t.Transaction = t.open / time.Duration(t.ended)
	}
	live, data := t.live(), 1-t.controlShare()
	bounds := v.stages(now)
	t.Sure, t.Rates = capture.Measured, make([]float64, len(bounds)-1)
	switch why := t.timeless(live); {
	case v.Live > 0:
		t.Rates, t.Live = []float64{live * data}, v.Live
	case why != "":
		t.Live = leastWatch
		for i := range t.Rates {
			t.Rates[i] = live * data
		}
		t.note("%s: its rate was measured while kt looked, for %s", why, leastWatch)
	default:
		v.byTime(t, bounds, data)
		return
	}
	t.Shares = shares(t, func(p *partition) float64 { return p.grown })
}

// byTime makes the rates of the offsets at the bounds. Partitions that were not asked are taken to be as the others, by their length.
func (v *view) byTime(t *topic, bounds []time.Time, data float64) {
	existed, began, asked := false, now(bounds), 0
	var length, told float64
	for _, p := range t.partitions {
		length += float64(p.length())
		if len(p.bounds) < len(bounds)-1 {
			continue
		}
		asked++
		told += float64(p.length())
		if first := p.bounds[0]; p.start > 0 || first.offset > p.start {
			existed = true
		} else if first.ms > 0 && time.UnixMilli(first.ms).Before(began) {
			began = time.UnixMilli(first.ms)
		}
	}
	histories := make(map[*partition]history)
	from := now(bounds)
	for _, p := range t.partitions {
		if len(p.bounds) == len(bounds)-1 {
			h := p.tell(bounds, existed, began)
			histories[p] = h
			if h.from.Before(from) {
				from = h.from
			}
		}
	}
	var unknown []int
	var sum float64
	for i := range t.Rates {
		weight := 0.0
		bounds := bounds[i : i+2]
		for p, h := range histories {
			end := bounds[1]
			if i == len(t.Rates)-1 {
				end = p.at
			}
			over := end.Sub(later(bounds[0], h.from))
			if over < end.Sub(bounds[0])/20 && len(t.Rates) > 1 {
				continue
			}
			weight += float64(p.length())
			t.Rates[i] += max(0, h.written[i+1]-h.written[i]) / max(over, time.Second).Seconds() * data
		}
		if weight == 0 {
			unknown = append(unknown, i)
			continue
		}
		t.Rates[i] *= length / weight
		sum += t.Rates[i]
	}
	if n := len(t.Rates) - len(unknown); n > 0 && len(histories) > 0 {
		for _, i := range unknown {
			t.Rates[i] = sum / float64(n)
		}
	}
	if length == 0 {
		return
	}
	if total := len(t.partitions); asked < total && told < length {
		t.Sure = capture.Estimated
		t.note("its rate is of %d of %d partitions", asked, total)
	}
	if since := now(bounds).Sub(from); since < v.Last*95/100 && len(histories) > 0 {
		t.note("its log tells of the last %s only, which its rate is of", theme.Duration(since.Round(time.Second)))
	}
	t.Shares = shares(t, func(p *partition) float64 {
		if h, ok := histories[p]; ok && told == length {
			return h.written[len(h.written)-1] - h.written[0]
		}
		return float64(p.length())
	})
}

func now(bounds []time.Time) time.Time { return bounds[len(bounds)-1] }

// shares returns the share of each partition; nil: there is nothing to share.
func shares(t *topic, of func(*partition) float64) (all []float64) {
	sum := 0.0
	for _, p := range t.partitions {
		all = append(all, of(p))
		sum += all[len(all)-1]
	}
	if sum == 0 {
		return nil
	}
	for i := range all {
		all[i] /= sum
	}
	return all
}

// tellFailures notes which partitions could not be asked.
func (v *view) tellFailures(t *topic) {
	n, why := 0, ""
	for _, p := range t.partitions {
		if p.err != nil {
			n, why = n+1, cause(p.err)
		} else if v.gone[p.leader] {
			n, why = n+1, "its broker does not answer"
		}
	}
	if n > 0 {
		t.note("%d of %d partitions did not answer (%s)", n, len(t.partitions), why)
	}
}
