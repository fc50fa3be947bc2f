package capture

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// records writes what the records of topics are, and how their producers send them.
func (f *file) records(c *class, producers int) error {
	t, r := c.topics[0], c.topics[0].Records
	asked := result.Asked{Rate: c.sum((*Topic).Mean), Bytes: c.sum(func(t *Topic) float64 { return t.Bytes })}
	if r == nil || r.Count == 0 || r.Batches == 0 {
		if mean := t.Bytes / math.Max(t.Mean(), 1e-9); mean >= 1 {
			f.set("record-size", strconv.Itoa(int(mean)), how(Estimated, "bytes/s by records/s"))
			asked.Unlike = append(asked.Unlike, "of the records, only the mean size is known")
		} else {
			f.set("record-size", strconv.Itoa(plan.DefaultRecordSize), how(Assumed, "no record was read"))
			asked.Unlike = append(asked.Unlike, "nothing is known of the records")
		}
		f.captured(asked)
		return nil
	}
	p := plan.Payload{Kind: plan.Letters, Keys: plan.NoKeys}
	if err := f.values(c, &p, &asked); err != nil {
		return err
	}
	f.keysOf(r, &p, &asked)
	f.headers(r, &p, &asked)
	asked.Batch, asked.Records = float64(r.Packed)/float64(r.Batches), float64(r.Count)/float64(r.Batches)
	if asked.Bytes == 0 {
		asked.Bytes = c.sum(func(t *Topic) float64 { return t.traffic(asked.Batch / asked.Records) })
	}
	if err := f.compression(r, p, &asked); err != nil {
		return err
	}
	f.batches(r)
	if len(r.Producers) == 0 {
		f.set("idempotence", `"false"`, how(Measured, "no batch has a producer id"))
	}
	f.set("acks", "all", how(Assumed, "cannot be seen; the default of Kafka's clients"))
	f.transactions(c, r, &asked)
	if t.Shares != nil && p.Keys == plan.NoKeys {
		most := 0.0
		for _, share := range t.Shares {
			most = math.Max(most, share)
		}
		if most*float64(t.Partitions) > 1.2 {
			asked.Unlike = append(asked.Unlike, fmt.Sprintf("one of %d partitions has %s of the records, and kt spreads records without keys evenly", t.Partitions, share(int64(1e4*most), 1e4)))
		}
	}
	f.captured(asked)
	return nil
}

// values writes the sizes of values, or the file with those that were kept.
func (f *file) values(c *class, p *plan.Payload, asked *result.Asked) (err error) {
	r := c.topics[0].Records
	if r.Tombstones > 0 {
		asked.Unlike = append(asked.Unlike, share(r.Tombstones, r.Count)+" of the records have no value, and kt writes one byte")
	}
	sizes := r.values.String()
	if p.Size, err = plan.ParseSize(sizes); err != nil {
		return err
	}
	if f.Payloads != nil && len(r.Kept) > 0 {
		path, between := f.Payloads(c.name), "\n"
		if bytes.ContainsAny(bytes.Join(r.Kept, nil), "\r\n") {
			between = "\x00kt\x00"
			f.set("payload-delimiter", `'\0kt\0'`)
		}
		f.payloads[path] = bytes.Join(r.Kept, []byte(between))
		f.set("payload-file", word(path), how(Measured, "%d values as they are", len(r.Kept)))
		return nil
	}
	f.set("record-size", word(sizes), how(Measured, "values of %d records, %s bytes in the mean", r.Count, number(r.values.mean())))
	return nil
}

// keysOf writes how keys are distributed.
func (f *file) keysOf(r *Records, p *plan.Payload, asked *result.Asked) {
	if r.keyKind() == "none" {
		if r.keys.n > 0 {
			asked.Unlike = append(asked.Unlike, share(r.keys.n, r.Count)+" of the records have a key, and those of kt have none")
		}
		return
	}
	count, zipf, known := r.keys.popularity()
	law := "random"
	if zipf > 0 {
		law = "zipf:" + strconv.FormatFloat(zipf, 'f', 2, 64)
	}
	asked.Zipf = zipf
	p.Keys, p.KeyRange = plan.KeyDistribution(law), count
	f.set("key-distribution", word(law), how(Estimated, "popularity of keys in the sample"))
	if known {
		asked.Keys = count
		f.set("record-key-range", strconv.FormatInt(count, 10), how(Measured, "distinct keys in %d records", r.keys.n))
	} else {
		f.set("record-key-range", strconv.FormatInt(count, 10), how(Estimated, "a lower bound: %d records are too few to tell more", r.keys.n))
	}
	digits := p.MeanBytes() - p.Size.Mean()
	if mean := r.keySizes.mean(); math.Abs(mean-digits) > 1 {
		asked.Unlike = append(asked.Unlike, fmt.Sprintf("keys have %s bytes in the mean, and the numbers that kt takes for keys have %s", number(mean), number(digits)))
	}
	if r.keys.n < r.Count {
		asked.Unlike = append(asked.Unlike, share(r.Count-r.keys.n, r.Count)+" of the records have no key")
	}
}

// headers writes headers of the mean number and size.
func (f *file) headers(r *Records, p *plan.Payload, asked *result.Asked) {
	if r.Headers == 0 {
		return
	}
	key, value := int(r.HeaderKey/r.Headers), int(r.HeaderValue/r.Headers)
	var texts []string
	for i := range int(math.Round(float64(r.Headers) / float64(r.Count))) {
		name := "h" + strconv.Itoa(i+1)
		h := plan.Header{Key: name + strings.Repeat("h", max(0, key-len(name))), Value: strings.Repeat("v", value)}
		p.Headers = append(p.Headers, h)
		texts = append(texts, h.Key+"="+h.Value)
	}
	if len(texts) > 0 {
		f.set("header", words(texts), how(Measured, "number and sizes in the mean"))
	}
	asked.Unlike = append(asked.Unlike, "headers differ from record to record, and those of kt are alike")
}

// compression writes the codec, and how compressible values have to be.
func (f *file) compression(r *Records, p plan.Payload, asked *result.Asked) error {
	name := r.Codec()
	f.set("compression", word(name), how(Measured, "of %s of the batches", share(r.Codecs[name], r.Batches)))
	if name == "none" {
		return nil
	}
	if asked.Ratio = r.Ratio(); f.Payloads != nil && len(r.Kept) > 0 {
		return nil
	}
	constant, ratio, err := compressible(p, r)
	if err != nil {
		return err
	}
	f.set("compressibility", number(constant), how(Estimated, "batches of kt have the ratio %.2f then; it was %.2f", ratio, r.Ratio()))
	const alike = 0.05
	if math.Abs(ratio-r.Ratio()) > alike*r.Ratio() {
		asked.Unlike = append(asked.Unlike, fmt.Sprintf("the compression ratio is %.2f, and batches of kt reach %.2f", r.Ratio(), ratio))
	}
	return nil
}

// batches writes the settings by which a producer fills batches.
func (f *file) batches(r *Records) {
	const (
		normal = 16384 // batch.size of clients by default
		full   = 0.6   // batches of so much of the largest, in the mean, are sent because they are full
	)
	mean, span := float64(r.Packed)/float64(r.Batches), float64(r.Span.Microseconds())/float64(r.Batches)/1000
	linger := span
	if more := float64(r.Count)/float64(r.Batches) - 1; more > 0.05 {
		linger += span / more / 2 // after the last record, half of the time between two
	}
	why := how(Estimated, "batches span %s ms in the mean", number(span))
	switch {
	case r.Largest > normal/2 && mean > full*float64(r.Largest):
		f.set("batch-size", strconv.Itoa(nearNormal(r.Largest, normal)), how(Estimated, "most batches have %s bytes or more, so they were full", number(full*float64(r.Largest))))
		linger, why = max(5, 3*linger), why+", and were full before they had to be sent"
	default:
		f.set("batch-size", strconv.Itoa(max(nearNormal(r.Largest, normal), normal)), how(Assumed, "batches were sent before they were full: the default, or the largest that was seen"))
	}
	f.set("linger", strconv.Itoa(int(math.Round(linger))), why)
}

// nearNormal returns the usual size in place of one that is close below it.
func nearNormal(size, normal int) int {
	if size > normal*9/10 && size < normal*21/20 {
		return normal
	}
	return size
}

// transactions writes that a topic is written in transactions.
func (f *file) transactions(c *class, r *Records, asked *result.Asked) {
	if 2*r.Transactions < r.Batches || r.Transactions == 0 {
		if r.Transactions > 0 {
			asked.Unlike = append(asked.Unlike, share(r.Transactions, r.Batches)+" of the batches are of transactions")
		}
		return
	}
	f.set("transactional-id", word(c.name), how(Measured, "%s of the batches are of transactions", share(r.Transactions, r.Batches)))
	if d := c.topics[0].Transaction; d > 0 {
		f.set("transaction-duration-ms", strconv.FormatInt(max(d.Milliseconds(), 1), 10), how(Estimated, "from the first record of a transaction to its end"))
	} else {
		f.set("transaction-duration-ms", "1000", how(Assumed, "cannot be seen"))
	}
}

// captured writes what a replay of the load is compared with.
func (f *file) captured(a result.Asked) {
	texts := []string{"rate: " + number(a.Rate)}
	for _, of := range []struct {
		key   string
		value float64
	}{
		{"bytes", a.Bytes}, {"batch-bytes", a.Batch}, {"batch-records", a.Records}, {"ratio", a.Ratio}, {"keys", float64(a.Keys)}, {"zipf", a.Zipf},
	} {
		if of.value > 0 {
			texts = append(texts, of.key+": "+number(of.value))
		}
	}
	if len(a.Unlike) > 0 {
		texts = append(texts, "unlike: "+words(a.Unlike))
	}
	f.set("captured", "{"+strings.Join(texts, ", ")+"}", "what kt run compares itself with")
}
