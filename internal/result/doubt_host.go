package result

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/theme"
)

// watched returns the use of all hosts that were watched, kt's own first.
func (r *Result) watched() (all []*Busy) {
	for i := range r.Hosts {
		all = append(all, r.Hosts[i].Busy)
	}
	return slices.DeleteFunc(append([]*Busy{r.Machine}, all...), func(b *Busy) bool { return b == nil })
}

// brokerHosts returns the use of the hosts of the brokers; none, unless that of all is known.
func (r *Result) brokerHosts() (all []*Busy) {
	brokers, seen := r.Environment.Cluster.Brokers, 0
	for _, b := range r.watched() {
		away := slices.ContainsFunc(brokers, func(b Broker) bool { return !b.Here })
		if len(b.Brokers) > 0 && (b != r.Machine || !away) {
			all, seen = append(all, b), seen+len(b.Brokers)
		}
	}
	if len(brokers) == 0 || seen < len(brokers) {
		return nil
	}
	return all
}

// onDisks returns the bytes that disks of the brokers' hosts have read and written, whoever asked for it. It returns false where logs
// may lie on what does not count as a disk there.
func (r *Result) onDisks() (read, written float64, ok bool) {
	for _, b := range r.brokerHosts() {
		for _, broker := range b.Brokers {
			kinds := strings.Fields(broker.FileSystems)
			if len(kinds) == 0 || slices.ContainsFunc(kinds, func(kind string) bool { return !slices.Contains([]string{"ext3", "ext4", "xfs", "tmpfs"}, kind) }) {
				return 0, 0, false
			}
		}
		for _, d := range b.Disks {
			bytes := max(b.Seconds, r.ElapsedSeconds) * mib
			read, written, ok = read+d.ReadMiB*bytes, written+d.WrittenMiB*bytes, true
		}
	}
	return read, written, ok
}

// enough is how many bytes a load must move for disks to say something about it: others write and read a little all the time.
const enough = 16 * mib

// fromMemory doubts reading of what had been written before, unless disks read most of it.
func fromMemory(r *Result) []any {
	lag := r.ConsumerLag
	if !r.Plan.ReadsOnly() || r.Fetch == nil || lag == nil || lag.KeptUp != nil || lag.Records == NotKnown {
		return nil
	}
	bytes := r.Fetch.RequestBytes * float64(r.Fetch.Requests-r.Fetch.FailedRequests)
	read, _, ok := r.onDisks()
	if !ok || bytes < enough || read > bytes/2 {
		return nil
	}
	return []any{theme.Percent(1 - read/bytes)}
}

// sentBytes returns the bytes of batches as producers sent them.
func (r *Result) sentBytes() (bytes float64) {
	for i := range r.Brokers {
		bytes += r.Brokers[i].MiB * mib
	}
	return bytes
}

func inMemory(r *Result) []any {
	t := &r.Environment.AllTopics()[0]
	codec := t.Configs["compression.type"]
	bytes := r.sentBytes() * float64(t.ReplicationFactor)
	_, written, ok := r.onDisks()
	if !ok || bytes < enough || written > bytes/2 || codec != "" && codec != "producer" {
		return nil
	}
	return []any{theme.Percent(written / bytes)}
}

// shortFlush doubts a run in which the kernel need not have written anything to disks.
func shortFlush(r *Result) []any {
	if _, _, ok := r.onDisks(); !ok || !r.Plan.Writes() {
		return nil
	}
	for _, b := range r.brokerHosts() {
		if r.ElapsedSeconds < b.FlushSeconds && float64(b.DirtyBytesMax) < 0.8*float64(b.DirtyLimit) {
			return []any{seconds(r.ElapsedSeconds), seconds(b.FlushSeconds)}
		}
	}
	return nil
}

func seconds(s float64) string { return theme.Duration(time.Duration(s * float64(time.Second))) }

func ownHost(r *Result) []any {
	shared, all := 0, len(r.Environment.Cluster.Brokers)
	for i := range r.Hosts {
		if h := &r.Hosts[i]; h.Counted > 0 && h.Busy != nil && r.brokerHosts() != nil {
			shared += len(h.Busy.Brokers)
		}
	}
	for _, b := range r.Environment.Cluster.Brokers {
		if b.Here && r.Machine != nil && len(r.Machine.Brokers) > 0 {
			shared++
		}
	}
	if shared == 0 {
		return nil
	}
	return []any{theme.Plural(int64(min(shared, all)), "broker", "brokers")}
}

// burstable are instances of Amazon's whose CPU lives on credits. Firmware of other clouds does not name the size.
var burstable = regexp.MustCompile(`^Amazon EC2 t[1-4][a-z]*\.`)

func credits(r *Result) []any {
	machines := []string{r.Environment.Host.Machine}
	for i := range r.Hosts {
		machines = append(machines, r.Hosts[i].Machine)
	}
	i := slices.IndexFunc(machines, burstable.MatchString)
	if i < 0 {
		return nil
	}
	return []any{machines[i]}
}

func stolen(r *Result) []any {
	const shows = 0.01
	most := 0.0
	for _, b := range r.watched() {
		most = max(most, b.StealShare)
	}
	if most < shows {
		return nil
	}
	return []any{theme.Percent(most)}
}

func hot(r *Result) []any {
	times := int64(0)
	for _, b := range r.watched() {
		times += b.Hot
	}
	if times == 0 {
		return nil
	}
	return []any{theme.Plural(times, "time", "times")}
}

func clocked(r *Result) []any {
	for i := range r.Tune {
		for _, f := range r.Tune[i].Findings {
			if f.ID == "cpu.governor" && f.Verdict != TuneInfo {
				return []any{fmt.Sprintf("%q", f.Current)}
			}
		}
	}
	return nil
}

// apartClocks doubts an end to end latency between hosts whose clocks may differ by a tenth of it.
func apartClocks(r *Result) []any {
	var clocks []*HostRow
	for i := range r.Hosts {
		if h := &r.Hosts[i]; h.Counted > 0 && h.ClockOffsetUS != nil && h.ClockBoundUS != nil {
			clocks = append(clocks, h)
		}
	}
	worst := int64(0)
	for _, a := range clocks {
		for _, b := range clocks {
			if a != b {
				worst = max(worst, *a.ClockOffsetUS-*b.ClockOffsetUS+*a.ClockBoundUS+*b.ClockBoundUS)
			}
		}
	}
	if e := r.Latency.EndToEnd; e != nil && float64(worst) > float64(e.P50)/10 {
		return []any{theme.Duration(time.Duration(worst) * time.Microsecond), theme.Duration(e.P50.Duration())}
	}
	return nil
}
