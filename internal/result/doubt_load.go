package result

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// when returns the values of a doubt as texts, if it is one.
func when(is bool, values ...any) []any {
	if !is {
		return nil
	}
	for i, v := range values {
		values[i] = fmt.Sprint(v)
	}
	return values
}

func seconds(s float64) string { return theme.Duration(time.Duration(s * float64(time.Second))) }

// alike doubts values that kt has made and that compress better than real data.
func alike(r *Result) []any {
	made := r.Plan.Payload.Kind != plan.File && r.Plan.Payload.Kind != plan.Template && r.Replay == nil
	return when(made && r.Batches.CompressionRatio >= 8, theme.Number(r.Batches.CompressionRatio))
}

// cold doubts a run without a warm-up, unless it is so long that its first seconds do not matter.
func cold(r *Result) []any {
	const long = 300
	return when(r.Plan.Load.Warmup == plan.Warmup{} && r.ElapsedSeconds < long, seconds(r.ElapsedSeconds))
}

// unrolled doubts a run of a new topic in which no segment of a log was full, by its end.
func unrolled(r *Result) []any {
	t := &r.Environment.AllTopics()[0]
	size, _ := strconv.ParseFloat(t.Configs["segment.bytes"], 64)
	bytes := r.sentBytes() * r.busiestPartition() * verdict.Per(float64(r.offered()), float64(r.Records.Offered)) // below 0: not known
	isNew := t.Created || r.LogEnds != nil && r.LogEnds.Before == 0
	return when(isNew && bytes > 0 && bytes < size, theme.Bytes(int64(bytes)), theme.Bytes(int64(size)))
}

func oneInSync(r *Result) []any {
	t := &r.Environment.AllTopics()[0]
	all := slices.ContainsFunc(r.Config, func(s Setting) bool { return s.Name == "acks" && (s.Value == "all" || s.Value == "-1") })
	return when(all && t.ReplicationFactor > 1 && t.Configs["min.insync.replicas"] == "1", t.ReplicationFactor)
}

// crowded returns the largest of some counts, and their sum, unless they are about as even as may be.
func crowded[K comparable](counts map[K]int) (most, all int, uneven bool) {
	for _, n := range counts {
		most, all = max(most, n), all+n
	}
	even := (all + len(counts) - 1) / max(1, len(counts))
	return most, all, most > even && 4*most >= 5*even
}

func fewLeaders(r *Result) []any {
	counts := make(map[int32]int)
	for _, b := range r.Environment.Cluster.Brokers {
		counts[b.ID] = 0
	}
	for _, t := range r.Environment.AllTopics() {
		for _, leader := range t.Leaders {
			if _, known := counts[leader]; known {
				counts[leader]++
			}
		}
	}
	most, all, uneven := crowded(counts)
	return when(uneven, most, all, len(counts))
}

// fewDirs leaves out a broker that had not made all logs of a new topic when it was asked.
func fewDirs(r *Result) (values []any) {
	t, worst := &r.Environment.AllTopics()[0], 0
	for broker, counts := range t.Dirs {
		if most, all, uneven := crowded(counts); uneven && most > worst && all == t.Replicas[broker].All {
			worst, values = most, when(true, most, all, broker, len(counts))
		}
	}
	return values
}

// piled doubts keys of which many are in one partition. Few records are uneven by chance.
func piled(r *Result) []any {
	n, share := r.Environment.Partitions(), r.busiestPartition()
	keyed := r.Plan.Writes() && r.Plan.Payload.Keys != plan.NoKeys && len(r.Environment.Topics) < 2 && r.Records.Acknowledged >= 1000*int64(n)
	return when(keyed && share*float64(n) >= 1.5, theme.Percent(share), n)
}

// nearQuota doubts a load that used most of a quota on some broker. A load that a quota limits has its verdict.
func nearQuota(r *Result) []any {
	for _, name := range slices.Sorted(maps.Keys(r.Environment.Quotas)) {
		bytes, most, over := r.Environment.Quotas[name], 0.0, r.Throughput.Seconds
		for i := range r.Brokers {
			if f := r.Brokers[i].Fetch; name == "producer_byte_rate" {
				most = max(most, r.Brokers[i].MiB)
			} else if f != nil {
				most, over = max(most, f.MiB), r.Fetch.Seconds
			}
		}
		if share := verdict.Per(most*mib, over*bytes); over >= 1 && share >= 0.8 && r.BoundBy.Limit != verdict.Throttle {
			return []any{theme.Percent(share), theme.Bytes(int64(bytes))}
		}
	}
	return nil
}

func heldBack(r *Result) []any {
	ms := 0.0
	for i := range r.Brokers {
		ms += float64(r.Brokers[i].ThrottleMS)
		if f := r.Brokers[i].Fetch; f != nil {
			ms += float64(f.ThrottleMS)
		}
	}
	return when(ms > 0 && r.BoundBy.Limit != verdict.Throttle, seconds(ms/1000))
}

//go:embed faults.yaml
var faultsYAML []byte

// knownFault is a row of faults.yaml.
type knownFault struct {
	Versions          []string
	Needs, Is, Source string
}

var faults = tableOf[knownFault](faultsYAML)

// faulty doubts brokers of a version with a known fault, by their class path if all brokers of their hosts have one version.
func faulty(r *Result) []any {
	version, exact := strings.TrimPrefix(r.Environment.Cluster.Version, "v"), []string(nil)
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

// shows is the least share that is worth a doubt.
const shows = 0.01

// offered returns how many records the run may have written, with its warm-up.
func (r *Result) offered() int64 {
	if r.Warmup == nil {
		return r.Records.Offered
	}
	return r.Records.Offered + r.Warmup.Records.Offered
}

// others doubts a topic with records of others: those that were written meanwhile, or that a verifying reader found.
func others(r *Result) []any {
	share := 0.0
	if r.LogEnds != nil && r.Client.Transactions+r.Client.Aborted == 0 && (r.Outage == nil || r.Outage.BeganSeconds == nil) { // no markers, no repeats
		share = verdict.Per(float64(r.LogEnds.After-r.LogEnds.Before-r.offered()), float64(r.LogEnds.After-r.LogEnds.Before))
	}
	if v := r.Verify; v != nil {
		share = max(share, verdict.Per(float64(v.Foreign+v.Unstamped), float64(v.Foreign+v.Unstamped+v.Checked)))
	}
	return when(share >= shows, theme.Percent(share))
}

func elsewhere(r *Result) []any {
	share := verdict.Per(float64(r.Others), float64(r.Others+max(r.offered(), r.Records.Consumed)))
	return when(share >= shows, theme.Percent(share))
}

// late doubts consumers of a round trip that had read nothing for long after the first record was due.
func late(r *Result) []any {
	if r.Fetch == nil || !r.Plan.Writes() || r.Plan.Read.Backlog > 0 || r.Records.Consumed == 0 {
		return nil
	}
	after := r.Fetch.FirstReadSeconds - r.Throughput.FirstDueSeconds
	return when(after >= max(1, 0.05*r.Throughput.Seconds), seconds(after), seconds(r.Throughput.Seconds))
}
