package host

import "time"

// Sample is how busy this machine and this process were over one interval.
type Sample struct {
	At       time.Duration `json:"at_ns"`       // end of the interval, from the start of the run
	Interval time.Duration `json:"interval_ns"` // its length

	Cores      float64 `json:"cores"`                       // for this process: GOMAXPROCS, or its cgroup's limit if that is lower
	Stopped    float64 `json:"cpu_stopped_share,omitempty"` // share of the cgroup's periods in which its CPU limit stopped it
	ProcessCPU float64 `json:"process_cpu_cores"`           // user and system time of kt, in cores
	HostCPU    float64 `json:"host_cpu_cores"`              // everything that runs on the machine, kt included
	HostCores  float64 `json:"host_cores"`                  // logical CPUs of the machine
	RSS        int64   `json:"resident_bytes"`              // of kt
	GCPauseMax int64   `json:"gc_pause_max_ns"`             // longest stop of the world in the interval
	GCCPU      float64 `json:"gc_cpu_cores"`                // part of ProcessCPU spent collecting
	NetSent    int64   `json:"net_sent_bytes"`              // by the NICs; in a container by all interfaces but loopback
	NetSpeed   int64   `json:"net_speed_bits"`              // sum of the speeds of those that are up; 0: not known
	Unread     int     `json:"unread,omitempty"`            // sources that could not be read: their fields are 0
}

// Add makes s the sample of its own interval and of next, the one after it.
func (s *Sample) Add(next Sample) {
	if next.Interval <= 0 {
		return
	}
	sum := next
	sum.Interval += s.Interval
	sum.RSS = max(sum.RSS, s.RSS)
	sum.NetSent += s.NetSent
	sum.GCPauseMax = max(sum.GCPauseMax, s.GCPauseMax)
	sum.Unread = max(sum.Unread, s.Unread)
	for _, rate := range []struct {
		sum    *float64
		before float64
	}{{&sum.ProcessCPU, s.ProcessCPU}, {&sum.HostCPU, s.HostCPU}, {&sum.GCCPU, s.GCCPU}, {&sum.Stopped, s.Stopped}} {
		*rate.sum += (rate.before - *rate.sum) * s.Interval.Seconds() / sum.Interval.Seconds()
	}
	*s = sum
}
