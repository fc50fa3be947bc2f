package study

import (
	"cmp"
	"errors"
	"math"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// usage is what all brokers used together in a run, and what one of them has.
type usage struct {
	brokers   int
	used, has map[string]float64 // by resource: cores, or bytes a second
	loads     []written
}

// written is how the writes of a load are spread over brokers.
type written struct {
	share                float64 // of the bytes of all loads
	partitions, replicas int     // of all its topics, and the most of one; 0: not known
}

// usageOf returns what the brokers used in a run: by their vitals where agents watched their hosts, else the bytes that the clients
// counted, with those of replicas.
func usageOf(r *result.Result) *usage {
	loads := loadsOf(r)
	u := &usage{brokers: len(loads[0].Environment.Cluster.Brokers), used: make(map[string]float64), has: make(map[string]float64)}
	var sent, received, all float64
	for i := range loads {
		l, in, out, one := &loads[i], 0.0, 0.0, written{}
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
	hosts, speed := merge.WatchedBrokers(r.Hosts), math.Inf(1)
	if len(hosts) > 0 {
		clear(u.used)
	}
	for _, h := range hosts {
		of, bits, in, out := float64(u.brokers)/float64(len(hosts)), int64(0), 0.0, 0.0 // hosts that were not watched are taken to be alike
		for _, d := range h.Busy.Disks {
			u.used[ofDisk] += (d.ReadMiB + d.WrittenMiB) * input.MiB * of
		}
		for _, n := range h.Busy.Networks {
			bits, in, out = bits+n.SpeedBits, in+n.ReceivedMiB*input.MiB, out+n.SentMiB*input.MiB
		}
		u.used[ofNetwork] += max(in, out) * of
		u.used[ofCPU] += h.Busy.CPUShare * h.Busy.Cores * of
		speed = min(speed, float64(bits)/8)
		u.has[ofCPU], u.has[ofNetwork] = max(u.has[ofCPU], h.Busy.Cores), speed
	}
	return u
}

// busiest returns the share of the load that falls to the busiest of some brokers: partitions cannot be divided.
func (u *usage) busiest(brokers int) (share float64) {
	for _, l := range u.loads {
		parts := cmp.Or(float64(l.partitions), float64(brokers))
		share += l.share * math.Ceil(parts/float64(brokers)) / parts
	}
	return share
}

// mostSized is a number of brokers that no cluster has.
const mostSized = 10_000

// brokersFor returns how many brokers carry a scale while one of them is down, each of which carries some scale; 0: no number does.
func (u *usage) brokersFor(scale, one float64) int {
	for n := 1; n <= mostSized; n++ {
		if scale*u.busiest(n) <= one*(1+1e-9) {
			return n + 1
		}
	}
	return 0
}

// uses returns the highest scale of the valid trials of a search, and of its trials that held the use of the last one, and the scale and the use
// of each resource by one broker.
func (d *Document) uses() (tried float64, last *usage, scales []float64, used map[string][]float64, err error) {
	last, used = new(usage), make(map[string][]float64)
	trials, loads, err := d.Study.Find.trials(d)
	for i, t := range trials {
		if t.Outcome != Invalid {
			tried = max(tried, t.Rate)
		}
		if t.Outcome != Passed || loads[i][0].usage.brokers == 0 {
			continue
		}
		last = loads[i][0].usage
		scales = append(scales, t.Rate/float64(last.brokers))
		for name, n := range last.used {
			used[name] = append(used[name], n/float64(last.brokers))
		}
	}
	return tried, last, scales, used, err
}

// law is the scale that one broker carries with some use of a resource.
type law struct {
	name    string // linear, or USL: the Universal Scalability Law
	carries func(use float64) float64
	err     float64 // root of the mean squared relative error on scales that were left out; infinite: not known
}

// fitLaw fits the law that tells left-out scales best to the use of one broker at some scales; nil: the use does not grow.
func fitLaw(scale, use []float64) (best *law) {
	if len(use) < len(scale) { // it was not known in all trials
		return nil
	}
	for _, fit := range []func(scale, use []float64) *law{line, usl} {
		l := fit(scale, use)
		if l == nil {
			break
		}
		if l.err = leftOut(scale, use, fit); best == nil || l.err < best.err {
			best = l
		}
	}
	return best
}

// usl fits the Universal Scalability Law with the use in the place of workers; nil: there are too few scales, or its terms are below 0.
func usl(scale, use []float64) *law {
	s, err := inference.USL(use, scale, alpha)
	if err != nil && !errors.Is(err, inference.ErrNoPeak) || s.Gamma <= 0 || s.Beta < 0 || s.Alpha < 0 || s.Alpha >= 1 {
		return nil
	}
	return &law{name: "USL", carries: s.At}
}

// line fits a straight line by least squares, through 0 where it would begin below; nil: it does not rise.
func line(x, y []float64) *law {
	n, sx, sy, sxx, sxy := float64(len(x)), 0.0, 0.0, 0.0, 0.0
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	idle, slope := 0.0, verdict.Per(sxy, sxx)
	if d := n*sxx - sx*sx; d > 1e-9*n*sxx {
		if steep := (n*sxy - sx*sy) / d; sy > steep*sx {
			idle, slope = (sy-steep*sx)/n, steep
		}
	}
	if slope <= 0 {
		return nil
	}
	return &law{name: "linear", carries: func(use float64) float64 { return max(0, (use-idle)/slope) }}
}

// leftOut returns the error of a law on each scale when it is fitted to all others; infinite: there are too few.
func leftOut(scale, use []float64, fit func(scale, use []float64) *law) float64 {
	sum := 0.0
	for i, level := range scale {
		var s, u []float64
		for j := range scale {
			if scale[j] != level {
				s, u = append(s, scale[j]), append(u, use[j])
			}
		}
		l := fit(s, u)
		if l == nil {
			return math.Inf(1)
		}
		e := l.carries(use[i])/level - 1
		sum += e * e
	}
	return math.Sqrt(sum / float64(len(scale)))
}
