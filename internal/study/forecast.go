package study

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// Forecast is what a study will take, before any run is made.
type Forecast struct {
	Schema   int                 `json:"schema"`
	Study    *Study              `json:"study"`
	Cells    []map[string]string `json:"cells"`
	Runs     []RunDoc            `json:"runs"`
	LeftOut  []LeftOut           `json:"left_out,omitempty"`          // cells that the cluster cannot carry
	More     bool                `json:"more_runs"`                   // a search adds further runs
	MostRuns int                 `json:"most_runs,omitempty"`         // of a search for the best settings
	Seconds  float64             `json:"seconds,omitempty"`           // at least, of these runs with the time between them; 0: not known
	Most     float64             `json:"most_seconds,omitempty"`      // of a trial, which may end early, or of a usual search; 0: not known
	Bytes    float64             `json:"written_bytes,omitempty"`     // by these runs, with replicas and before compression; 0: not known
	AtOnce   float64             `json:"most_stored_bytes,omitempty"` // of prepared topics and the largest run
	NotKnown []string            `json:"not_known,omitempty"`         // what of these is not known, and why
	LogDirs  []result.LogDir     `json:"log_dirs,omitempty"`          // of the brokers
	Usable   int64               `json:"usable_bytes,omitempty"`      // of their disks together; 0: not known
	Room     Room                `json:"room"`
}

// LeftOut are cells of which no run will be made.
type LeftOut struct {
	Reason string   `json:"reason"`
	Cells  []string `json:"cells"`
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

// First returns the first load as it is in the first run.
func (s *Study) First() Load { return s.at(s.Cells()[0], s.Loads[0]) }

// takes is what loads take; NaN: it is not known.
type takes struct{ seconds, bytes float64 }

// Forecast returns what a study will take. fits returns a *result.MisfitError for a load that the cluster cannot carry; it may be nil.
func (s *Study) Forecast(plansOf func(Load) ([]plan.Plan, error), fits func(plan.Plan) error) (*Forecast, error) {
	f := &Forecast{Schema: Schema, Study: s, More: s.IsOpen(), Room: RoomUnknown}
	if s.Find != nil {
		f.Seconds, f.Most = s.Find.takes(s.Rest.Std().Seconds())
		f.NotKnown = append(f.NotKnown, "how much is written: the rates that hold decide")
		return f, nil
	}
	seen := make(map[string]bool)
	runs := make(map[int]takes) // by the numbers of cells
	for _, c := range s.Cells() {
		f.Cells = append(f.Cells, c.Values())
		for _, l := range s.Prepare {
			if name := s.prepared(c, l); !seen[name] {
				seen[name] = true
				t, err := f.loads(plansOf, s.planned(c, l), nil)
				if err != nil {
					return nil, err
				}
				f.Seconds, f.Bytes = f.Seconds+t.seconds, f.Bytes+t.bytes
			}
		}
		var one takes
		var err error
		for i := 0; i < len(s.Loads) && err == nil; i++ {
			var t takes
			t, err = f.loads(plansOf, s.planned(c, s.Loads[i]), fits)
			one = one.and(t)
		}
		misfit := new(result.MisfitError)
		switch {
		case err != nil && s.Optimum != nil && len(runs) == 0: // as it is now
			return nil, err
		case errors.As(err, &misfit), err != nil && s.Optimum != nil:
			i := slices.IndexFunc(f.LeftOut, func(l LeftOut) bool { return l.Reason == err.Error() })
			if i < 0 {
				i, f.LeftOut = len(f.LeftOut), append(f.LeftOut, LeftOut{Reason: err.Error()})
			}
			f.LeftOut[i].Cells = append(f.LeftOut[i].Cells, c.String())
		case err != nil:
			return nil, err
		default:
			runs[c.Index] = one
			f.AtOnce = math.Max(f.AtOnce, one.bytes)
		}
	}
	f.add(runs)
	return f, nil
}

// add adds what runs take, by the number of their cell, to what the loads before them do.
func (f *Forecast) add(runs map[int]takes) {
	f.AtOnce += f.Bytes
	turns, o := f.Study.Turns(), f.Study.Optimum
	if o != nil {
		turns = o.first(f.Study)
	}
	for _, t := range turns {
		one, fits := runs[t.Cell.Index]
		if o != nil { // a run takes as long with any values
			one, fits = runs[turns[0].Cell.Index], true
			one.seconds += overhead.Seconds()
		}
		if !fits {
			continue
		}
		f.Runs = append(f.Runs, RunDoc{Turn: len(f.Runs) + 1, Repeat: t.Repeat, At: t.Cell.Values()})
		f.Seconds, f.Bytes = f.Seconds+one.seconds, f.Bytes+one.bytes
	}
	f.Seconds += f.Study.Rest.Std().Seconds() * float64(max(0, len(f.Runs)-1))
	if p := f.Study.Trial; p != nil { // it ends at one of its looks
		f.Most, f.Seconds = f.Seconds, f.Seconds*float64(f.Study.Discard+2*p.Looks[0])/float64(len(f.Runs))
	}
	if o != nil {
		least, most := o.runs(f.Study)
		one := f.Seconds / float64(len(f.Runs))
		f.Seconds, f.Most, f.MostRuns = one*float64(least), one*float64(most), most
	}
	for _, v := range []*float64{&f.Seconds, &f.Most, &f.Bytes, &f.AtOnce} {
		if math.IsNaN(*v) {
			*v = 0
		}
	}
	f.NotKnown = once(f.NotKnown)
}

// and returns what two loads take that run at once.
func (t takes) and(o takes) takes { return takes{math.Max(t.seconds, o.seconds), t.bytes + o.bytes} }

// loads returns what a load takes, or the loads of a workload.
func (f *Forecast) loads(plansOf func(Load) ([]plan.Plan, error), l Load, fits func(plan.Plan) error) (t takes, err error) {
	plans, err := plansOf(l)
	for i := 0; err == nil && i < len(plans); i++ {
		name := cmp.Or(l.Name, l.Command)
		if l.IsWorkload() {
			name = l.Loads[i].Name
		}
		if t = t.and(f.load(name, plans[i])); fits != nil {
			err = fits(plans[i])
		}
	}
	return t, err
}

func (f *Forecast) load(name string, p plan.Plan) (t takes) {
	unknown := func(what, why string) float64 {
		f.NotKnown = append(f.NotKnown, what+": "+name+" "+why)
		return math.NaN()
	}
	rate, lasts, records := p.RecordsPerSecond(), p.Load.Duration.Std().Seconds(), float64(p.Load.Records)
	if records == 0 || lasts > 0 && rate > 0 && records/rate > lasts { // it ends by its time; with a time and no rate it writes at most its records
		records = rate * lasts
	}
	switch t.seconds = lasts; {
	case rate > 0 && records > 0:
		t.seconds = records / rate
	case lasts == 0:
		t.seconds = unknown("how long it takes", "ends after its records, however fast these are")
	}
	switch replicas := p.Topic.ReplicationFactor; {
	case !p.Writes():
	case p.Load.UntilFull: // it has its place on disks without room
		t.bytes = unknown("how much is written", "goes on when disks are full")
	case records == 0:
		t.bytes = unknown("how much is written", "writes as fast as it can")
	default:
		t.bytes = records * p.Payload.MeanBytes() * float64(max(1, replicas))
		if replicas <= 0 && !p.Embedded() {
			f.NotKnown = append(f.NotKnown, "how many replicas a topic has: the brokers decide without a replication-factor; one is counted")
		}
	}
	return t
}

// Place compares what a study writes with the room in the log directories of the brokers. Directories of one
// host with the same numbers lie on one disk.
func (f *Forecast) Place(dirs []result.LogDir) {
	f.LogDirs = dirs
	disks := mapped(dirs, func(d result.LogDir) result.LogDir {
		return result.LogDir{Host: d.Host, Total: d.Total, Usable: d.Usable}
	})
	if i := slices.IndexFunc(dirs, func(d result.LogDir) bool { return d.Usable < 0 }); i >= 0 {
		f.NotKnown = append(f.NotKnown, fmt.Sprintf("how much room there is: broker %d does not say, as before Kafka 3.3", dirs[i].Broker))
		return
	}
	for _, d := range once(disks) {
		f.Usable += d.Usable
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
