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
	"github.com/kt-bench/kt/internal/format"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/reading"
)

// sampled is what the sample tells of a topic beside its records.
type sampled struct {
	control      int64     // ends of transactions, which take offsets too
	newest, read time.Time // of the records, and when that was read
	growing      bool
	refused      error                   // its records cannot be read
	damaged      bool                    // a batch was left out
	committed    map[int64][]transaction // by producer: those that were seen from their first record on, in each partition
}

// offsets are those of records, and those of ends of transactions.
type offsets struct{ records, ends int64 }

// A bin of offsets has so many milliseconds; so many offsets of a partition tell which share of them are records.
const bin, telling = 10_000, 200

// data returns the share of records in the offsets of a time, in milliseconds since 1970: as in the sample of that time, or of the
// partition, or of the topic, if there are enough. How many ends there are for a record differs in all of these.
func (p *partition) data(from, until int64) float64 {
	var near, all offsets
	for at, o := range p.counted {
		if all.add(o); at >= from/bin && at <= until/bin {
			near.add(o)
		}
	}
	for _, o := range []offsets{near, all} {
		if sum := o.records + o.ends; sum >= telling {
			return float64(o.records) / float64(sum)
		}
	}
	return p.topic.data()
}

func (o *offsets) add(more offsets) { o.records, o.ends = o.records+more.records, o.ends+more.ends }

// sampler reads the tails of logs.
type sampler struct {
	*view
	room *reading.Room
	from time.Time // of the first fetch
	read int64     // bytes
	away map[int32]bool
	open map[writer]transaction
}

// transaction is one of a producer in a partition. Its zero value is one whose first record was not read.
type transaction struct {
	first, last, end, records int64        // times in milliseconds since 1970
	whole                     bool         // its first record is the first that was read
	in                        []*partition // once it is committed
}

type writer struct {
	*partition
	producer int64
}

const (
	firstRecords, firstBytes = 20, 16 << 10 // of each topic, to know how large its records are: a batch of usual producers
	atOnce                   = 1 << 20      // bytes of an answer
	leastBytes               = 16 << 10     // of a partition that is read
	unpacking                = 256 << 20    // a quarter of it is the most that a batch may unpack to
	manyTransactions         = 1000         // parts of transactions of a producer in a topic that tell how long they take
)

var codecs = [8]string{"none", "gzip", "snappy", "lz4", "zstd"}

func newSampler(v *view) *sampler {
	return &sampler{view: v, room: reading.NewMemory(unpacking).NewRoom(), from: time.Now(), away: make(map[int32]bool), open: make(map[writer]transaction)}
}

// all reads a little of every topic, and then more of each by its traffic: the newest records, since brokers have those in memory.
func (s *sampler) all(ctx context.Context) {
	for _, t := range s.topics {
		longest := slices.MaxFunc(t.partitions, func(a, b *partition) int { return cmp.Compare(a.length(), b.length()) })
		s.fetch(ctx, longest, max(longest.start, longest.end-firstRecords), longest.end, firstBytes)
	}
	kafka.Pause(ctx, time.Until(s.from.Add(2*time.Second))) // for the logs to grow
	traffic, sum, lengths := make(map[*topic]float64), 0.0, 0.0
	s.list(ctx, s.alive(), latest, func(p *partition, o point) {
		bytes := float64(max(0, o.offset-p.end)) * p.topic.size()
		traffic[p.topic], sum, lengths = traffic[p.topic]+bytes, sum+bytes, lengths+p.length()*p.topic.size()
	})
	left := float64(s.Sample - s.read)
	for _, t := range s.topics {
		length := t.sum((*partition).length)
		share := length * t.size() / max(lengths, 1)
		if t.growing = traffic[t] > 0; sum > 0 {
			share = traffic[t] / sum
		}
		budget := left * (0.8*share + 0.2/float64(len(s.topics)))
		of := few(t.partitions, max(1, int(budget/leastBytes)))
		read := 0.0
		for _, p := range of {
			read += p.length()
		}
		for _, p := range of {
			bytes, until := budget*p.length()/max(read, 1), p.end
			if p.readFrom >= 0 {
				until = p.readFrom
			}
			s.fetch(ctx, p, max(p.start, until-int64(bytes/t.size())), until, int64(bytes))
		}
	}
}

// size returns the bytes that a record of the topic takes in the log.
func (t *topic) size() float64 {
	if t.Records == nil || t.Records.Count == 0 {
		return 1000
	}
	return float64(t.Records.Packed) / float64(t.Records.Count)
}

// fetch reads a part of a log, of so many bytes at most but for one batch. What a broker refuses is left out.
func (s *sampler) fetch(ctx context.Context, p *partition, from, until, bytes int64) {
	for from < until && bytes > 0 && s.read < s.Sample && !s.away[p.leader] && p.topic.refused == nil && !s.failed(p) {
		if s.SampleRate > 0 {
			kafka.Pause(ctx, time.Until(s.from.Add(time.Duration(float64(s.read)/float64(s.SampleRate)*float64(time.Second)))))
		}
		answer, err := s.client.Broker(int(p.leader)).Request(ctx, s.request(p, from, bytes))
		if err != nil {
			s.away[p.leader] = ctx.Err() == nil
			return
		}
		res := answer.(*kmsg.FetchResponse)
		if res.ErrorCode != 0 || len(res.Topics) == 0 || len(res.Topics[0].Partitions) == 0 {
			return
		}
		f := res.Topics[0].Partitions[0]
		if err := kerr.ErrorForCode(f.ErrorCode); err != nil {
			if kafka.IsAny(err, kerr.TopicAuthorizationFailed) {
				p.topic.refused = err
			}
			return // it was deleted, or has another leader
		}
		s.read, bytes = s.read+int64(len(f.RecordBatches)), bytes-int64(len(f.RecordBatches))
		before := from
		if from = s.cut(p, f.RecordBatches, from, until); from == before {
			return
		}
	}
}

// request returns a fetch without a session and a rack, so that it concerns no consumer. An answer has one batch at least.
func (s *sampler) request(p *partition, from, bytes int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	if bytes = min(bytes, s.Sample-s.read, atOnce); s.SampleRate > 0 {
		bytes = min(bytes, max(s.SampleRate/2, leastBytes))
	}
	req.SessionEpoch, req.MinBytes, req.MaxBytes = -1, 0, int32(bytes)
	t, f := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	f.Partition, f.FetchOffset, f.PartitionMaxBytes = p.id, from, int32(bytes)
	t.Topic, t.TopicID, t.Partitions = p.topic.Name, p.topic.id, append(t.Partitions, f)
	req.Topics = append(req.Topics, t)
	return req
}

// cut counts the whole batches of an answer that begin before an offset, and returns the offset behind them.
func (s *sampler) cut(p *partition, b []byte, from, until int64) (next int64) {
	for from < until {
		first, rest, _, err := format.Cut(b)
		if err != nil {
			p.topic.damaged = true
		}
		if first == nil {
			return from
		}
		if first.Base() >= until {
			return until
		}
		if b = rest; first.Next() > from {
			if p.readFrom < 0 {
				p.readFrom = first.Base()
			}
			from = first.Next()
			p.topic.damaged = !first.Intact() || !s.count(p, first) || p.topic.damaged
		}
	}
	return from
}

// count counts a batch and its records. It reports false for one that cannot be read.
func (s *sampler) count(p *partition, b format.Batch) bool {
	t, attributes, by := p.topic, b.Attributes(), writer{p, b.Producer()}
	transactional := attributes&format.TransactionalBit != 0
	if p.counted == nil {
		p.counted = make(map[int64]offsets)
	}
	if t.committed == nil {
		t.committed = make(map[int64][]transaction)
	}
	o := p.counted[b.Timestamp()/bin]
	if attributes&format.ControlBit != 0 {
		o.ends += int64(b.Count())
	} else {
		o.records += int64(b.Count())
	}
	p.counted[b.Timestamp()/bin] = o
	switch tx := s.open[by]; {
	case attributes&format.ControlBit != 0:
		if t.control += int64(b.Count()); tx.whole && tx.records > 0 {
			if tx.end, tx.in = b.Timestamp(), []*partition{p}; len(t.committed[by.producer]) < manyTransactions {
				t.committed[by.producer] = append(t.committed[by.producer], tx)
			}
		}
		s.open[by] = transaction{whole: true} // the next one
		return true
	case transactional:
		if tx.records == 0 {
			tx.first = b.Timestamp()
		}
		tx.last, tx.records = b.MaxTime(), tx.records+int64(b.Count())
		s.open[by] = tx
	}
	codec := attributes & format.CodecBits
	records, err := s.room.Decompress(b[format.HeadSize:], kgo.CompressionCodecType(codec))
	if err != nil {
		return false
	}
	if t.Records == nil {
		t.Records = &capture.Records{Keep: s.Payloads}
	}
	head := capture.Batch{Codec: codecs[codec], Count: b.Count(), Packed: len(b), Unpacked: format.HeadSize + len(records), Producer: by.producer, Transactional: transactional}
	if attributes&format.AppendTimeBit == 0 {
		head.Span = time.Duration(b.MaxTime()-b.Timestamp()) * time.Millisecond
	}
	t.Records.AddBatch(head)
	if at := time.UnixMilli(b.MaxTime()); at.After(t.newest) {
		t.newest, t.read = at, time.Now()
	}
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

// transaction returns how long transactions are open before they are committed, in the mean; 0: not known. A transaction has a part in
// each partition that it wrote to. Parts of a producer are of one transaction if their ends are closer together than they overlap, and
// records are taken to come evenly: a commit takes time too.
func (t *topic) transaction() time.Duration {
	var sum, n int64
	for _, all := range t.committed {
		slices.SortFunc(all, func(a, b transaction) int { return cmp.Compare(a.end, b.end) })
		for i := 0; i < len(all); n++ {
			x := all[i]
			for i++; i < len(all) && all[i].end-x.end < x.end-all[i].first && !slices.Contains(x.in, all[i].in[0]); i++ {
				x.first, x.last, x.records, x.in = min(x.first, all[i].first), max(x.last, all[i].last), x.records+all[i].records, append(x.in, all[i].in[0])
			}
			span := x.end - x.first
			if x.records > 1 {
				span = min(span, (x.last-x.first)*x.records/(x.records-1))
			}
			sum += max(0, span)
		}
	}
	return time.Duration(sum/max(n, 1)) * time.Millisecond
}

// data returns the part of the offsets that records take, and no ends of transactions.
func (t *topic) data() float64 {
	if t.Records == nil {
		return 1
	}
	return float64(t.Records.Count) / float64(max(1, t.control+t.Records.Count))
}

// ofNow is how far the time of a new record is from now at most, by clocks and slow producers.
const ofNow = time.Minute

// timeless returns why the times of a topic's records tell no rate; "": they do.
func (t *topic) timeless() string {
	age := t.read.Sub(t.newest)
	switch {
	case t.tiered:
		return "it keeps old records in another storage, which kt does not read"
	case !t.newest.IsZero() && age < -ofNow:
		return "its records have times in the future"
	case !t.newest.IsZero() && t.growing && age > ofNow:
		return "its records have old times, as of a topic that is filled from elsewhere"
	}
	return ""
}

// countProducers counts the producers that have written in the last minute in which any has.
func (v *view) countProducers(ctx context.Context) {
	const most = 10 // partitions of a topic
	for all := range slices.Chunk(v.topics, manyPartitions/most) {
		asked := make(kadm.TopicsSet)
		for _, t := range all {
			if t.Records == nil {
				continue
			}
			t.Producers = len(t.Records.Producers)
			for _, p := range few(t.partitions, most) {
				if !v.failed(p) {
					asked.Add(t.Name, p.id)
				}
			}
		}
		if len(asked) == 0 { // all would be meant
			continue
		}
		described, _ := v.admin.DescribeProducers(ctx, asked) // without the right to it, those of the sample count
		for name, of := range described {
			last, newest := make(map[int64]int64), int64(0)
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
			if n > 0 {
				v.byName[name].Producers = n
			}
		}
	}
}
