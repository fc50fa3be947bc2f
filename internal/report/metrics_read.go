package report

import (
	"fmt"

	"github.com/kt-bench/kt/internal/result"
)

// consumerMetrics returns what the Java consumer calls its metrics, as far as kt knows
// them.
func consumerMetrics(r result.Result) []metric {
	client := setting(r.ConsumerConfig, "client.id")
	var rows []metric
	group := func(name string) func(string, float64) {
		return func(metricName string, v float64) {
			rows = append(rows, metric{fmt.Sprintf("%s:%s:{client-id=%s}", name, metricName, client), v})
		}
	}
	fetch := group("consumer-fetch-manager-metrics")
	f := r.Fetch
	if f == nil {
		f = &result.Fetch{} // the file was cut off before anything was read
	}
	if f.RecordsPerSecond > 0 { // less than a second has none
		fetch("bytes-consumed-rate", f.MiBPerSecond*mibBytes)
		fetch("records-consumed-rate", f.RecordsPerSecond)
	}
	fetch("bytes-consumed-total", float64(f.Bytes))
	fetch("records-consumed-total", float64(r.Records.Consumed))
	fetch("fetch-latency-avg", float64(f.Latency.Mean)/1000)
	fetch("fetch-latency-max", float64(f.Latency.Max)/1000)
	fetch("fetch-rate", per(float64(f.Requests), seconds(f.Seconds)))
	fetch("fetch-total", float64(f.Requests))
	fetch("fetch-size-avg", f.RequestBytes)
	fetch("records-per-request-avg", f.RequestRecords)
	var throttle float64
	for _, b := range r.Brokers {
		if b.Fetch != nil {
			throttle += float64(b.Fetch.ThrottleMS)
		}
	}
	fetch("fetch-throttle-time-avg", throttle/max(1, float64(f.Requests)))
	var lag result.Lag
	for _, p := range r.Partitions {
		lag = max(lag, p.ConsumerLag)
	}
	fetch("records-lag-max", float64(lag))

	if r.Plan.Read.Group != "" {
		coordinator := group("consumer-coordinator-metrics")
		coordinator("commit-latency-avg", float64(f.CommitMean)/1000)
		coordinator("commit-rate", per(float64(f.Commits), seconds(f.Seconds)))
		coordinator("commit-total", float64(f.Commits))
		if n := r.Rebalances; n != nil {
			coordinator("rebalance-latency-avg", float64(n.TotalMS)/max(1, float64(n.Count)))
			coordinator("rebalance-latency-max", float64(n.LongestMS))
			coordinator("rebalance-latency-total", float64(n.TotalMS))
			coordinator("rebalance-total", float64(n.Count))
		}
	}
	for _, b := range r.Brokers {
		if b.Fetch == nil {
			continue
		}
		node := func(name string, v float64) {
			rows = append(rows, metric{fmt.Sprintf("consumer-node-metrics:%s:{client-id=%s, node-id=node-%d}", name, client, b.ID), v})
		}
		node("request-latency-avg", float64(b.Fetch.Latency.Mean)/1000)
		node("request-latency-max", float64(b.Fetch.Latency.Max)/1000)
		node("request-total", float64(b.Fetch.Requests))
	}
	return rows
}
