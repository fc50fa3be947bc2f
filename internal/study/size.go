package study

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// The rows of a size: resources of brokers, the limit that a search found, and replicas, which are on brokers of their own.
const (
	ofLimit    = "the limit that was found"
	ofCPU      = "CPU"
	ofDisk     = "disk"
	ofDiskTime = "disk time"
	ofNetwork  = "network"
	ofReplicas = "replicas"
)

const (
	usable     = 0.9    // of a resource that is given or known: the threshold of the verdict across hosts
	farthest   = 2      // times the highest scale tried: beyond it nothing is said
	mostSized  = 10_000 // brokers: no cluster has as many
	uslLevels  = 7      // scales with which a curve can be fitted to all but one
	deviations = 2      // of the held-out errors, in which 95 % of them lie if they are normal
)

// usage is what all brokers used together in a run, and what one of them has.
type usage struct {
	brokers int
	used    map[string]float64 // by resource: cores, bytes a second, disks
	has     map[string]float64 // one broker, as far as the host tells; used up to its threshold
	loads   []written
}

// written is how the writes of a load are spread over brokers.
type written struct {
	share      float64 // of the bytes of all loads
	partitions int     // of all its topics; 0: not known
	replicas   int     // 0: not known
}

// usageOf returns what the brokers used in a run: by their vitals where agents watched their hosts, else the bytes that the clients
// counted, with those of replicas.
func usageOf(r *result.Result) *usage {
	loads := r.Loads
	if len(loads) == 0 {
		loads = []result.LoadResult{{Result: *r}}
	}
	brokers := loads[0].Environment.Cluster.Brokers
	u := &usage{brokers: len(brokers), used: make(map[string]float64), has: make(map[string]float64)}
	var sent, received, all float64
	for i := range loads {
		l := &loads[i]
		in, out, one := 0.0, 0.0, written{}
		for _, b := range l.Brokers {
			in += verdict.Per(b.MiB*input.MiB, l.Throughput.Seconds)
			if b.Fetch != nil && l.Fetch != nil {
				out += verdict.Per(b.Fetch.MiB*input.MiB, l.Fetch.Seconds)
			}
		}
		for _, t := range l.Environment.AllTopics() {
			one.partitions, one.replicas = one.partitions+t.Partitions, max(one.replicas, t.ReplicationFactor)
		}
		copies := float64(max(1, one.replicas))
		received, sent, all = received+in*copies, sent+in*(copies-1)+out, all+in
		if one.share = in; in > 0 {
			u.loads = append(u.loads, one)
		}
	}
	for i := range u.loads {
		u.loads[i].share /= all
	}
	u.used[ofDisk], u.used[ofNetwork] = received, max(sent, received)
	hosts := merge.WatchedBrokers(r.Hosts)
	if len(hosts) == 0 || len(brokers) == 0 {
		return u
	}
	var names []string
	for _, b := range brokers {
		name, _, _ := net.SplitHostPort(b.Addr)
		names = append(names, name)
	}
	machines := float64(len(once(names)))
	all, each := machines/float64(len(hosts)), machines/float64(len(brokers)) // of those watched, and what a broker has of a machine
	u.used = make(map[string]float64)
	speed := math.Inf(1)
	for _, h := range hosts {
		busiest, bytes, in, out, bits := 0.0, 0.0, 0.0, 0.0, int64(0)
		for _, d := range h.Busy.Disks {
			busiest, bytes = max(busiest, d.BusyShare), bytes+(d.ReadMiB+d.WrittenMiB)*input.MiB
		}
		for _, n := range h.Busy.Networks {
			in, out, bits = in+n.ReceivedMiB*input.MiB, out+n.SentMiB*input.MiB, bits+n.SpeedBits
		}
		speed = min(speed, float64(bits)/8)
		u.used[ofCPU] += h.Busy.CPUShare * h.Busy.Cores * all
		u.used[ofDiskTime] += busiest * all
		u.used[ofDisk] += bytes * all
		u.used[ofNetwork] += max(in, out) * all
		u.has[ofCPU] = max(u.has[ofCPU], h.Busy.Cores*each)
	}
	if u.has[ofDiskTime] = each; speed > 0 {
		u.has[ofNetwork] = speed * each
	}
	return u
}

// busiest returns the share of the load that falls to the busiest of some brokers: partitions cannot be divided.
func (u *usage) busiest(brokers int) (share float64) {
	for _, l := range u.loads {
		of := 1 / float64(brokers)
		if l.partitions > 0 {
			of = math.Ceil(float64(l.partitions)/float64(brokers)) / float64(l.partitions)
		}
		share += l.share * of
	}
	return share
}

// brokersFor returns how many brokers carry a scale while one of them is down, each of which carries some scale; 0: no number does.
func (u *usage) brokersFor(scale, one float64) int {
	for n := 1; n <= mostSized; n++ {
		if scale*u.busiest(n) <= one*(1+1e-9) {
			return n + 1
		}
	}
	return 0
}

// SizeDocument says how many brokers carry a workload.
type SizeDocument struct {
	Schema   int       `json:"schema"`
	Workload string    `json:"workload"`
	Scale    float64   `json:"scale"`
	Find     string    `json:"find"`
	Measured int       `json:"measured_brokers"` // those of the search
	Broker   string    `json:"broker,omitempty"` // what each has; "": it is as those of the search
	Brokers  int       `json:"brokers"`          // that carry the scale while one of them is down; 0: no number does
	Low      int       `json:"low"`              // its interval
	High     int       `json:"high"`
	Decides  string    `json:"decides"` // the resource that needs most
	Rows     []SizeRow `json:"resources"`
	Remarks  []string  `json:"remarks"`
	Sentence string    `json:"sentence"`
}

// SizeRow is how many brokers one resource needs.
type SizeRow struct {
	Resource string  `json:"resource"`
	Unit     string  `json:"unit"`              // scale, cores, bytes/s, disks or brokers
	Need     float64 `json:"need"`              // of all brokers together, at the scale
	Gives    float64 `json:"gives"`             // one broker, up to the share of it that can be used
	Reached  Share   `json:"reached,omitempty"` // of it, in the trial that used most
	Brokers  int     `json:"brokers"`
	Low      int     `json:"low"`
	High     int     `json:"high"`
	Law      string  `json:"law"`             // measured, linear, or USL: the Universal Scalability Law
	Error    *Share  `json:"error,omitempty"` // root of the mean squared relative error on scales that were left out; nil: there are too few
}

// law is the scale that one broker carries with some use of a resource.
type law struct {
	idle, slope float64            // use = idle + slope × scale
	usl         *inference.Scaling // instead, where it tells left-out scales better
	err         float64            // below 0: not known
}

func (l *law) carries(use float64) float64 {
	if l.usl != nil {
		return l.usl.At(use)
	}
	return max(0, (use-l.idle)/l.slope)
}

// fitLaw fits a law to the use of one broker at some scales. There is none of a use that does not grow.
func fitLaw(scale, use []float64) (*law, bool) {
	levels := slices.Compact(slices.Sorted(slices.Values(scale)))
	best := line(scale, use)
	if best.slope <= 0 {
		return nil, false
	}
	best.err = -1
	if len(levels) < 3 {
		return best, true
	}
	best.err = leftOut(levels, scale, use, func(s, u []float64) *law { return line(s, u) })
	if curve := usl(scale, use); curve != nil && len(levels) >= uslLevels {
		if curve.err = leftOut(levels, scale, use, usl); curve.err < best.err {
			best = curve
		}
	}
	return best, true
}

// usl fits the Universal Scalability Law with the use in the place of workers; nil: it cannot, or it would gain from contention. Where the
// crosstalk is below 0, which is noise, the law has contention alone: use ÷ scale is a straight line then.
func usl(scale, use []float64) *law {
	s, err := inference.USL(use, scale, alpha)
	if err != nil && !errors.Is(err, inference.ErrNoPeak) {
		return nil
	}
	if s.Beta < 0 {
		cost := make([]float64, len(use))
		for i := range use {
			cost[i] = use[i] / scale[i]
		}
		l := line(use, cost)
		s = inference.Scaling{Gamma: 1 / (l.idle + l.slope), Alpha: l.slope / (l.idle + l.slope)}
	}
	if !(s.Alpha >= 0 && s.Alpha < 1) {
		return nil
	}
	return &law{usl: &s}
}

// line fits a straight line by least squares, through 0 where it would begin below.
func line(x, y []float64) *law {
	n, sx, sy, sxx, sxy := float64(len(x)), 0.0, 0.0, 0.0, 0.0
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	l := &law{slope: verdict.Per(sxy, sxx)}
	if d := n*sxx - sx*sx; d > 1e-9*n*sxx {
		if slope := (n*sxy - sx*sy) / d; sy-slope*sx > 0 {
			l.slope, l.idle = slope, (sy-slope*sx)/n
		}
	}
	return l
}

// leftOut returns the error of a law on each scale when it is fitted to all others; infinite: it cannot be fitted to some.
func leftOut(levels, scale, use []float64, fit func(scale, use []float64) *law) float64 {
	sum := 0.0
	for _, level := range levels {
		var s, u, out []float64
		for i := range scale {
			if scale[i] == level {
				out = append(out, use[i])
			} else {
				s, u = append(s, scale[i]), append(u, use[i])
			}
		}
		l := fit(s, u)
		if l == nil || l.usl == nil && l.slope <= 0 {
			return math.Inf(1)
		}
		for _, one := range out {
			e := l.carries(one)/level - 1
			sum += e * e
		}
	}
	return math.Sqrt(sum / float64(len(scale)))
}

// ParseBroker reads what a broker has: cpu=16,disk=500MiB/s,network=10Gbit.
func ParseBroker(text string) (has map[string]float64, err error) {
	has = make(map[string]float64)
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if value = strings.TrimSuffix(value, "/s"); strings.HasSuffix(value, "bps") {
			value = strings.TrimSuffix(value, "ps") + "it"
		}
		var n float64
		switch name {
		case "cpu":
			name = ofCPU
			n, err = plan.ParseNumber(value)
		case "disk", "network":
			bits, isBits := strings.CutSuffix(value, "bit")
			factor := map[byte]float64{'M': 1e6, 'G': 1e9, 'T': 1e12}[(bits + " ")[max(0, len(bits)-1)]]
			if isBits && name == "network" && factor > 0 {
				n, err = plan.ParseNumber(bits[:len(bits)-1])
				n *= factor / 8
			} else {
				var bytes int64
				bytes, err = plan.ParseVolume(value)
				n = float64(bytes)
			}
		default:
			err = errors.New("no such resource")
		}
		if _, twice := has[name]; err != nil || !(n > 0) || twice {
			return nil, fmt.Errorf("--broker %q: %s: write what one broker has, each once, as in cpu=16,disk=500MiB/s,network=10Gbit", text, strings.TrimSpace(part))
		}
		has[name] = n
	}
	return has, nil
}

// Size returns how many brokers carry a scale of the workload of a search, while one of them is down. broker is what each has, as
// ParseBroker reads it; "": they are like those of the search. An error says why the question is outside of what was measured.
func Size(d *Document, scale float64, broker string) (*SizeDocument, error) {
	find, less := d, (*Document)(nil)
	if o := cmp.Or(d.WholeDoc, new(WholeDoc)); len(o.Parts) > 0 && o.Parts[0].Find != nil && o.Parts[0].Name == AllPart {
		find = o.Parts[0].Find
		if o.OneLess != nil {
			less = o.Parts[1].Find
		}
	}
	bad := func(format string, args ...any) (*SizeDocument, error) {
		return nil, fmt.Errorf("find %s: "+format, append([]any{d.ID}, args...)...)
	}
	switch {
	case find.FindDoc == nil || !find.Study.Find.Scale:
		return bad("it is no search of the highest scale of a workload: make one with kt find -- run FILE")
	case !find.Over:
		return bad("it is not over: go on with kt study resume %s", d.ID)
	case find.Peak.RecordsPerSecond == 0:
		return bad("no scale was found that holds, so nothing is known of what a broker carries")
	case d.Embedded:
		return bad("it was made on the broker inside kt, which is no Kafka")
	}
	trials, loads, err := find.Study.Find.trials(find)
	if err != nil {
		return nil, err
	}
	tried, u, scales, used := 0.0, (*usage)(nil), []float64{}, map[string][]float64{}
	for i, t := range trials {
		if tried = max(tried, t.Rate); t.Outcome != Passed {
			continue
		}
		if of := loads[i][0].usage; u == nil || t.Rate == find.Peak.Low {
			u = of
		}
		scales = append(scales, t.Rate/float64(max(1, u.brokers)))
		for name, n := range loads[i][0].usage.used {
			used[name] = append(used[name], n/float64(max(1, u.brokers)))
		}
	}
	switch {
	case u == nil || u.brokers == 0 || len(u.loads) == 0:
		return bad("its runs do not say how many brokers there were, or what was written")
	case scale > farthest*tried:
		return bad("--scale %v is more than twice the highest scale that was tried (%v): beyond %v nothing is known; search on more brokers, or with a higher --ladder", scale, tried, farthest*tried)
	}
	s := &SizeDocument{Schema: Schema, Scale: scale, Find: d.ID, Measured: u.brokers, Broker: broker, Remarks: []string{}}
	has := u.has
	if broker != "" {
		if has, err = ParseBroker(broker); err != nil {
			return nil, err
		}
		for name := range has {
			if used[name] == nil {
				return bad("--broker %q: the use of %s was not measured; start kt agent on the brokers' hosts, and search again with --on", broker, name)
			}
		}
		s.remark("what limited the brokers of the find at scale %v is not in the table: whether others pass it is not known", cmp.Or(find.Peak.High, find.Peak.Low))
	} else {
		s.Rows = append(s.Rows, limitRow(scale, u, &find.Peak, less))
		if find.Peak.High == 0 || find.Peak.ClientBound {
			s.remark("no scale was found that these brokers do not carry, so fewer of them may do")
		}
	}
	for _, name := range []string{ofCPU, ofDiskTime, ofDisk, ofNetwork} {
		if has[name] == 0 || used[name] == nil {
			continue
		}
		l, ok := fitLaw(scales, used[name])
		if !ok {
			s.remark("the use of %s does not grow with the scale, so it has no row", name)
			continue
		}
		s.Rows = append(s.Rows, resourceRow(scale, u, l, name, usable*has[name], slices.Max(used[name])))
	}
	replicas := 0
	for _, l := range u.loads {
		replicas = max(replicas, l.replicas)
	}
	if replicas > 1 {
		s.Rows = append(s.Rows, SizeRow{Resource: ofReplicas, Unit: "brokers", Need: float64(replicas), Gives: 1, Brokers: replicas, Low: replicas, High: replicas, Law: "measured"})
	} else {
		s.remark("topics have one replica: partitions of a broker that is down are not there, so two or more are needed")
	}
	if less == nil && broker == "" {
		s.remark("that one broker less carries its share less was not measured: kt find --without broker does")
	}
	s.conclude()
	return s, nil
}

func (s *SizeDocument) remark(format string, args ...any) {
	s.Remarks = append(s.Remarks, fmt.Sprintf(format, args...))
}

// limitRow returns the row of the peak, which was measured, and of that with one broker less.
func limitRow(scale float64, u *usage, peak *PeakRate, less *Document) SizeRow {
	low, high := peak.Low*u.busiest(u.brokers), peak.High*u.busiest(u.brokers)
	if peak.ClientBound || peak.High == 0 {
		high = math.Inf(1)
	}
	row := SizeRow{Resource: ofLimit, Unit: "scale", Need: scale, Law: "measured"}
	if less != nil {
		one := u.busiest(u.brokers - 1)
		row.Error = new(Share(math.Abs(less.Peak.Low*one/low - 1)))
		if low = min(low, less.Peak.Low*one); less.Peak.High > 0 && !less.Peak.ClientBound {
			high = max(high, less.Peak.High*one)
		}
	}
	row.Gives, row.Reached = low, 1
	row.Brokers, row.Low = u.brokersFor(scale, low), u.brokersFor(scale, high)
	row.High = row.Brokers
	return row
}

// resourceRow returns the row of a resource of which one broker gives some.
func resourceRow(scale float64, u *usage, l *law, name string, gives, most float64) SizeRow {
	one := l.carries(gives)
	row := SizeRow{
		Resource: name, Unit: map[string]string{ofCPU: "cores", ofDiskTime: "disks"}[name], Gives: gives, Need: scale * gives / one,
		Reached: Share(most / gives), Law: map[bool]string{false: "linear", true: "USL"}[l.usl != nil], Brokers: u.brokersFor(scale, one),
	}
	row.Unit = cmp.Or(row.Unit, "bytes/s")
	spread := 0.0
	if l.err >= 0 {
		row.Error, spread = new(Share(l.err)), deviations*l.err
	}
	row.Low, row.High = u.brokersFor(scale, one*(1+spread)), u.brokersFor(scale, max(0, one*(1-spread)))
	return row
}

// conclude takes the row that needs most brokers.
func (s *SizeDocument) conclude() {
	for _, r := range s.Rows {
		if s.Decides == "" || r.Brokers == 0 || s.Brokers > 0 && r.Brokers > s.Brokers {
			s.Brokers, s.Decides = r.Brokers, r.Resource
		}
		if s.Low = max(s.Low, r.Low); r.High == 0 && r.Brokers > 0 {
			s.remark("how many brokers %s needs at most cannot be told: it was measured too roughly", r.Resource)
		}
		s.High = max(s.High, r.High)
	}
	kind := map[bool]string{true: "like these", false: "with " + s.Broker}[s.Broker == ""]
	switch {
	case s.Brokers == 0:
		s.High = 0
		s.Sentence = fmt.Sprintf("no number of brokers %s carries scale %v: a partition cannot be divided, and the broker with most of them has too much by %s; more partitions spread it", kind, s.Scale, s.Decides)
	default:
		s.High = max(s.High, s.Brokers)
		s.Sentence = fmt.Sprintf("%s %s carry scale %v while one of them is down", theme.Plural(s.Brokers, "broker", "brokers"), kind, s.Scale)
		if s.Low != s.High {
			s.Sentence += fmt.Sprintf(" (%d to %d)", s.Low, s.High)
		}
		s.Sentence += "; " + s.Decides + " decides"
	}
}

// elsewhere are flags of loads that say where, how and by whom they are made, and not what they are.
var elsewhere = []string{"bootstrap-server", "cluster", "url", "command-config", "config", "on", "hosts", "processes", "watch", "join", "peers", "key-file", "yes", "tag", "duration", "warmup", "captured"}

// SameWorkload returns an error that names the first difference between the loads of a file and those that a search made.
func SameWorkload(file, find []Load) error {
	names := func(loads []Load) []string {
		return mapped(loads, func(l Load) string { return l.Command + " " + l.Name })
	}
	if a, b := names(file), names(find); !slices.Equal(a, b) {
		return fmt.Errorf("the find is of another workload: its loads are %s, and those of the file %s", strings.Join(b, ", "), strings.Join(a, ", "))
	}
	for i := range file {
		texts := func(l Load) []string {
			flags := slices.DeleteFunc(slices.Clone(l.Flags), func(f Flag) bool { return slices.Contains(elsewhere, f.Name) })
			return slices.Sorted(slices.Values(append(mapped(flags, func(f Flag) string { return f.Name + ": " + f.Value }), "reads: "+l.Reads)))
		}
		a, b := texts(file[i]), texts(find[i])
		only := func(all, others []string) string {
			return cmp.Or(strings.Join(slices.DeleteFunc(all, func(t string) bool { return slices.Contains(others, t) }), ", "), "nothing of it")
		}
		if !slices.Equal(a, b) {
			return fmt.Errorf("the find is of another workload: load %s has %s in the file, and %s there", file[i].Name, only(slices.Clone(a), b), only(slices.Clone(b), a))
		}
	}
	return nil
}
