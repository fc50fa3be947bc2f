package capture

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// payloads is what the records of a load are, while they are written.
type payloads struct {
	*file
	*Records
	payload plan.Payload
	asked   result.Asked
}

// unlike notes what kt does not make alike.
func (p *payloads) unlike(format string, args ...any) {
	p.asked.Unlike = append(p.asked.Unlike, fmt.Sprintf(format, args...))
}

// part returns a number of records as a share of all.
func (p *payloads) part(n int64) string { return theme.Percent(float64(n) / float64(p.Count)) }

// records writes what the records of topics are, and how their producers send them.
func (f *file) records(c *class) (err error) {
	t := c.middle()
	p := &payloads{file: f, Records: t.Records, payload: plan.Payload{Keys: plan.NoKeys}}
	p.asked.Rate = c.sum((*Topic).Mean)
	const telling = 1000 // records a partition: fewer are uneven by chance
	if partitions := float64(t.Partitions); t.Busiest*partitions > 1.2 && t.Mean()*f.Last.Seconds() > telling*partitions && (t.Records == nil || t.Records.keyKind() == string(plan.NoKeys)) {
		p.unlike("one of %d partitions has %s of the records, and kt spreads records without keys evenly", t.Partitions, theme.Percent(t.Busiest))
	}
	if size := f.size(t); t.Records == nil || t.Records.Batches == 0 || t.Records.Count == 0 {
		if size > 0 {
			f.set("record-size", max(int(size), 1), Estimated, "no record was read: bytes/s by records/s, of all topics where those of this one are not known")
		} else {
			f.set("record-size", plan.DefaultRecordSize, Assumed, "no record of any topic was read: kt's default")
		}
		p.unlike("nothing is known of the records but their number%s", map[bool]string{true: " and their mean size"}[t.Bytes > 0])
		p.asked.Bytes = c.sum(func(t *Topic) float64 { return t.Bytes })
		p.captured()
		return nil
	}
	if err = p.sizes(c.name); err != nil {
		return err
	}
	p.keysAndHeaders()
	p.asked.Bytes = c.sum(func(t *Topic) float64 { return t.Mean() * f.size(t) })
	p.asked.Batch, p.asked.Records = float64(p.Packed)/float64(p.Batches), float64(p.Count)/float64(p.Batches)
	if err = p.compression(); err != nil {
		return err
	}
	p.batches(c)
	p.captured()
	return nil
}

// sizes writes the sizes of values, or the file with those that were kept.
func (p *payloads) sizes(load string) (err error) {
	if p.Tombstones > 0 {
		p.unlike("%s of the records have no value, and kt writes one byte", p.part(p.Tombstones))
	}
	sizes := p.values.String()
	if p.payload.Size, err = plan.ParseSize(sizes); err != nil {
		return err
	}
	if len(p.Kept) == 0 || p.Payloads == nil {
		p.set("record-size", strconv.Quote(sizes), Measured, "values of %d records, %s bytes in the mean", p.Count, number(p.values.mean()))
		return nil
	}
	path, between := p.Payloads(load), "\n"
	if bytes.ContainsAny(bytes.Join(p.Kept, nil), "\r\n") {
		between = "\x00kt\x00"
		p.set("payload-delimiter", `'\x00kt\x00'`, "", "")
	}
	p.payloads[path] = bytes.Join(p.Kept, []byte(between))
	p.set("payload-file", strconv.Quote(path), Measured, "%d values as they are", len(p.Kept))
	return nil
}

// keysAndHeaders writes how keys are distributed, and headers of the mean number and size.
func (p *payloads) keysAndHeaders() {
	if n := p.Count - p.keys.n; n > 0 && n < p.Count {
		p.unlike("%s of the records have no key", p.part(n))
	}
	if p.keyKind() != "none" {
		count, zipf, known := p.keys.popularity()
		law := string(plan.RandomKeys)
		if zipf > 0 {
			law = fmt.Sprintf("zipf:%.2f", zipf)
		}
		p.payload.Keys, p.payload.KeyRange, p.asked.Zipf = plan.KeyDistribution(law), count, zipf
		p.set("key-distribution", law, Estimated, "popularity of keys in the sample")
		switch {
		case !known:
			p.set("record-key-range", count, Estimated, "a lower bound: %d records are too few to tell more", p.keys.n)
		case p.keys.exact(count):
			p.set("record-key-range", count, Measured, "distinct keys in %d records", p.keys.n)
		default:
			p.set("record-key-range", count, Estimated, "by the %.0f distinct keys in %d records", p.keys.distinct(), p.keys.n)
		}
		if known {
			p.asked.Keys = count
		}
		if mean, digits := p.keySizes.mean(), p.payload.MeanBytes()-p.payload.Size.Mean(); math.Abs(mean-digits) > 1 {
			p.unlike("keys have %.1f bytes in the mean, and the numbers that kt takes for keys %.1f", mean, digits)
		}
	}
	var headers []string
	for i := range int(math.Round(float64(p.Headers) / float64(p.Count))) {
		h := plan.Header{Key: "h" + strconv.Itoa(i+1), Value: strings.Repeat("v", int(p.HeaderValue/p.Headers))}
		h.Key += strings.Repeat("h", max(0, int(p.HeaderKey/p.Headers)-len(h.Key)))
		p.payload.Headers, headers = append(p.payload.Headers, h), append(headers, h.Key+"="+h.Value)
	}
	if len(headers) > 0 {
		p.set("header", words(headers), Measured, "number and sizes in the mean; they say nothing")
	}
}

// compression writes the codec, and how compressible values have to be.
func (p *payloads) compression() error {
	name := p.Codec()
	p.set("compression", name, Measured, "of %d of %d batches", p.Codecs[name], p.Batches)
	if name == "none" {
		return nil
	}
	if p.asked.Ratio = p.Ratio(); len(p.Kept) > 0 && p.Payloads != nil {
		return nil
	}
	constant, ratio, err := compressible(p.payload, p.Records)
	if err != nil {
		return err
	}
	p.set("compressibility", number(constant), Estimated, "batches of kt have the ratio %.2f then, and those that were read %.2f", ratio, p.Ratio())
	if math.Abs(ratio/p.Ratio()-1) > 0.05 {
		p.unlike("the compression ratio is %.2f, and batches of kt reach %.2f", p.Ratio(), ratio)
	}
	return nil
}

// batches writes the settings by which a producer fills batches, and its transactions.
func (p *payloads) batches(c *class) {
	const (
		normal = 16384 // batch.size of clients by default
		full   = 0.6   // batches of so much of the largest, in the mean, are sent because they are full
		alone  = 1.05  // records of a batch up to which most batches have one
	)
	span := float64(p.Span.Microseconds()) / float64(p.Batches) / 1000 // ms
	linger := span
	switch more := p.asked.Records - 1; {
	case p.asked.Records <= alone:
	case p.payload.Keys != plan.NoKeys && c.middle().Partitions > 1: // keys share records out by chance: so many more come while a batch waits
		linger = span / (1 + math.Expm1(-more)/more)
	default:
		linger += span / more / 2 // after the last record, half of the time between two
	}
	if size := nearly(p.Largest, normal); p.Largest > normal/2 && p.asked.Batch > full*float64(p.Largest) {
		linger = max(5, 3*linger)
		p.set("batch-size", size, Estimated, "the largest that was seen, and most are nearly as large")
	} else {
		p.set("batch-size", max(size, normal), Assumed, "batches were sent before they were full")
	}
	if p.asked.Records > alone {
		p.set("linger", int(math.Round(linger)), Estimated, "batches span %s ms in the mean; longer if full batches are usual", number(span))
	} else {
		p.set("linger", 5, Assumed, "batches of one record do not tell it; the default of Kafka's clients")
	}
	if len(p.Producers) == 0 {
		p.set("idempotence", `"false"`, Measured, "no batch has a producer id")
	}
	p.set("acks", "all", Assumed, "cannot be seen; the default of Kafka's clients")
	switch d := c.middle().Transaction; {
	case p.Transactions == 0:
	case 2*p.Transactions < p.Batches:
		p.unlike("%d of %d batches are of transactions", p.Transactions, p.Batches)
	default:
		p.set("transactional-id", c.name, Measured, "%d of %d batches are of transactions", p.Transactions, p.Batches)
		if d > 0 {
			p.set("transaction-duration-ms", max(d.Milliseconds(), 1), Estimated, "from the first record of a transaction to its end")
		} else {
			p.set("transaction-duration-ms", 1000, Assumed, "cannot be seen")
		}
	}
}

// captured writes what a replay of the load is compared with.
func (p *payloads) captured() {
	a, texts := &p.asked, []string{}
	for i, key := range []string{"rate", "bytes", "batch-bytes", "batch-records", "ratio", "keys", "zipf"} {
		if v := []float64{a.Rate, a.Bytes, a.Batch, a.Records, a.Ratio, float64(a.Keys), a.Zipf}[i]; v > 0 {
			texts = append(texts, key+": "+number(v))
		}
	}
	if len(a.Unlike) > 0 {
		texts = append(texts, "unlike: "+words(a.Unlike))
	}
	p.set("captured", "{"+strings.Join(texts, ", ")+"}", "", "what the result of kt run compares")
}
