package study

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/result/verdict"
)

// The rows of a size: the limit that a search found, resources of brokers, and replicas, which are on brokers of their own.
const (
	ofLimit    = "the limit that was found"
	ofCPU      = "CPU"
	ofDisk     = "disk"
	ofNetwork  = "network"
	ofReplicas = "replicas"
	ofBound    = "lower bound" // the law of a limit that was not found
)

const (
	usable     = 0.9 // of a resource: the threshold of the verdict across hosts
	farthest   = 2   // times the highest scale tried: beyond it nothing is said
	deviations = 2   // of the held-out errors, within which 95 % of them lie if they are normal
)

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
	High     int       `json:"high"`             // 0: it cannot be told
	Decides  string    `json:"decides"`          // the resource that needs most
	Rows     []SizeRow `json:"resources"`
	Remarks  []string  `json:"remarks"`
	Sentence string    `json:"sentence"`
}

// SizeRow is how many brokers one resource needs.
type SizeRow struct {
	Resource string  `json:"resource"`
	Unit     string  `json:"unit"`              // scale, cores, bytes/s or brokers
	Need     float64 `json:"need"`              // of all brokers together, at the scale
	Gives    float64 `json:"gives"`             // one broker, up to the share of it that can be used
	Reached  Share   `json:"reached,omitempty"` // of it, in the trial that used most
	Brokers  int     `json:"brokers"`
	Low      int     `json:"low"`
	High     int     `json:"high"`            // 0: it cannot be told
	Law      string  `json:"law"`             // measured, linear, or USL: the Universal Scalability Law
	Error    *Share  `json:"error,omitempty"` // root of the mean squared relative error on scales that were left out; nil: there are too few
}

// hasOne matches what a broker has of a resource: a number of cores, bits a second, or bytes a second.
var hasOne = regexp.MustCompile(`^(cpu|disk|network)=([0-9.]+)(|([MGT])bit|[KMGT]iB)(/s)?$`)

// ParseBroker reads what a broker has: cpu=16,disk=500MiB/s,network=10Gbit.
func ParseBroker(text string) (map[string]float64, error) {
	has := make(map[string]float64)
	for part := range strings.SplitSeq(text, ",") {
		m := append(hasOne.FindStringSubmatch(strings.TrimSpace(part)), make([]string, 6)...)
		n, _ := strconv.ParseFloat(m[2], 64) // else it is 0
		unit := map[string]float64{"": 1, "Mbit": 1e6 / 8, "Gbit": 1e9 / 8, "Tbit": 1e12 / 8, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[m[3]]
		resource := map[string]string{"cpu": ofCPU, "disk": ofDisk, "network": ofNetwork}[m[1]]
		switch {
		case n > 0 && m[1] != "cpu" && m[3] == "":
			return nil, fmt.Errorf("--broker %q: %q has no unit: write %s=%s", text, part, m[1], m[2]+map[string]string{"disk": "MiB/s", "network": "Gbit"}[m[1]])
		case n*unit <= 0 || has[resource] > 0 || m[1] == "cpu" && m[3]+m[5] != "" || m[1] == "disk" && m[4] != "":
			return nil, fmt.Errorf("--broker %q: %q: write what one broker has, each once, as in cpu=16,disk=500MiB/s,network=10Gbit", text, part)
		}
		has[resource] = n * unit
	}
	return has, nil
}

// Size returns how many brokers carry a scale of the workload of a search, while one of them is down. broker is what each has, as
// ParseBroker reads it; "": they are like those of the search. An error says why the question is outside of what was measured.
func Size(d *Document, scale float64, broker string) (*SizeDocument, error) {
	find, less := d, []Peak(nil)
	if o := cmp.Or(d.WholeDoc, new(WholeDoc)); len(o.Parts) > 0 && o.Parts[0].Find != nil && o.Parts[0].Name == AllPart {
		if find = o.Parts[0].Find; o.OneLess != nil && o.OneLess.Without.N > 0 {
			less = []Peak{o.OneLess.Without}
		}
	}
	bad := func(format string, args ...any) (*SizeDocument, error) {
		return nil, fmt.Errorf("find %s: "+format, append([]any{d.ID}, args...)...)
	}
	if find.FindDoc == nil || !find.Study.Find.Scale || d.Embedded {
		return bad("it is no search of the highest scale of a workload on brokers outside kt: make one with kt find -- run FILE --bootstrap-server HOST:PORT")
	} else if !find.Over || find.Peak.RecordsPerSecond == 0 {
		return bad("it is not over, or no scale was found that holds: kt study report %s has what is known", d.ID)
	}
	tried, u, scales, used, err := find.uses()
	if err != nil {
		return nil, err
	} else if len(u.loads) == 0 {
		return bad("its runs do not say how many brokers there were, or what was written")
	} else if scale > farthest*tried {
		return bad("--scale %v is more than twice the highest scale that was tried (%v): search on more brokers, or with a higher --ladder", scale, tried)
	}
	s := &SizeDocument{Schema: Schema, Scale: scale, Find: d.ID, Measured: u.brokers, Broker: broker, Remarks: []string{}}
	has := u.has
	if broker == "" {
		s.Rows = append(s.Rows, limitRow(scale, u, append([]Peak{find.Peak.bracket()}, less...)...))
		s.remark(less == nil, "that one broker less carries its share less was not measured: kt find --without broker does")
	} else if has, err = ParseBroker(broker); err != nil {
		return nil, err
	}
	s.remark(broker != "", "what limited the brokers of the search is in no row, unless it is one of these resources: other brokers may not pass it")
	for _, name := range []string{ofCPU, ofDisk, ofNetwork} {
		l := fitLaw(scales, used[name])
		switch {
		case has[name] > 0 && l != nil:
			s.Rows = append(s.Rows, resourceRow(scale, u, l, name, usable*has[name], slices.Max(used[name])))
		case has[name] > 0 && broker != "":
			return bad("--broker %q: the use of %s was not measured, or does not grow; start kt agent on the brokers' hosts, and search again with --on", broker, name)
		}
		s.remark(has[name] > 0 && l == nil, "the use of "+name+" does not grow with the scale, so it has no row")
	}
	replicas := slices.MaxFunc(u.loads, func(a, b written) int { return cmp.Compare(a.replicas, b.replicas) }).replicas
	s.remark(replicas < 2, "topics have one replica: what is on a broker that is down cannot be read or written")
	if replicas > 1 {
		s.Rows = append(s.Rows, SizeRow{Resource: ofReplicas, Unit: "brokers", Need: float64(replicas), Gives: 1, Brokers: replicas, Low: replicas, High: replicas, Law: "measured"})
	}
	s.conclude()
	return s, nil
}

func (s *SizeDocument) remark(is bool, text string) {
	if is {
		s.Remarks = append(s.Remarks, text)
	}
}

// limitRow returns the row of peaks: of all brokers, and of one less. The lower of the limits that were found counts. Without any no trial
// says what a broker cannot carry, and the highest lower bound counts.
func limitRow(scale float64, u *usage, peaks ...Peak) SizeRow {
	row := SizeRow{Resource: ofLimit, Unit: "scale", Need: scale, Reached: 1, Law: "measured"}
	found, bounds, high := []float64(nil), []float64(nil), 0.0
	for i, p := range peaks {
		share := u.busiest(u.brokers - i)
		if bounds = append(bounds, p.Low*share); p.High > 0 {
			found, high = append(found, p.Low*share), max(high, p.High*share)
		}
	}
	switch len(found) {
	case 0:
		found, high, row.Law = []float64{slices.Max(bounds)}, math.Inf(1), ofBound
	case 2:
		row.Error = new(Share(math.Abs(found[1]/found[0] - 1)))
	}
	row.Gives = slices.Min(found)
	row.Brokers, row.Low, row.High = u.brokersFor(scale, row.Gives), u.brokersFor(scale, high), u.brokersFor(scale, row.Gives)
	return row
}

// resourceRow returns the row of a resource of which one broker gives some.
func resourceRow(scale float64, u *usage, l *law, name string, gives, most float64) SizeRow {
	one := l.carries(gives)
	row := SizeRow{
		Resource: name, Unit: map[bool]string{true: "cores", false: "bytes/s"}[name == ofCPU], Gives: gives, Need: scale * verdict.Per(gives, one), Reached: Share(most / gives),
		Law: l.name, Brokers: u.brokersFor(scale, one),
		Low: u.brokersFor(scale, one*(1+deviations*l.err)), High: u.brokersFor(scale, one*(1-deviations*l.err)),
	}
	if !math.IsInf(l.err, 1) {
		row.Error = new(Share(l.err))
	}
	return row
}

// conclude takes the row that needs most brokers.
func (s *SizeDocument) conclude() {
	most := func(a, b int) bool { return a == 0 || b > 0 && a > b } // 0: no number is enough
	for i, r := range s.Rows {
		if i == 0 || most(r.Brokers, s.Brokers) {
			s.Brokers, s.Decides = r.Brokers, r.Resource
		}
		if s.Low = max(s.Low, r.Low); i == 0 || most(r.High, s.High) {
			s.High = r.High
		}
	}
	s.Sentence = say("size", s)
}
