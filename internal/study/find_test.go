package study

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// cluster is a cluster with a capacity that varies, as a queue sees it: noise that lasts (AR(1)) and a
// stall of 0.4 s every 30 s.
type cluster struct {
	capacity float64
	chance   *rand.Rand
}

// trial offers a rate for some seconds, and judges by the same rules as kt: what was carried, and
// whether the backlog grew.
func (c *cluster) trial(s Step) Trial {
	t := Trial{Step: s}
	noise, waiting, carried, phase := 0.0, 0.0, 0.0, c.chance.Float64()*30
	var at, backlogs []float64
	seconds := int(s.Time.Std() / time.Second)
	for i := range seconds {
		noise = 0.7*noise + c.chance.NormFloat64()*0.01
		can := c.capacity * (1 + noise)
		if at := math.Mod(float64(i)+phase, 30); at < 1 {
			can *= 0.6
		}
		offered := s.Rate
		if offered == 0 {
			offered = math.Inf(1)
		}
		done := math.Min(can, waiting+offered)
		carried += done
		if s.Rate > 0 {
			waiting += offered - done
		}
		at, backlogs = append(at, float64(i)), append(backlogs, waiting)
	}
	t.Achieved = carried / float64(seconds)
	t.Outcome = Passed
	if s.Rate > 0 && len(backlog(at, backlogs).reasons(s.Rate)) > 0 {
		t.Outcome = Failed
	}
	return t
}

// A simulated peak is what the cluster carries for long: its capacity less its stalls.
func TestTheHighestRateThatHoldsIsFound(t *testing.T) {
	search := DefaultSearch()
	near, most := 0, 0
	const searches = 200
	for seed := range uint64(searches) {
		c := &cluster{capacity: 50_000 + 1000*float64(seed), chance: rand.New(rand.NewPCG(seed, 1))}
		truth := c.capacity * (1 - 0.4/30)
		var done []Trial
		for {
			next, over := search.Next(done)
			if over {
				break
			}
			done = append(done, c.trial(next))
		}
		most = max(most, len(done))
		peak := search.Peak(done)
		if peak.Confirmations < 1 || peak.Low > peak.High {
			t.Fatalf("seed %d: %+v", seed, peak)
		}
		if math.Abs(peak.RecordsPerSecond/truth-1) <= 0.02 {
			near++
		}
	}
	if near < searches*95/100 {
		t.Errorf("%d of %d searches are within 2 %% of the truth", near, searches)
	}
	if most > 30 {
		t.Errorf("a search took %d runs", most)
	}
}
