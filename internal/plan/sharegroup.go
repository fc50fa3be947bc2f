package plan

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// ShareGroup is how consumers read in a share group. The zero value accepts every record.
type ShareGroup struct {
	Ack Acks `json:"acknowledge,omitzero"`
}

// Acks is which share of the delivered records is accepted, released or rejected. The zero value accepts all. ParseAcks makes it.
type Acks struct{ release, reject float64 } // percent; the rest is accepted

// Ack is how a record is acknowledged.
type Ack int

// The ways to acknowledge a record.
const (
	Accept  Ack = iota
	Release     // it is delivered again
	Reject      // nobody gets it any more
)

// ParseAcks reads "accept@97,release@2,reject@1", in percent. What is left without accept is accepted.
func ParseAcks(s string) (Acks, error) {
	var a Acks
	accept := -1.0
	wrong := errors.New("write percentages of records, as accept@97,release@2,reject@1 or release@10")
	for part := range strings.SplitSeq(s, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(part), "@")
		n, err := ParseNumber(text)
		to := map[string]*float64{"accept": &accept, "release": &a.release, "reject": &a.reject}[name]
		if err != nil || to == nil || !(n >= 0 && n <= 100) {
			return Acks{}, wrong
		}
		*to = n
	}
	sum := a.release + a.reject
	switch {
	case accept >= 0 && math.Abs(sum+accept-100) > 1e-9:
		return Acks{}, fmt.Errorf("the shares add up to %v %%, not to 100", sum+accept)
	case sum > 100:
		return Acks{}, fmt.Errorf("the shares add up to %v %%, more than 100", sum)
	}
	return a, nil
}

// Draw returns how the next record is acknowledged.
func (a Acks) Draw(rng *rand.Rand) Ack {
	switch n := 100 * rng.Float64(); {
	case n < a.release:
		return Release
	case n < a.release+a.reject:
		return Reject
	}
	return Accept
}

// IsZero reports whether every record is accepted.
func (a Acks) IsZero() bool { return a == Acks{} }

// String returns it as ParseAcks reads it.
func (a Acks) String() string {
	text := fmt.Sprintf("accept@%.10g", 100-a.release-a.reject)
	if a.release > 0 {
		text += fmt.Sprintf(",release@%v", a.release)
	}
	if a.reject > 0 {
		text += fmt.Sprintf(",reject@%v", a.reject)
	}
	return text
}

// MarshalText returns String.
func (a Acks) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what ParseAcks does.
func (a *Acks) UnmarshalText(b []byte) (err error) {
	*a, err = ParseAcks(string(b))
	return err
}

// Equal reports whether both are the same.
func (a Acks) Equal(o Acks) bool { return a == o }
