package plan

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// ShareGroup is how consumers acknowledge the records of a share group: the percentages that they release and reject. The rest is
// accepted. ParseAcks makes it.
type ShareGroup struct {
	Release float64 `json:"release_percent,omitempty"` // to be delivered again
	Reject  float64 `json:"reject_percent,omitempty"`  // nobody gets them any more
}

// ParseAcks reads "accept@97,release@2,reject@1", which add up to 100, or less without accept.
func ParseAcks(s string) (g ShareGroup, err error) {
	accept := math.NaN()
	to := map[string]*float64{"accept": &accept, "release": &g.Release, "reject": &g.Reject} // each once
	for part := range strings.SplitSeq(s, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(part), "@")
		n, err := ParseNumber(text)
		if err == nil && to[name] == nil && strings.Count(s, name+"@") > 1 {
			return ShareGroup{}, fmt.Errorf("%s is there twice", name)
		}
		if err != nil || to[name] == nil || n < 0 {
			return ShareGroup{}, errors.New("write percentages of records, as accept@97,release@2,reject@1 or release@10")
		}
		*to[name] = n
		delete(to, name)
	}
	sum := g.Release + g.Reject
	if !math.IsNaN(accept) {
		sum += accept
	}
	if sum > 100 || !math.IsNaN(accept) && sum < 100-1e-9 {
		return ShareGroup{}, fmt.Errorf("the percentages add up to %.10g, not to 100", sum)
	}
	return g, nil
}

// Ack is how a record is acknowledged.
type Ack int

// The ways to acknowledge a record.
const (
	Accept Ack = iota
	Release
	Reject
)

// Draw returns how the next record is acknowledged.
func (g *ShareGroup) Draw(rng *rand.Rand) Ack {
	switch n := 100 * rng.Float64(); {
	case n < g.Release:
		return Release
	case n < g.Release+g.Reject:
		return Reject
	}
	return Accept
}

// String returns what ParseAcks reads; "": every record is accepted.
func (g *ShareGroup) String() string {
	if g == nil || *g == (ShareGroup{}) {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSuffix(fmt.Sprintf("release@%.10g,reject@%.10g", g.Release, g.Reject), ",reject@0"), "release@0,")
}
