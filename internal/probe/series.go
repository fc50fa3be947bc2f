package probe

import (
	"math"
	"time"
)

// reading is what has been done up to a moment.
type reading struct {
	at     time.Duration // from the start of the test
	bytes  int64         // by calls that returned
	device int64         // on the device; below 0: not known
}

// second is what happened between two readings, as rates.
func second(from, to reading) Second {
	s := Second{At: to.at.Seconds()}
	length := (to.at - from.at).Seconds()
	if length <= 0 {
		return s
	}
	s.Rate = float64(to.bytes-from.bytes) / mib / length
	if from.device >= 0 && to.device >= 0 {
		d := float64(to.device-from.device) / mib / length
		s.Device = &d
	}
	return s
}

// series turns readings into seconds. A rest of less than half a second says too little and is left out.
func series(readings []reading) []Second {
	return seconds(readings, 500*time.Millisecond)
}

func seconds(readings []reading, rest time.Duration) []Second {
	var out []Second
	if len(readings) == 0 {
		return out
	}
	from := readings[0]
	for i, r := range readings {
		length := r.at - from.at
		if length >= time.Second-50*time.Millisecond || i == len(readings)-1 && length >= rest {
			out = append(out, second(from, r))
			from = r
		}
	}
	return out
}

// beyond is the readings from when so many bytes had been written by the calls.
func beyond(readings []reading, bytes int64) []reading {
	for i, r := range readings {
		if r.bytes-readings[0].bytes >= bytes {
			return readings[i:]
		}
	}
	return nil
}

// spread says how even the rates were: by the calls, or of sustained ones on the device.
func spread(rates []float64) Spread {
	if len(rates) == 0 {
		return Spread{}
	}
	third := max(len(rates)/3, 1)
	return Spread{
		Seconds:    len(rates),
		CV:         variation(rates),
		FirstThird: mean(rates[:third]),
		LastThird:  mean(rates[len(rates)-third:]),
	}
}

// rates are the seconds' rates by the calls.
func rates(seconds []Second) []float64 {
	out := make([]float64, len(seconds))
	for i, s := range seconds {
		out[i] = s.Rate
	}
	return out
}

// reached is what got to the device in each second, or, where that is not known, the calls' rate once every file had to be synced
// (trial.fill).
func reached(seconds []Second) []float64 {
	out := rates(seconds)
	for i, s := range seconds {
		if s.Device != nil {
			out[i] = *s.Device
		}
	}
	return out
}

// variation is the standard deviation over the mean; 0 of fewer than two values.
func variation(v []float64) float64 {
	m := mean(v)
	if len(v) < 2 || m == 0 {
		return 0
	}
	var sum float64
	for _, x := range v {
		sum += (x - m) * (x - m)
	}
	return math.Sqrt(sum/float64(len(v)-1)) / m
}

func mean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	var sum float64
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

const (
	// even is the variation up to which the device's rate counts as steady.
	even = 0.05
	// heldBack is how far above the device's rate the calls may write and still be
	// said to be held back by it.
	heldBack = 1.25
	// forLimited is how many seconds it must be held back in the end: in fewer it may
	// have waited by chance.
	forLimited = 3
)

// steady reports whether the last n seconds are an even rate at which the device holds the writers back, and not the kernel's
// flushing.
func steady(seconds []Second, n int) bool {
	if n < 2 || len(seconds) < n {
		return false
	}
	last := seconds[len(seconds)-n:]
	device := reached(last)
	m := mean(device)
	return m > 0 && mean(rates(last)) <= heldBack*m && variation(device) <= even
}

// throttled is the index of the first second from which on the device held the writers back to the end; len(seconds): never. It goes
// by means of at least three seconds, for one may hold a burst of one writer.
func throttled(seconds []Second) int {
	calls, device := rates(seconds), reached(seconds)
	for i := range max(len(seconds)-forLimited+1, 0) {
		if m := mean(device[i:]); m > 0 && mean(calls[i:]) <= heldBack*m {
			return i
		}
	}
	return len(seconds)
}

// sustained is the rate that reached the device while it held the writers back, of the last n seconds when those were steady; when it
// never did, of the last third. others is the share of what the device wrote then that cannot have been kt's.
func sustained(seconds []Second, n int) (rate, others float64) {
	if len(seconds) == 0 {
		return 0, 0
	}
	from := throttled(seconds)
	switch {
	case steady(seconds, n):
		from = len(seconds) - n
	case from == len(seconds):
		from = len(seconds) - max(len(seconds)/3, 1)
	}
	// kt's part of what the device wrote is at most what kt wrote meanwhile and what
	// was still in memory before.
	wrote, reachedBefore := moved(seconds[:from])
	backlog := max(wrote-reachedBefore, 0)
	calls, device := moved(seconds[from:])
	length := float64(len(seconds) - from)
	const tolerated = 0.1
	if others = 1 - (calls+backlog)/device; device > 0 && others > tolerated {
		return (calls + backlog) / length, others
	}
	return device / length, 0
}

// moved is how many MiB the calls and the device wrote in some seconds, each taken as a whole one.
func moved(seconds []Second) (calls, device float64) {
	n := float64(len(seconds))
	return mean(rates(seconds)) * n, mean(reached(seconds)) * n
}
