package result

import (
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// partitions returns a row for each partition with counts, or with consumer lag since the warm-up.
func (f *Fold) partitions(w *stats.Window) []PartitionRow {
	seconds := spanOf(w).Seconds()
	warmup := &f.total[stats.Warmup]
	rows := []PartitionRow{}
	ids := slices.Concat(w.PartitionIDs(), warmup.PartitionIDs())
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		p, known := w.Partitions[id]
		if before := warmup.Partitions[id]; !known && before.ConsumerLag == 0 && before.Deleted == 0 {
			continue
		}
		topic, number := f.header.Environment.Place(id)
		level := f.consumerLag.partitions[id]
		row := PartitionRow{
			ID: number, Leader: -1, Records: p.Records, MiB: float64(p.Bytes) / mib,
			ServiceMeanUS: (p.ServiceSum / time.Duration(max(1, p.Records))).Microseconds(),
			ServiceP99US:  p.Service.ValueAtQuantile(0.99, p.ServiceMax).Microseconds(),
			ServiceMaxUS:  p.ServiceMax.Microseconds(),
			Consumed:      p.Consumed, ConsumedMiB: float64(p.ConsumedBytes) / mib,
			ConsumerLag: lagOf(p.ConsumerLag+warmup.Partitions[id].ConsumerLag, f.consumerLag.lag == NotKnown), ConsumerLagSlope: level.fit.slope(), LongestGap: gapOf(p.Outage),
			Deleted: p.Deleted + warmup.Partitions[id].Deleted,
		}
		if len(f.header.Environment.Topics) > 0 {
			row.Topic = topic.Name
		}
		if leader, ok := topic.Leaders[number]; ok {
			row.Leader = leader
		}
		if f.together == nil {
			rate := per(float64(p.Records), seconds)
			row.RecordsPerSecond = &rate
		}
		rows = append(rows, row)
	}
	return rows
}

// brokers returns a row for each broker that was asked.
func (f *Fold) brokers(w *stats.Window) []BrokerRow {
	addrs := make(map[int32]string)
	for _, b := range f.header.Environment.Cluster.Brokers {
		addrs[b.ID] = b.Addr
	}
	rows := []BrokerRow{}
	for _, id := range w.BrokerIDs() {
		b := w.Brokers[id]
		row := BrokerRow{
			ID: id, Addr: addrs[id], Requests: b.Requests, Failed: b.Failed, Records: b.Records,
			MiB: float64(b.WireBytes) / mib, Latency: LatencyOf(&b.Latency), ThrottleMS: b.Throttle.Milliseconds(),
		}
		if t := &b.Fetch; !t.IsZero() {
			row.Fetch = &BrokerFetch{
				Requests: t.Requests, Failed: t.Failed, Records: t.Records, MiB: float64(t.WireBytes) / mib,
				Latency: LatencyOf(&t.Latency), ThrottleMS: t.Throttle.Milliseconds(),
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// batchesOf returns the record batches that requests carried.
func batchesOf(t *stats.Traffic) Batches {
	n, bytes, sent := float64(t.Batches), float64(t.Bytes), float64(t.WireBytes)
	return Batches{
		Count: t.Batches, RecordsMean: per(float64(t.Records), n), BytesMean: per(bytes, n),
		CompressionRatio: per(bytes, sent), CompressedShare: per(sent, bytes),
	}
}

// per returns a quotient, 0 where the divisor is.
func per(sum, of float64) float64 {
	if of <= 0 {
		return 0
	}
	return sum / of
}
