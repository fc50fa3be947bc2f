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

// series turns readings into seconds. A rest of less than half a second says too
// little and is left out.
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

// spread says how even the rates were: by the calls, or of sustained ones on the
// device.
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

// reached is what got to the device in each second. Where that is not known it is
// the calls' rate, which is the device's only once every file had to be synced to
// make room: see trial.fill.
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
