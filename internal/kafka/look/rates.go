package look

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/theme"
)

// point is a record of a log, with its time in milliseconds since 1970. Where there is none, its offset is the end.
type point struct{ offset, ms int64 }

// Times of Kafka's protocol that stand for offsets, and the partitions of a question: a broker answers it within milliseconds.
const latest, earliest, manyPartitions = -1, -2, 1000

// A new leader is chosen about 9 s after a broker has died: so often partitions are asked again, after such a time.
const electionTries, election = 2, 5 * time.Second

// list asks for the offsets at a time in milliseconds since 1970, or one of those above. Partitions whose leader is away are asked again.
func (v *view) list(ctx context.Context, ps []*partition, at int64, use func(*partition, point)) {
	for some := range slices.Chunk(ps, manyPartitions) {
		for tries := electionTries; len(some) > 0; tries-- {
			failed := v.ask(ctx, some, at, use)
			some = nil
			for p, err := range failed {
				if code := new(kerr.Error); tries > 0 && (!errors.As(err, &code) || code.Retriable && !kafka.IsAny(err, kerr.UnknownTopicOrPartition)) {
					some = append(some, p)
				} else if ctx.Err() == nil {
					v.fail(p, err)
				}
			}
			if len(some) > 0 && !kafka.Pause(ctx, election) {
				return
			}
			slices.SortFunc(some, func(a, b *partition) int {
				return cmp.Or(strings.Compare(a.topic.Name, b.topic.Name), cmp.Compare(a.id, b.id))
			})
		}
	}
}

// ask asks for offsets once, and returns the errors of the partitions that have no answer.
func (v *view) ask(ctx context.Context, ps []*partition, at int64, use func(*partition, point)) map[*partition]error {
	failed, req := make(map[*partition]error), kmsg.NewPtrListOffsetsRequest()
	for _, p := range ps {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.topic.Name {
			req.Topics = append(req.Topics, kmsg.ListOffsetsRequestTopic{Topic: p.topic.Name})
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, kmsg.ListOffsetsRequestTopicPartition{Partition: p.id, CurrentLeaderEpoch: -1, Timestamp: at})
	}
	for _, shard := range v.client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			for _, t := range shard.Req.(*kmsg.ListOffsetsRequest).Topics {
				for _, o := range t.Partitions {
					failed[v.partition(t.Topic, o.Partition)] = shard.Err
				}
			}
			continue
		}
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, o := range t.Partitions {
				p := v.partition(t.Topic, o.Partition)
				if err := kerr.ErrorForCode(o.ErrorCode); err != nil {
					failed[p] = err
				} else {
					use(p, point{o.Offset, o.Timestamp})
				}
			}
		}
	}
	return failed
}

func (v *view) findEnds(ctx context.Context) {
	v.list(ctx, v.alive(), earliest, func(p *partition, o point) { p.start = o.offset })
	v.list(ctx, v.alive(), latest, func(p *partition, o point) { p.end, p.at = o.offset, time.Now() })
}

// measureGrowth compares the ends of the logs now with those from before.
func (v *view) measureGrowth(ctx context.Context) {
	v.list(ctx, v.alive(), latest, func(p *partition, o point) {
		if p.end >= 0 {
			p.grown = max(0, float64(o.offset-p.end)/time.Since(p.at).Seconds())
		}
	})
}

// length returns the records that the log of a partition holds, with those that compaction has taken.
func (p *partition) length() float64 {
	if p.start < 0 {
		return 0
	}
	return float64(max(0, p.end-p.start))
}

func (t *topic) sum(of func(*partition) float64) (sum float64) {
	for _, p := range t.partitions {
		sum += of(p)
	}
	return sum
}

func growth(p *partition) float64 { return p.grown }

// growth returns the records/s of all partitions, of which some have failed: those are taken to be as the others.
func (t *topic) growth(failed int) float64 {
	if failed > 0 {
		t.Sure = capture.Estimated
	}
	return t.sum(func(p *partition) float64 { return p.grown * p.data(0, 0) }) * float64(len(t.partitions)) / float64(max(1, len(t.partitions)-failed))
}

// few returns n of the partitions, spread over all.
func few(all []*partition, n int) (chosen []*partition) {
	n = min(n, len(all))
	for i := range n {
		chosen = append(chosen, all[i*len(all)/n])
	}
	return chosen
}

// patience is how long offsets by time may be asked for. Where that is not enough, some partitions of each topic stand for all.
const patience = 15 * time.Second

// lookUp asks for the offsets at the begins of all stages.
func (v *view) lookUp(ctx context.Context) {
	var asked []*partition
	byTopic := make(map[*topic][]*partition)
	for _, p := range v.alive() {
		if p.length() > 0 && !p.topic.tiered {
			asked = append(asked, p)
			byTopic[p.topic] = append(byTopic[p.topic], p)
		}
	}
	bounds := v.bounds()
	begins := bounds[:len(bounds)-1]
	if budget := v.Lookups * int(patience/time.Second) / len(begins); v.Lookups > 0 && len(asked) > budget {
		length := 0.0
		for _, p := range asked {
			length += p.length()
		}
		asked = nil
		for _, t := range v.topics { // one of each, and the others by what the topics hold
			asked = append(asked, few(byTopic[t], 1+int(float64(max(0, budget-len(byTopic)))*t.sum((*partition).length)/length))...)
		}
	}
	v.say("asking for " + theme.Plural(len(asked)*len(begins), "offset", "offsets") + " by time")
	at := manyPartitions
	if v.Lookups > 0 {
		at = max(1, v.Lookups/5) // a fifth of a second
	}
	for i, begin := range begins {
		for some := range slices.Chunk(asked, at) {
			sent := time.Now()
			some = slices.DeleteFunc(slices.Clone(some), func(p *partition) bool { return v.failed(p) || len(p.bounds) < i })
			v.list(ctx, some, begin, func(p *partition, o point) {
				if o.offset < 0 {
					o.offset = p.end
				}
				p.bounds = append(p.bounds, o)
			})
			if v.Lookups > 0 && !kafka.Pause(ctx, time.Until(sent.Add(time.Duration(len(some))*time.Second/time.Duration(v.Lookups)))) {
				return
			}
		}
	}
}

// bounds returns the begins of the stages, oldest first, and the end of the last, in milliseconds since 1970.
func (v *view) bounds() (all []int64) {
	n := 1
	if v.Stage > 0 {
		n = int(v.Last / v.Stage)
	}
	for i := range n + 1 {
		all = append(all, max(0, v.began.Add(-v.Last/time.Duration(n)*time.Duration(n-i)).UnixMilli())) // below 0 they stand for others
	}
	return all
}

// settle makes the figures of a topic of what was found.
func (v *view) settle(t *topic) {
	failed, why := 0, ""
	for _, p := range t.partitions {
		if v.failed(p) {
			failed, why = failed+1, inWords(p.err)
		}
	}
	if failed == len(t.partitions) {
		v.notes = append(v.notes, "a topic did not answer ("+why+"): it has no load here, whatever it carries")
	} else if failed > 0 {
		t.note("%d of %d partitions did not answer (%s)", failed, len(t.partitions), why)
	}
	if t.Configs == nil {
		t.note("its settings may not be read")
	}
	if t.refused != nil {
		t.note("its records may not be read (%s): it is captured by its offsets alone", inWords(t.refused))
	}
	if t.damaged {
		t.note("a batch of it could not be read")
	}
	t.Transaction = t.transaction()
	bounds := v.bounds()
	t.Sure, t.Rates = capture.Measured, make([]float64, len(bounds)-1)
	why = t.timeless()
	share := growth
	switch {
	case v.Live > 0:
		t.Rates, t.Live = []float64{t.growth(failed)}, v.Live
	case why != "":
		t.Live = leastWatch
		t.note("%s: its rate was measured for %s while kt looked", why, leastWatch)
		for i := range t.Rates {
			t.Rates[i] = t.growth(failed)
		}
	default:
		share = t.byTime(bounds)
		if t.data() < 0.97 && float64(t.Records.Count) < t.Mean()*v.Last.Seconds()/2 { // else half of them were counted
			t.Sure = capture.Estimated
			t.note("ends of transactions take offsets too, and are left out by their share in the sample")
		}
	}
	sum := cmp.Or(t.sum(share), 1)
	for _, p := range t.partitions {
		t.Busiest = max(t.Busiest, share(p)/sum)
	}
}

// The end of a log is of the time of its newest record, where so many records more were due since: those are on their way to it, which
// takes 2,000 ms at most.
const onTheirWay, byChance = 2000, 10

const rateSince = ": its rate is of the time since"

// byTime sets the rates by the offsets at the bounds, and returns a measure of the traffic of a partition. Those that were not asked are
// taken to be as the others, by the lengths of their logs.
func (t *topic) byTime(bounds []int64) func(*partition) float64 {
	last := len(bounds) - 1
	now, began := bounds[last], bounds[last]
	asked := slices.DeleteFunc(slices.Clone(t.partitions), func(p *partition) bool { return len(p.bounds) < last })
	for _, p := range asked { // when the topic began: its first record, or before the first bound
		if first := p.bounds[0]; first.offset > p.start || p.start > 0 {
			began = bounds[0]
		} else {
			began = min(began, max(bounds[0], first.ms))
		}
	}
	live, told, since := t.sum(growth), now, ""
	weights := make([]float64, last)
	for _, p := range asked {
		from := began
		switch first := p.bounds[0]; {
		case first.ms > 0 && first.offset > 0 && (t.compacted || first.offset == p.start): // what was before is deleted
			from, since = max(bounds[0], first.ms), rateSince
		case last > 1: // nothing was before, which is a rate too
			from = bounds[0]
		default:
			since = rateSince
		}
		told = min(told, max(from, began))
		offsets := append(slices.Clone(p.bounds), point{offset: p.end})
		for i := range last {
			until := bounds[i+1]
			if i == last-1 {
				until = p.at.UnixMilli()
				if late := until - t.newest.UnixMilli(); late < onTheirWay && float64(late)*live > byChance*1000 {
					until -= late
				}
			}
			over := until - max(bounds[i], from)
			if last == 1 || over > (until-bounds[i])/20 {
				weights[i] += p.length()
				t.Rates[i] += float64(max(0, offsets[i+1].offset-offsets[i].offset)) / float64(max(over, 1000)) * 1000 * p.data(bounds[i], bounds[i+1])
			}
		}
	}
	told = now - told
	if len(asked) > 0 && told < (now-bounds[0])*95/100 {
		t.note("its log begins %s ago%s", theme.Duration(time.Duration(told/1000)*time.Second), since)
	}
	if t.scale(weights) {
		t.Sure = capture.Estimated
		t.note("its rate is of %d of %d partitions", len(asked), len(t.partitions))
		return (*partition).length
	}
	return func(p *partition) float64 {
		if len(p.bounds) == 0 {
			return 0
		}
		return float64(p.end - p.bounds[0].offset)
	}
}

// scale makes the rates of all partitions from those of the ones that tell of a stage, by the lengths of their logs. It reports whether some
// of the last stage are missing.
func (t *topic) scale(weights []float64) bool {
	length, answered := t.sum((*partition).length), 0.0
	for _, p := range t.partitions {
		if p.start >= 0 && p.end >= 0 {
			answered++
		}
	}
	length *= float64(len(t.partitions)) / max(1, answered)
	sum, known := 0.0, 0
	enough := slices.Max(weights) / 2 // where most of the log is deleted, a partition that is new tells nothing of the others
	for i, w := range weights {
		if w > 0 && w >= enough {
			t.Rates[i] *= length / w
			sum, known = sum+t.Rates[i], known+1
		}
	}
	for i, w := range weights {
		if known > 0 && (w == 0 || w < enough) {
			t.Rates[i], t.Sure = sum/float64(known), capture.Estimated
		}
	}
	if known < len(weights) && known > 0 {
		t.note("what was written before may be deleted: the first stages are taken to be as the rest in the mean")
	}
	return weights[len(weights)-1] < length
}
