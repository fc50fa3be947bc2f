package result

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/theme"
)

// watched returns the use of all hosts that were watched, kt's own first.
func (r *Result) watched() []*Busy {
	all := []*Busy{r.Machine}
	for i := range r.Hosts {
		all = append(all, r.Hosts[i].Busy)
	}
	return slices.DeleteFunc(all, func(b *Busy) bool { return b == nil })
}

// brokerHosts returns the use of the hosts of the brokers; none, unless that of all is known.
func (r *Result) brokerHosts() (all []*Busy) {
	brokers, seen := r.Environment.Cluster.Brokers, 0
	for _, b := range r.watched() {
		if slices.ContainsFunc(r.Hosts, func(h HostRow) bool { return h.Busy == b && h.Role == "client" }) {
			continue // in a network namespace it sees the brokers of others
		}
		if b != r.Machine || !slices.ContainsFunc(brokers, func(b Broker) bool { return !b.Here }) {
			all, seen = append(all, b), seen+len(b.Brokers)
		}
	}
	if len(brokers) == 0 || seen < len(brokers) {
		return nil
	}
	return slices.DeleteFunc(all, func(b *Busy) bool { return len(b.Brokers) == 0 })
}

// onDisks returns the bytes that disks of the brokers' hosts have read and written, whoever asked for it. It returns false unless all
// logs are certainly on disks that count there, or in memory.
func (r *Result) onDisks() (read, written float64, ok bool) {
	for _, b := range r.brokerHosts() {
		for i := range b.Brokers {
			if kinds := strings.Fields(b.Brokers[i].FileSystems); len(kinds) == 0 || slices.ContainsFunc(kinds, func(kind string) bool {
				return !slices.Contains([]string{"ext3", "ext4", "xfs", "tmpfs"}, kind)
			}) {
				return 0, 0, false
			}
		}
		bytes := max(b.Seconds, r.ElapsedSeconds) * mib
		for _, d := range b.Disks {
			read, written, ok = read+d.ReadMiB*bytes, written+d.WrittenMiB*bytes, true
		}
	}
	return read, written, ok
}

// enough is how many bytes a load must move for disks to say something about it: others write and read a little all the time.
const enough = 16 * mib

// fromMemory doubts reading of what had been written before, unless disks read most of it.
func fromMemory(r *Result) []any {
	if lag := r.ConsumerLag; !r.Plan.ReadsOnly() || r.Fetch == nil || lag == nil || lag.KeptUp != nil || lag.Records == NotKnown {
		return nil
	}
	bytes := r.Fetch.RequestBytes * float64(r.Fetch.Requests-r.Fetch.FailedRequests)
	read, _, ok := r.onDisks()
	return when(ok && bytes >= enough && read < bytes/2, theme.Percent(1-read/bytes))
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
	bytes, codec := r.sentBytes()*float64(t.ReplicationFactor), t.Configs["compression.type"]
	_, written, ok := r.onDisks()
	return when(ok && bytes >= enough && written < bytes/2 && (codec == "" || codec == "producer"), theme.Percent(written/bytes))
}

// shortFlush doubts a run in which the kernel need not have written anything to disks.
func shortFlush(r *Result) []any {
	_, _, ok := r.onDisks()
	i := slices.IndexFunc(r.brokerHosts(), func(b *Busy) bool {
		return r.ElapsedSeconds < b.FlushSeconds && float64(b.DirtyBytesMax) < 0.8*float64(b.DirtyLimit) &&
			slices.ContainsFunc(b.Brokers, func(k BusyBroker) bool { return k.FileSystems != "tmpfs" }) // which never goes to a disk
	})
	if !ok || !r.Plan.Writes() || i < 0 {
		return nil
	}
	return []any{seconds(r.ElapsedSeconds), seconds(r.brokerHosts()[i].FlushSeconds)}
}

func ownHost(r *Result) []any {
	shared := 0
	for _, b := range r.Environment.Cluster.Brokers {
		if b.Here && r.Machine != nil && len(r.Machine.Brokers) > 0 {
			shared++
		}
	}
	for i := range r.Hosts {
		if h := &r.Hosts[i]; h.Counted > 0 && slices.Contains(r.brokerHosts(), h.Busy) {
			shared += len(h.Busy.Brokers)
		}
	}
	return when(shared > 0, theme.Plural(min(shared, len(r.Environment.Cluster.Brokers)), "broker", "brokers"))
}

// burstable are instances of Amazon's whose CPU lives on credits. Firmware of other clouds does not name the size.
var burstable = regexp.MustCompile(`^Amazon EC2 t[1-4][a-z]*\.`)

func credits(r *Result) []any {
	machine := r.Environment.Host.Machine
	for i := range r.Hosts {
		if burstable.MatchString(r.Hosts[i].Machine) {
			machine = r.Hosts[i].Machine
		}
	}
	return when(burstable.MatchString(machine), machine)
}

func stolen(r *Result) []any {
	most := 0.0
	for _, b := range r.watched() {
		most = max(most, b.StealShare)
	}
	return when(most >= shows, theme.Percent(most))
}

func hot(r *Result) []any {
	times := int64(0)
	for _, b := range r.watched() {
		times += b.Hot
	}
	return when(times > 0, theme.Plural(times, "time", "times"))
}

func clocked(r *Result) []any {
	for i := range r.Tune {
		for _, f := range r.Tune[i].Findings {
			if f.ID == "cpu.governor" && f.Verdict != TuneInfo {
				return []any{f.Current}
			}
		}
	}
	return nil
}

// apartClocks doubts an end to end latency between hosts whose clocks may differ by a tenth of it.
func apartClocks(r *Result) []any {
	worst, e := int64(0), r.Latency.EndToEnd
	for i := range r.Hosts {
		for j := range r.Hosts {
			if a, b := &r.Hosts[i], &r.Hosts[j]; i != j && a.Counted*b.Counted > 0 && a.ClockOffsetUS != nil && b.ClockOffsetUS != nil {
				worst = max(worst, *a.ClockOffsetUS-*b.ClockOffsetUS+*a.ClockBoundUS+*b.ClockBoundUS)
			}
		}
	}
	if e == nil || float64(worst) <= float64(e.P50)/10 {
		return nil
	}
	return []any{theme.Duration(time.Duration(worst) * time.Microsecond), theme.Duration(e.P50.Duration())}
}
