package calibrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// Document is what a host can offer of one shape of load.
type Document struct {
	Schema     int            `json:"schema"`
	KTVersion  string         `json:"kt_version"`
	MeasuredAt time.Time      `json:"measured_at"`
	Shape      string         `json:"shape"` // of the loads that it holds for
	Host       host.Facts     `json:"host"`
	Ceiling    result.Ceiling `json:"ceiling"`
	OthersCPU  *float64       `json:"others_cpu_share"`  // of the CPUs that kt may use, in the run of the search with most of it; nil: not known
	TooLow     string         `json:"too_low,omitempty"` // the reason why the ceiling is; "": it is not
	Clients    int            `json:"producers"`         // that offer most; consumers of a load that reads
	Tried      []Trial        `json:"tried"`             // numbers of clients, in the order of the search
	Schedule   []Kept         `json:"schedule"`          // how precisely rates are kept; empty of a load that reads

	Brief string `json:"-"` // Shape for people: without settings that are as Kafka has them
	Reads bool   `json:"-"` // the clients are consumers
}

// Schema is the version of the document.
const Schema = 1

// Trial is one number of clients at an unlimited rate.
type Trial struct {
	Clients   int      `json:"producers"`
	OthersCPU *float64 `json:"others_cpu_share"` // nil: not known
	result.Ceiling
}

// Kept is how precisely a rate was kept.
type Kept struct {
	Rate           float64        `json:"rate"` // records a second
	OutOfReach     bool           `json:"out_of_reach,omitempty"`
	OfferedShare   float64        `json:"offered_share,omitempty"` // of the rate
	OwnSendDelayUS result.Latency `json:"own_send_delay_us,omitzero"`
	Kept           bool           `json:"kept"`  // and valid
	Valid          bool           `json:"valid"` // as kt judges every run
	Invalid        []string       `json:"invalid_reasons,omitempty"`
}

// Rates are those that are tried for their precision, in records a second.
var Rates = []float64{1_000, 50_000, 1_000_000}

// Options are what to measure.
type Options struct {
	Clients int       // that the load asks for; 0: search the best number
	CPUs    int       // that kt may use: no more clients are tried
	Rates   []float64 // empty: none
}

// Run is one run against the sink.
type Run struct {
	result.Result
	OthersCPU *float64 // share of the CPUs that kt may use, used by neither kt nor the sink; nil: not known
}

// Maker makes a run with so many clients, at an unlimited rate if rate is 0.
type Maker func(ctx context.Context, clients int, rate float64) (Run, error)

// gain is how much more twice as many clients must offer to be the better number.
const gain = 1.03

// othersShow is the share of the CPUs in use by others that makes a ceiling too low: the tolerance of verdict.ceilingHolds.
const othersShow = 0.10

// Measure searches the best number of clients, and looks how rates are kept with it. The clock and the version are the
// caller's to fill in.
func Measure(ctx context.Context, o Options, make Maker) (Document, error) {
	d := Document{Schema: Schema, Clients: max(1, o.Clients), Tried: []Trial{}, Schedule: []Kept{}}
	others, known := 0.0, true // the largest share that others used in a trial
	for clients := d.Clients; ; clients *= 2 {
		r, err := make(ctx, clients, 0)
		if err != nil {
			return d, err
		}
		c := result.Ceiling{RecordsPerSecond: r.Throughput.RecordsPerSecond, MiBPerSecond: r.Throughput.MiBPerSecond}
		if r.Plan.ReadsOnly() && r.Fetch != nil {
			c.RecordsPerSecond, c.MiBPerSecond = r.Fetch.RecordsPerSecond, r.Fetch.MiBPerSecond
		}
		d.Shape, d.Brief = Shape(&r.Header, false), Shape(&r.Header, true)
		d.Host, d.Reads = r.Environment.Host, r.Plan.ReadsOnly()
		if c.RecordsPerSecond == 0 {
			return d, fmt.Errorf("nothing was measured with %d %s: %s", clients, d.Role(clients), r.BoundBy.Evidence)
		}
		c.CPUSecondsPerMillion = r.Client.CPUCores / c.RecordsPerSecond * 1e6 // of kt itself, and not of the sink
		d.Tried = append(d.Tried, Trial{clients, r.OthersCPU, c})
		if r.OthersCPU == nil {
			known = false
		} else {
			others = max(others, *r.OthersCPU)
		}
		better := c.RecordsPerSecond > gain*d.Ceiling.RecordsPerSecond
		if better {
			d.Ceiling, d.Clients = c, clients
		}
		if !better || o.Clients > 0 || 2*clients > max(1, o.CPUs) {
			break
		}
	}
	if known || others >= othersShow {
		d.OthersCPU = &others
	}
	if others >= othersShow {
		d.TooLow = fmt.Sprintf("others used %.0f %% of the CPUs: this ceiling is too low", 100*others)
	}
	for _, rate := range o.Rates {
		if rate > d.Ceiling.RecordsPerSecond {
			d.Schedule = append(d.Schedule, Kept{Rate: rate, OutOfReach: true})
			continue
		}
		r, err := make(ctx, d.Clients, rate)
		if err != nil {
			return d, err
		}
		d.Schedule = append(d.Schedule, Kept{
			Rate: rate, OfferedShare: r.Throughput.OfferedRecordsPerSecond / rate, OwnSendDelayUS: r.Latency.OwnSendDelay,
			Kept: r.Valid && r.TargetReached == nil, Valid: r.Valid, Invalid: r.Invalid,
		})
	}
	return d, nil
}

// Role returns the name of so many clients.
func (d *Document) Role(clients int) string {
	role := map[bool]string{true: "consumer", false: "producer"}[d.Reads]
	if clients != 1 {
		role += "s"
	}
	return role
}

// shaping are the properties that decide what a record costs to send.
var shaping = []string{
	"compression.type", "acks", "enable.idempotence", "batch.size", "linger.ms", "max.request.size", "max.in.flight.requests.per.connection",
}

// Shape names the loads that a ceiling holds for: all that decides what a record costs to send. What it costs to read is
// the topic's, so a load that reads has no shape but its engine. In brief it leaves out settings that are as Kafka has them.
func Shape(h *result.Header, brief bool) string {
	p := &h.Plan
	if p.Reads() {
		return fmt.Sprintf("%s %s", p.Command, p.Engine)
	}
	s := fmt.Sprintf("%s %s %s", p.Command, p.Engine, p.Payload.String())
	switch p.Payload.Kind {
	case plan.Mixed:
		s += fmt.Sprintf(" mixed compressibility=%g", p.Payload.Compressibility)
	case plan.File, plan.Template:
		s += fmt.Sprintf(" of %g B", p.Payload.FileMean)
	case plan.Letters, plan.Monotonic: // as they are
	}
	for _, name := range shaping {
		var c result.Setting
		if i := slices.IndexFunc(h.Config, func(s result.Setting) bool { return s.Name == name }); i >= 0 {
			c = h.Config[i]
		}
		if !brief || c.Value != c.Default {
			s += fmt.Sprintf(" %s=%s", name, c.Value)
		}
	}
	if n := len(p.Payload.Headers); n > 0 {
		size := 0
		for _, header := range p.Payload.Headers {
			size += len(header.Key) + len(header.Value)
		}
		s += fmt.Sprintf(" headers=%d of %d bytes", n, size)
	}
	if p.Payload.Stamp {
		s += " stamped"
	}
	if p.Payload.Keys != plan.NoKeys {
		s += fmt.Sprintf(" keys=%s of %d", p.Payload.Keys, p.Payload.KeyRange)
	}
	return s
}

// FileName is the name of the file in the folder of kt's state.
const FileName = "ceilings.json"

// maxFile bounds a file, and so the number of shapes.
const maxFile = 4 << 20

// Save keeps a document in a file, in the place of an earlier one of its shape. The file is replaced as a whole.
func Save(path string, d Document) error {
	all, err := read(path)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(old Document) bool { return old.Shape == d.Shape && sameMachine(&old.Host, &d.Host) })
	text, err := json.MarshalIndent(append(all, d), "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return input.ReplaceText(path, 0o600, append(text, '\n'))
}

// Check returns an error if Save could not keep a document in a file: a measurement that cannot be saved takes as long as
// any other. It leaves no file behind.
func Check(path string) error {
	if _, err := read(path); err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, FileName)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Find returns the ceiling of a shape of load on a machine, with one version of kt, nil if none was saved. An error is of a
// file that cannot be read.
func Find(path, shape, version string, machine host.Facts) (*result.Ceiling, error) {
	all, err := read(path)
	for i := range all {
		if d := &all[i]; d.Schema == Schema && d.Shape == shape && d.KTVersion == version && sameMachine(&d.Host, &machine) {
			return &d.Ceiling, nil
		}
	}
	return nil, err
}

// read returns the documents of a file, none if there is no file. Its errors name the file.
func read(path string) ([]Document, error) {
	all := []Document{}
	text, err := input.Read(path, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return all, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: it is damaged (%w): remove it, and run kt calibrate --save again", path, err)
	}
	return all, nil
}

// sameMachine reports whether two hosts can offer the same: it takes the same limits too.
func sameMachine(a, b *host.Facts) bool {
	return a.Hostname == b.Hostname && a.CPUModel == b.CPUModel && a.LogicalCPUs == b.LogicalCPUs &&
		a.GOMAXPROCS == b.GOMAXPROCS && a.CPULimitCores == b.CPULimitCores && a.Kernel == b.Kernel
}
