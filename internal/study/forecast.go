package study

import (
	"fmt"
	"math"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/theme"
)

// Forecast is what a study will take, before any run is made.
type Forecast struct {
	Schema   int                 `json:"schema"`
	Study    *Study              `json:"study"`
	Cells    []map[string]string `json:"cells"`
	Runs     []RunPlan           `json:"runs"`
	More     bool                `json:"more_runs"`                   // a search adds further runs
	Seconds  float64             `json:"seconds,omitempty"`           // of these runs, with the time between them; 0: not known
	Bytes    float64             `json:"written_bytes,omitempty"`     // by these runs, with replicas and before compression; 0: not known
	AtOnce   float64             `json:"most_stored_bytes,omitempty"` // of prepared topics and the largest run
	NotKnown []string            `json:"not_known,omitempty"`         // what of these is not known, and why
	LogDirs  []LogDir            `json:"log_dirs,omitempty"`          // of the brokers
	Usable   int64               `json:"usable_bytes,omitempty"`      // of their disks together; 0: not known
	Room     Room                `json:"room"`
}

// RunPlan is a run that will be made.
type RunPlan struct {
	Turn   int               `json:"turn"`
	Repeat int               `json:"repeat"`
	At     map[string]string `json:"at"`
}

// LogDir is a log directory of a broker.
type LogDir struct {
	Broker int32  `json:"broker"`
	Host   string `json:"host"`
	Path   string `json:"path"`
	Total  int64  `json:"total_bytes"`  // of its disk; below 0: the broker does not say
	Usable int64  `json:"usable_bytes"` // of its disk
}

// Room says whether the log directories have room for a study.
type Room string

// The kinds of room.
const (
	RoomForAll  Room = "for_all"  // for all runs, also if no topic is deleted
	RoomInTurns Room = "in_turns" // for each run, when the topics of the others are gone
	NoRoom      Room = "none"
	RoomUnknown Room = "not_known"
)

// takes is what loads take: below 0 it is not known.
type takes struct{ seconds, bytes float64 }

// Forecast returns what a study will take.
func (s *Study) Forecast(lab Lab) (*Forecast, error) {
	f := &Forecast{Schema: Schema, Study: s, More: s.searched() != nil, Room: RoomUnknown}
	prepared, err := f.prepared(lab)
	if err != nil {
		return nil, err
	}
	runs := make(map[int]takes)
	for _, c := range s.Cells() {
		f.Cells = append(f.Cells, c.values())
		var one takes
		for _, l := range s.Loads {
			t, err := f.load(lab, s.at(c, l))
			if err != nil {
				return nil, err
			}
			one.seconds, one.bytes = longer(one.seconds, t.seconds), sum(one.bytes, t.bytes)
		}
		runs[c.Index] = one
		f.AtOnce = longer(f.AtOnce, one.bytes)
	}
	f.Seconds, f.Bytes, f.AtOnce = prepared.seconds, prepared.bytes, sum(prepared.bytes, f.AtOnce)
	for i, t := range s.Turns() {
		f.Runs = append(f.Runs, RunPlan{t.Number, t.Repeat, t.Cell.values()})
		f.Seconds, f.Bytes = sum(f.Seconds, runs[t.Cell.Index].seconds), sum(f.Bytes, runs[t.Cell.Index].bytes)
		if i > 0 {
			f.Seconds = sum(f.Seconds, s.Rest.Std().Seconds())
		}
	}
	f.Seconds, f.Bytes, f.AtOnce = max(f.Seconds, 0), max(f.Bytes, 0), max(f.AtOnce, 0)
	f.NotKnown = once(f.NotKnown)
	return f, nil
}

// prepared returns what the loads before the runs take: each is made once for every value that it depends on.
func (f *Forecast) prepared(lab Lab) (all takes, err error) {
	seen := make(map[string]bool)
	for _, c := range f.Study.Cells() {
		for _, l := range f.Study.Prepare {
			one, suffix := f.Study.prepared(c, l)
			if seen[l.Name+suffix] {
				continue
			}
			seen[l.Name+suffix] = true
			t, err := f.load(lab, one)
			if err != nil {
				return all, err
			}
			all.seconds, all.bytes = sum(all.seconds, t.seconds), sum(all.bytes, t.bytes)
		}
	}
	return all, nil
}

// load returns what one load takes.
func (f *Forecast) load(lab Lab, l Load) (takes, error) {
	if !l.readsOld() {
		l.set("topic", "kt-study")
	}
	p, err := lab.Plan(l)
	if err != nil {
		return takes{}, err
	}
	name := l.Name
	if name == "" {
		name = l.Command
	}
	rate, lasts, records := p.RecordsPerSecond(), p.Load.Duration.Std().Seconds(), float64(p.Load.Records)
	t := takes{seconds: lasts, bytes: -1}
	if rate > 0 && records > 0 && (lasts == 0 || records/rate < lasts) {
		t.seconds = records / rate
	}
	if t.seconds == 0 {
		t.seconds = -1
		f.NotKnown = append(f.NotKnown, "how long it takes: "+name+" ends after its records, however fast these are")
	}
	switch {
	case !p.Writes():
		t.bytes = 0
		return t, nil
	case records > 0 && (lasts == 0 || rate == 0 || records/rate <= lasts): // with a time and no rate: at most
		t.bytes = records * p.Payload.MeanBytes()
	case rate > 0 && lasts > 0:
		t.bytes = rate * lasts * p.Payload.MeanBytes()
	default:
		f.NotKnown = append(f.NotKnown, "how much is written: "+name+" writes as fast as it can")
	}
	f.replicas(&t, &p)
	return t, nil
}

// replicas counts what a load writes once for each replica.
func (f *Forecast) replicas(t *takes, p *plan.Plan) {
	switch n := float64(p.Topic.ReplicationFactor); {
	case n > 0:
		t.bytes = math.Max(t.bytes*n, -1)
	case t.bytes >= 0 && !p.Embedded():
		f.NotKnown = append(f.NotKnown, "how many replicas a topic has: the brokers decide without --set replication-factor=…; one is counted")
	}
}

// sum adds two numbers, of which either may not be known.
func sum(a, b float64) float64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// longer returns the larger of two numbers, of which either may not be known.
func longer(a, b float64) float64 {
	if a < 0 || b < 0 {
		return -1
	}
	return math.Max(a, b)
}

// values returns the values of a cell by the factors.
func (c Cell) values() map[string]string {
	at := make(map[string]string)
	for _, f := range c.At {
		at[f.Name] = f.Value
	}
	return at
}

// Place compares what a study writes with the room in the log directories of the brokers. Directories of one
// host with the same numbers lie on one disk.
func (f *Forecast) Place(dirs []LogDir) {
	f.LogDirs = dirs
	type disk struct {
		host          string
		total, usable int64
	}
	seen := make(map[disk]bool)
	for _, d := range dirs {
		if d.Usable < 0 {
			f.NotKnown = append(f.NotKnown, fmt.Sprintf("how much room there is: broker %d does not say, as before Kafka 3.3", d.Broker))
			f.Usable = 0
			return
		}
		if k := (disk{d.Host, d.Total, d.Usable}); !seen[k] {
			seen[k] = true
			f.Usable += d.Usable
		}
	}
	switch usable := float64(f.Usable); {
	case len(dirs) == 0 || f.AtOnce == 0:
	case f.AtOnce > usable:
		f.Room = NoRoom
	case f.Bytes > usable:
		f.Room = RoomInTurns
	default:
		f.Room = RoomForAll
	}
}

// Err returns an error with the remedy if there is no room for the study.
func (f *Forecast) Err() error {
	if f.Room != NoRoom {
		return nil
	}
	return fmt.Errorf("study %s: it stores %s at once, and the log directories of the brokers have room for %s: let it write less with --bytes or --run-time, or with fewer replicas",
		f.Study.Name, theme.Bytes(int64(f.AtOnce)), theme.Bytes(f.Usable))
}
