package result

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// alike doubts values that kt has made and that compress better than real data.
func alike(r *Result) []any {
	const most = 8 // times
	made := r.Plan.Payload.Kind != plan.File && r.Plan.Payload.Kind != plan.Template
	if !r.Plan.Writes() || !made || r.Replay != nil || r.Batches.CompressionRatio < most {
		return nil
	}
	return []any{theme.Number(r.Batches.CompressionRatio)}
}

// cold doubts a run without a warm-up, unless it is so long that its first seconds do not matter.
func cold(r *Result) []any {
	const long = 300
	if r.Warmup != nil || r.Plan.Load.Warmup != (plan.Warmup{}) || r.ElapsedSeconds >= long {
		return nil
	}
	return []any{seconds(r.ElapsedSeconds)}
}

// unrolled doubts a run of new topics in which no segment of a log was full.
func unrolled(r *Result) []any {
	t := &r.Environment.AllTopics()[0]
	size, _ := strconv.ParseInt(t.Configs["segment.bytes"], 10, 64)
	share := r.busiestPartition()
	if share < 0 { // rows are of topics
		share = 2 / float64(max(1, r.Environment.Partitions()))
	}
	bytes := r.sentBytes() * share
	if !r.Plan.Writes() || !t.Created && (r.LogEnds == nil || r.LogEnds.Before > 0) || bytes == 0 || bytes >= float64(size) {
		return nil
	}
	return []any{theme.Bytes(int64(bytes)), theme.Bytes(size)}
}

func oneInSync(r *Result) []any {
	t := &r.Environment.AllTopics()[0]
	acks := slices.ContainsFunc(r.Config, func(s Setting) bool { return s.Name == "acks" && (s.Value == "all" || s.Value == "-1") })
	if !acks || t.ReplicationFactor < 2 || t.Configs["min.insync.replicas"] != "1" {
		return nil
	}
	return []any{t.ReplicationFactor}
}

// crowded returns the largest of some counts, and their sum, unless they are as even as may be.
func crowded(counts []int) (most, all int, uneven bool) {
	for _, n := range counts {
		most, all = max(most, n), all+n
	}
	even := (all + len(counts) - 1) / max(1, len(counts))
	return most, all, most > even && float64(most) >= 1.25*float64(even)
}

func fewLeaders(r *Result) []any {
	brokers := r.Environment.Cluster.Brokers
	counts := make([]int, len(brokers))
	for _, t := range r.Environment.AllTopics() {
		for _, leader := range t.Leaders {
			if i := slices.IndexFunc(brokers, func(b Broker) bool { return b.ID == leader }); i >= 0 {
				counts[i]++
			}
		}
	}
	most, all, uneven := crowded(counts)
	if !uneven {
		return nil
	}
	return []any{most, all, len(brokers)}
}

func fewDirs(r *Result) []any {
	of := make(map[string][]int) // by broker
	for dir, n := range r.Environment.AllTopics()[0].Dirs {
		broker, _, _ := strings.Cut(dir, ":")
		of[broker] = append(of[broker], n)
	}
	for broker, counts := range of {
		if most, all, uneven := crowded(counts); uneven {
			return []any{most, all, broker, len(counts)}
		}
	}
	return nil
}

// piled doubts keys of which many are in one partition. Few records are uneven by chance.
func piled(r *Result) []any {
	n, share := r.Environment.Partitions(), r.busiestPartition()
	keyed := r.Plan.Writes() && r.Plan.Payload.Keys != plan.NoKeys && r.Plan.Payload.KeyRange > 0
	if !keyed || len(r.Environment.Topics) > 1 || r.Records.Acknowledged < 1000*int64(n) || share*float64(n) < 1.5 {
		return nil
	}
	return []any{theme.Percent(share), n}
}

// nearQuota doubts a load that used most of a quota on some broker. A load that a quota limits has its verdict.
func nearQuota(r *Result) []any {
	const near = 0.8
	for _, q := range r.Environment.Quotas {
		most, over := 0.0, r.Throughput.Seconds
		for i := range r.Brokers {
			b := &r.Brokers[i]
			if q.Name == "producer_byte_rate" {
				most = max(most, b.MiB)
			} else if b.Fetch != nil && r.Fetch != nil {
				most, over = max(most, b.Fetch.MiB), r.Fetch.Seconds
			}
		}
		if share := verdict.Per(most*mib, over*q.Bytes); over >= 1 && share >= near && r.BoundBy.Limit != verdict.Quota {
			return []any{theme.Percent(share), theme.Bytes(int64(q.Bytes))}
		}
	}
	return nil
}

func heldBack(r *Result) []any {
	var ms int64
	for i := range r.Brokers {
		ms += r.Brokers[i].ThrottleMS
		if f := r.Brokers[i].Fetch; f != nil {
			ms += f.ThrottleMS
		}
	}
	if ms == 0 || r.BoundBy.Limit == verdict.Quota {
		return nil
	}
	return []any{seconds(float64(ms) / 1000)}
}

//go:embed faults.yaml
var faultsYAML []byte

// faults are known ones of brokers.
var faults = sync.OnceValue(func() (all []struct {
	Versions          []string
	Needs, Is, Source string
}) {
	if err := yaml.Unmarshal(faultsYAML, &all); err != nil {
		panic(err) // the file is a part of kt
	}
	return all
})

// faulty doubts brokers of a version with a known fault, by their class path if all brokers of their hosts have one version.
func faulty(r *Result) []any {
	version := strings.TrimPrefix(r.Environment.Cluster.Version, "v")
	var exact []string
	for _, b := range r.brokerHosts() {
		for i := range b.Brokers {
			exact = append(exact, b.Brokers[i].Version)
		}
	}
	if exact = slices.Compact(exact); len(exact) == 1 && exact[0] != "" {
		version = exact[0]
	}
	for _, f := range faults() {
		if slices.Contains(f.Versions, version) && (f.Needs == "" || r.Batches.CompressionRatio > 1) {
			return []any{version, f.Is}
		}
	}
	return nil
}

// shows is the share of the records from which on those of others count.
const shows = 0.01

// others doubts a topic with records of others: those that were written meanwhile, or that a verifying reader found.
func others(r *Result) []any {
	share := 0.0
	if own := r.offered(); r.LogEnds != nil && r.Client.Transactions+r.Client.Aborted == 0 && r.Outage == nil {
		share = 1 - verdict.Per(float64(own), float64(r.LogEnds.After-r.LogEnds.Before))
	}
	if v := r.Verify; v != nil {
		strange := float64(v.Foreign + v.Unstamped)
		share = max(share, verdict.Per(strange, strange+float64(v.Checked)))
	}
	if share < shows || share >= 1 {
		return nil
	}
	return []any{theme.Percent(share)}
}

// offered returns how many records the run may have written, with its warm-up.
func (r *Result) offered() int64 {
	if r.Warmup == nil {
		return r.Records.Offered
	}
	return r.Records.Offered + r.Warmup.Records.Offered
}

func elsewhere(r *Result) []any {
	own := r.offered()
	if r.Plan.ReadsOnly() {
		own = r.Records.Consumed
	}
	share := verdict.Per(float64(r.Others), float64(r.Others+own))
	if share < shows {
		return nil
	}
	return []any{theme.Percent(share)}
}

// late doubts consumers of a round trip that had read nothing for long after the first record was due.
func late(r *Result) []any {
	if r.Fetch == nil || !r.Plan.Writes() || r.Plan.Read.Backlog > 0 || r.Records.Consumed == 0 {
		return nil
	}
	after := r.Fetch.FirstReadSeconds - r.Throughput.FirstDueSeconds
	if after < max(1, 0.05*r.Throughput.Seconds) {
		return nil
	}
	return []any{seconds(after), seconds(r.Throughput.Seconds)}
}
