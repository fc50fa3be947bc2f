package look

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/format"
	"github.com/kt-bench/kt/internal/kafka/reading"
)

// sampled is what the sample tells of a topic beside its records.
type sampled struct {
	control int64     // ends of transactions, which take offsets too
	newest  time.Time // of the records
	read    time.Time // when it was read
	refused error     // its records cannot be read
	damaged bool      // a batch was left out
	ended   int       // transactions
	open    time.Duration
}

// sampler reads the tails of logs.
type sampler struct {
	*view
	room  *reading.Room
	began time.Time
	read  int64
	begun map[producer]int64 // the time of the first record of an open transaction; 0: it was not read
}

type producer struct {
	*partition
	id int64
}

// want is a part of a log to read.
type want struct {
	p           *partition
	from, until int64
	bytes       int64 // at most, but for the first batch
}

const (
	firstRecords, firstBytes = 20, 16 << 10 // of each topic, to know how large its records are: a batch of usual producers
	atOnce                   = 1 << 20      // bytes of an answer
	fewest                   = 16 << 10     // bytes of a partition that is read
	together                 = 16           // partitions in a request
	unpacking                = 256 << 20    // a quarter of it is the most that a batch may unpack to
)

var codecs = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

func (v *view) newSampler() *sampler {
	return &sampler{view: v, room: reading.NewMemory(unpacking).NewRoom(), began: time.Now(), begun: make(map[producer]int64)}
}

// all reads a little of every topic, and then more of each by its traffic: the newest records, since brokers have those in memory.
func (s *sampler) all(ctx context.Context) {
	var wants []*want
	for _, t := range s.topics {
		if p := slices.MaxFunc(append(t.partitions, &partition{}), func(a, b *partition) int { return cmp.Compare(a.length(), b.length()) }); p.length() > 0 {
			wants = append(wants, &want{p, max(p.start, p.end-firstRecords), p.end, firstBytes})
			p.readFrom = wants[len(wants)-1].from
		}
	}
	s.fetch(ctx, wants)
	kafka.Pause(ctx, time.Until(s.began.Add(2*time.Second))) // for the ends to grow
	weights := make(map[*topic]float64)
	live, lengths := 0.0, 0.0
	inParts(s.partitions(), func(some []*partition) {
		s.list(ctx, some, latest, func(p *partition, o point) {
			grown := float64(max(0, o.offset-p.end)) * p.topic.size()
			weights[p.topic] += grown
			live += grown
			lengths += float64(p.length()) * p.topic.size()
		})
	})
	left := float64(s.Sample - s.read)
	wants = nil
	for _, t := range s.topics {
		length := 0.0
		for _, p := range t.partitions {
			length += float64(p.length())
		}
		share := length * t.size() / max(lengths, 1)
		if live > 0 {
			share = weights[t] / live
		}
		if t.Records == nil || t.refused != nil || length == 0 {
			continue
		}
		budget := left * (0.8*share + 0.2/float64(len(s.topics)))
		n := min(len(t.partitions), max(1, int(budget/fewest)))
		for i := range n {
			p := t.partitions[i*len(t.partitions)/n]
			bytes := budget * float64(p.length()) / length * float64(len(t.partitions)) / float64(n)
			until := p.end
			if p.readFrom > 0 {
				until = p.readFrom
			}
			if from := max(p.start, until-int64(bytes/t.size())); bytes > 0 && from < until {
				wants = append(wants, &want{p, from, until, int64(bytes)})
			}
		}
	}
	s.fetch(ctx, wants)
}

// again reads the newest records of topics whose times seem to be old: they may have begun to grow only now.
func (s *sampler) again(ctx context.Context) {
	var wants []*want
	for _, t := range s.topics {
		if t.timeless(t.live()) == "" || t.tiered {
			continue
		}
		p := slices.MaxFunc(t.partitions, func(a, b *partition) int { return cmp.Compare(a.grown, b.grown) })
		wants = append(wants, &want{p, max(p.end, p.last-firstRecords), p.last, firstBytes})
	}
	s.fetch(ctx, wants)
}

// size returns the bytes that a record of the topic takes in the log.
func (t *topic) size() float64 {
	if t.Records == nil || t.Records.Count == 0 {
		return 1000
	}
	return float64(t.Records.Packed) / float64(t.Records.Count)
}

// fetch reads parts of logs, each from its start on. A part is over with its bytes, its end, or the first answer without a batch.
func (s *sampler) fetch(ctx context.Context, wants []*want) {
	for moved := 0; len(wants) > 0 && s.read < s.Sample; {
		if s.SampleRate > 0 {
			kafka.Pause(ctx, time.Until(s.began.Add(time.Duration(float64(s.read)/float64(s.SampleRate)*float64(time.Second)))))
		}
		if ctx.Err() != nil {
			return
		}
		first := wants[0]
		var asked, rest []*want
		for _, w := range wants {
			switch {
			case w.p.topic.refused != nil || !s.alive(w.p):
			case w.p.leader == first.p.leader && len(asked) < together:
				asked = append(asked, w)
			default:
				rest = append(rest, w)
			}
		}
		wants = rest
		if len(asked) == 0 {
			continue
		}
		answer, err := s.client.Broker(int(asked[0].p.leader)).Request(ctx, s.request(asked))
		if err == nil {
			err = kerr.ErrorForCode(answer.(*kmsg.FetchResponse).ErrorCode)
		}
		if err != nil {
			if moved++; moved > 3 || !s.findLeaders(ctx) {
				s.fail(asked[0].p, err)
			} else {
				wants = append(asked, wants...)
			}
			continue
		}
		wants = append(wants, s.accept(asked, answer.(*kmsg.FetchResponse))...)
	}
}

// request returns a fetch without a session and a rack: a group that reads the same is not disturbed.
func (s *sampler) request(wants []*want) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.SessionEpoch, req.MinBytes, req.MaxBytes = -1, 0, int32(min(atOnce, s.Sample-s.read))
	if s.SampleRate > 0 {
		req.MaxBytes = int32(min(int64(req.MaxBytes), max(s.SampleRate/2, fewest)))
	}
	for _, w := range wants {
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID = w.p.topic.Name, w.p.topic.id
		f := kmsg.NewFetchRequestTopicPartition()
		f.Partition, f.FetchOffset, f.PartitionMaxBytes = w.p.id, w.from, int32(min(int64(req.MaxBytes), w.bytes))
		if n := len(req.Topics); n > 0 && req.Topics[n-1].TopicID == t.TopicID && req.Topics[n-1].Topic == t.Topic {
			req.Topics[n-1].Partitions = append(req.Topics[n-1].Partitions, f)
			continue
		}
		t.Partitions = append(t.Partitions, f)
		req.Topics = append(req.Topics, t)
	}
	return req
}

// accept counts what an answer has, and returns what is still wanted: a part that was too large for the rest of an answer is the
// first of the next one, which holds a batch of it whatever its size.
func (s *sampler) accept(asked []*want, answer *kmsg.FetchResponse) (left []*want) {
	byID := make(map[[16]byte]*topic)
	for _, w := range asked {
		byID[w.p.topic.id] = w.p.topic
	}
	for _, t := range answer.Topics {
		of := s.byName[t.Topic]
		if of == nil {
			of = byID[t.TopicID]
		}
		for _, f := range t.Partitions {
			i := slices.IndexFunc(asked, func(w *want) bool { return w.p.topic == of && w.p.id == f.Partition })
			if i < 0 {
				continue
			}
			w := asked[i]
			s.read += int64(len(f.RecordBatches))
			if err := kerr.ErrorForCode(f.ErrorCode); err != nil {
				if kafka.IsAny(err, kerr.TopicAuthorizationFailed) {
					of.refused = err
				}
				continue // others had no leader, or deleted what is wanted, meanwhile
			}
			before := w.from
			s.cut(w, f.RecordBatches)
			switch {
			case w.from == before && i > 0:
				left = slices.Insert(left, 0, w)
			case w.from > before && w.from < w.until && w.bytes > 0:
				left = append(left, w)
			}
		}
	}
	return left
}

// cut counts the batches of an answer, and moves the part behind them.
func (s *sampler) cut(w *want, b []byte) {
	for len(b) > 0 && w.from < w.until {
		first, rest, _, err := format.Cut(b)
		if err != nil {
			w.p.topic.damaged, w.from = true, w.until
		}
		if first == nil {
			return
		}
		if b = rest; first.Base() >= w.until {
			w.from = w.until
			return
		}
		w.bytes -= int64(len(first))
		if next := first.Next(); next > w.from {
			w.from = next
			if !first.Intact() || !s.count(w.p, first) {
				w.p.topic.damaged = true
			}
		}
	}
}

// count counts the records of a batch. It reports false for one that cannot be read.
func (s *sampler) count(p *partition, b format.Batch) bool {
	t, attributes := p.topic, b.Attributes()
	of := producer{p, b.Producer()}
	if attributes&format.ControlBit != 0 {
		t.control += int64(b.Count())
		if begun := s.begun[of]; begun > 0 && b.Timestamp() >= begun {
			t.ended, t.open = t.ended+1, t.open+time.Duration(b.Timestamp()-begun)*time.Millisecond
		}
		s.begun[of] = -1 // the next batch begins one
		return true
	}
	if attributes&format.TransactionalBit != 0 && s.begun[of] < 0 {
		s.begun[of] = b.Timestamp()
	}
	codec := int(attributes & format.CodecBits)
	if codec >= len(codecs) {
		return false
	}
	records, err := s.room.Decompress(b[format.HeadSize:], kgo.CompressionCodecType(codec))
	if err != nil {
		return false
	}
	if t.Records == nil {
		t.Records = &capture.Records{Keep: s.Payloads}
	}
	head := capture.Batch{
		Codec: codecs[codec], Count: b.Count(), Packed: len(b), Unpacked: format.HeadSize + len(records),
		Producer: b.Producer(), Transactional: attributes&format.TransactionalBit != 0,
	}
	if attributes&format.AppendTimeBit == 0 {
		head.Span = time.Duration(b.MaxTime()-b.Timestamp()) * time.Millisecond
	}
	if at := time.UnixMilli(b.MaxTime()); at.After(t.newest) {
		t.newest = at
	}
	t.read = time.Now()
	t.Records.AddBatch(head)
	var r format.Record
	for range b.Count() {
		var ok bool
		if records, ok = format.CutRecord(records, &r); !ok {
			return false
		}
		made := capture.Record{Key: r.Key, Value: r.Value}
		for key, value := range format.Headers(r.Headers) {
			made.Headers, made.HeaderKey, made.HeaderValue = made.Headers+1, made.HeaderKey+len(key), made.HeaderValue+len(value)
		}
		t.Records.Add(made)
	}
	return true
}

// findLeaders asks who leads the partitions now. It reports whether a leader has changed.
func (s *sampler) findLeaders(ctx context.Context) (moved bool) {
	all, err := s.admin.ListTopics(ctx)
	if err != nil {
		return false
	}
	for _, t := range s.topics {
		for _, p := range t.partitions {
			if d, ok := all[t.Name].Partitions[p.id]; ok && d.Leader >= 0 && d.Leader != p.leader {
				p.leader, moved = d.Leader, true
			}
		}
	}
	return moved
}

// controlShare returns the part of the offsets that ends of transactions take.
func (t *topic) controlShare() float64 {
	if t.control == 0 || t.Records == nil {
		return 0
	}
	return float64(t.control) / float64(t.control+t.Records.Count)
}

// A record is of now if its time is no further from that than clocks and slow producers are.
const ofNow = time.Minute

// timeless returns why the times of a topic's records tell no rate; "": they do. live is the rate by offsets while kt looked.
func (t *topic) timeless(live float64) string {
	age := t.read.Sub(t.newest)
	switch {
	case t.tiered:
		return "it keeps old records in another storage, which kt does not read"
	case t.newest.IsZero():
	case age < -ofNow:
		return "its records have times in the future"
	case live > 0 && age > ofNow+time.Duration(3/live*float64(time.Second)):
		return "its records have old times, as of a topic that is filled from elsewhere"
	}
	return ""
}

// producers counts the producers that have written in the last minute in which any has.
func (v *view) producers(ctx context.Context) {
	const most = 10 // partitions of a topic
	var asked []*partition
	for _, t := range v.topics {
		if t.Records == nil {
			continue
		}
		n := min(most, len(t.partitions))
		for i := range n {
			asked = append(asked, t.partitions[i*len(t.partitions)/n])
		}
		t.Producers = len(t.Records.Producers)
	}
	inParts(asked, func(some []*partition) {
		set := make(kadm.TopicsSet)
		for _, p := range some {
			if v.alive(p) {
				set.Add(p.topic.Name, p.id)
			}
		}
		if len(set) == 0 {
			return
		}
		described, _ := v.admin.DescribeProducers(ctx, set) // without the right, those of the sample count
		for name, of := range described {
			newest, last := int64(0), make(map[int64]int64)
			for _, p := range of.Partitions.SortedProducers() {
				last[p.ProducerID] = max(last[p.ProducerID], p.LastTimestamp)
				newest = max(newest, p.LastTimestamp)
			}
			n := 0
			for _, at := range last {
				if at >= newest-ofNow.Milliseconds() {
					n++
				}
			}
			if t := v.byName[name]; n > 0 {
				t.Producers = n
			}
		}
	})
}
