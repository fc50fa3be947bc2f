package plan

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Payload is the content of the records.
type Payload struct {
	Kind PayloadKind `json:"kind"`
	Size Size        `json:"record_size,omitzero"` // of Letters and Mixed; in bytes

	// Compressibility of a Mixed payload, 0 (random bytes) to 1 (all the same):
	// the share of each record that a codec can remove.
	Compressibility float64 `json:"compressibility,omitempty" flag:"compressibility"`

	File      string `json:"file,omitempty"`      // of File and Template
	Delimiter string `json:"delimiter,omitempty"` // between the payloads in File; "": line ends, \n or \r\n
	// Whole takes File as one payload. A stamp takes the place of its first bytes, so that its size stays.
	Whole bool `json:"whole,omitempty" flag:"payload-whole"`

	// FileMean and FileMax are the mean and the largest payload of File and Template in
	// bytes, found when they were read or made.
	FileMean float64 `json:"file_mean_bytes,omitempty"`
	FileMax  int     `json:"file_max_bytes,omitempty"`

	Keys     KeyDistribution `json:"key_distribution" flag:"key-distribution"`
	KeyRange int64           `json:"record_key_range,omitempty" flag:"record-key-range"`
	Headers  []Header        `json:"headers,omitempty"`

	Stamp bool `json:"stamp,omitempty"` // the value begins with kt's stamp, from which its reader knows it
}

// OwnValues reports whether another seed makes other values: enough of each is random that no two are equal by chance.
func (p *Payload) OwnValues() bool {
	const random = 16 // bytes
	least, ok := p.Size.Min()
	return ok && (p.Kind == Letters && least >= 2*random || p.Kind == Mixed && p.Compressibility <= 0.9 && float64(least)*(1-p.Compressibility) >= 4*random)
}

// Header is one header that every record carries.
type Header struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// PayloadKind is where record values come from.
type PayloadKind string

// The kinds of payload.
const (
	Letters   PayloadKind = "letters"   // random letters A to Z, as Kafka's own tool makes them
	Mixed     PayloadKind = "mixed"     // random bytes beside constant ones, by Compressibility
	File      PayloadKind = "file"      // lines of a file, picked at random
	Template  PayloadKind = "template"  // values that the template in a file makes, picked at random
	Monotonic PayloadKind = "monotonic" // the record's number in decimal
)

// KeyDistribution is how record keys are chosen.
type KeyDistribution string

// The key distributions of Kafka's own tool (KIP-1299). Keys are decimal numbers
// from 0 to KeyRange-1.
const (
	NoKeys     KeyDistribution = "none"
	RangeKeys  KeyDistribution = "range"  // one after the other, in a circle
	RandomKeys KeyDistribution = "random" // uniform
)

// CheckKeys returns an error unless keys may be distributed like that.
func CheckKeys(s string) error {
	switch _, err := ParseZipf(s); {
	case err == nil || s == string(NoKeys) || s == string(RangeKeys) || s == string(RandomKeys):
		return nil
	case strings.HasPrefix(s, "zipf"):
		return err
	}
	return errors.New("it must be none, range, random or zipf:S")
}

// MaxZipfKeys is the most keys that a Zipf law is drawn from: larger numbers are not exact in it.
const MaxZipfKeys = 1 << 53

// ZipfKeys returns the law of the keys, of which 0 is the most frequent; nil: they have none. The law is KeyDistribution "zipf:S".
func (p *Payload) ZipfKeys() *Zipf {
	if s, err := ParseZipf(string(p.Keys)); err == nil {
		return NewZipf(s, p.KeyRange)
	}
	return nil
}

// DistinctKeys returns how many distinct keys so many records are expected to have.
func (p *Payload) DistinctKeys(records int64) (keys float64) {
	n, drawn, zipf := float64(p.KeyRange), float64(records), p.ZipfKeys()
	switch {
	case p.Keys == NoKeys || n == 0:
		return 0
	case p.Keys == RangeKeys:
		return min(n, drawn)
	case zipf == nil:
		return -n * math.Expm1(-drawn/n)
	}
	all := zipf.weight(0, p.KeyRange)
	for from, to := int64(0), int64(0); from < p.KeyRange; from = to {
		to = min(p.KeyRange, from+1+from/64) // ranks beside each other are about as frequent
		ranks := float64(to - from)
		keys -= ranks * math.Expm1(-drawn*zipf.weight(from, to)/all/ranks)
	}
	return keys
}

// decimalDigits is the most digits that a record number or key takes.
const decimalDigits = 19

// headerOverhead is the most that a header's two lengths take, as varints.
const headerOverhead = 10

// MeanBytes returns the expected size of a record's key and value.
func (p *Payload) MeanBytes() float64 {
	n := p.Size.Mean()
	switch p.Kind {
	case File, Template:
		n = p.FileMean + float64(p.stampBytes())
	case Monotonic:
		n = 7 + float64(p.stampBytes()) // a number of seven digits: good enough to turn bytes into records
	}
	if p.Keys != NoKeys && p.KeyRange > 0 {
		zipf := p.ZipfKeys()
		all, sum, digits := 0.0, 0.0, 1.0 // of the decimal digits of all keys
		for from, to := int64(0), int64(10); from < p.KeyRange; from, to, digits = to, to*10, digits+1 {
			if to > p.KeyRange || to < from { // the last step, or one past the largest integer
				to = p.KeyRange
			}
			weight := float64(to - from)
			if zipf != nil {
				weight = zipf.weight(from, to)
			}
			all, sum = all+weight, sum+digits*weight
		}
		n += sum / all
	}
	return n
}

// MaxBytes returns the most that a record's key, value and headers can take.
func (p *Payload) MaxBytes() int {
	n := p.Size.Max()
	switch p.Kind {
	case File, Template:
		n = p.FileMax + p.stampBytes()
	case Monotonic:
		n = decimalDigits + p.stampBytes()
	}
	if p.Keys != NoKeys {
		n += decimalDigits
	}
	for _, h := range p.Headers {
		n += len(h.Key) + len(h.Value) + headerOverhead
	}
	return n
}

// StampBytes is the size of the stamp by which a record is known when it is read.
const StampBytes = 40

// stampBytes returns the bytes that a stamp adds to a payload that is not generated.
func (p *Payload) stampBytes() int {
	switch {
	case p.Stamp && p.Whole:
		return max(0, StampBytes-p.FileMax)
	case p.Stamp:
		return StampBytes
	}
	return 0
}

func (p *Payload) String() string {
	switch p.Kind {
	case File:
		return "payloads of " + p.File
	case Template:
		return "payloads by " + p.File
	case Monotonic:
		return "monotonic payloads"
	}
	if p.Size.Fixed() {
		return fmt.Sprintf("%d B", p.Size.Max())
	}
	if text := p.Size.String(); strings.Contains(text, "B") {
		return text
	}
	return p.Size.String() + " B"
}
