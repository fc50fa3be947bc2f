package calibrate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// rig makes runs whose rates are given for each number of clients.
type rig struct {
	rates map[int]float64
	asked []float64 // the rates of the runs with a target
	tried []int

	others []float64 // the share of the CPUs that others use in each run; below 0: not known
}

func (r *rig) make(_ context.Context, clients int, rate float64) (Run, error) {
	var res Run
	if n := len(r.tried) + len(r.asked); n < len(r.others) && r.others[n] >= 0 {
		res.OthersCPU = &r.others[n]
	}
	res.Plan = plan.Plan{Command: plan.Produce, Engine: plan.Wire, Producers: clients, Payload: plan.Payload{Size: plan.FixedSize(100), Keys: plan.NoKeys}}
	res.Throughput.RecordsPerSecond, res.Client.CPUCores, res.Valid = r.rates[clients], 2, true
	if rate > 0 {
		r.asked = append(r.asked, rate)
		res.Throughput.OfferedRecordsPerSecond = rate
		if rate > keepsUpTo {
			half := 0.5
			res.Throughput.OfferedRecordsPerSecond, res.TargetReached = rate/2, &half
		}
		return res, nil
	}
	r.tried = append(r.tried, clients)
	return res, nil
}

const keepsUpTo = 10_000 // records a second

func TestTheSearchEndsWhereMoreClientsOfferNoMore(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rates map[int]float64
		o     Options
		tried []int
		best  int
	}{
		{"one is best", map[int]float64{1: 1000, 2: 1010}, Options{CPUs: 8}, []int{1, 2}, 1},
		{"four are best", map[int]float64{1: 1000, 2: 1900, 4: 2500, 8: 2400}, Options{CPUs: 8}, []int{1, 2, 4, 8}, 4},
		{"no more than there are CPUs", map[int]float64{1: 1000, 2: 1900, 4: 2500}, Options{CPUs: 2}, []int{1, 2}, 2},
		{"as many as the load says", map[int]float64{3: 1000}, Options{Clients: 3, CPUs: 8}, []int{3}, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &rig{rates: tc.rates}
			d := must.Have(Measure(t.Context(), tc.o, r.make))(t)
			want := tc.rates[tc.best]
			if d.Clients != tc.best || !slices.Equal(r.tried, tc.tried) || d.Ceiling.RecordsPerSecond != want || d.Ceiling.CPUSecondsPerMillion != 2/want*1e6 {
				t.Errorf("tried %v, %d are best with %+v; want %v, %d", r.tried, d.Clients, d.Ceiling, tc.tried, tc.best)
			}
		})
	}
}

func TestARateAboveTheCeilingIsNotTried(t *testing.T) {
	r := &rig{rates: map[int]float64{1: 60_000}}
	d := must.Have(Measure(t.Context(), Options{CPUs: 1, Rates: Rates}, r.make))(t)
	must.True(t, slices.Equal(r.asked, []float64{1000, 50_000}) && len(d.Schedule) == 3 && d.Schedule[2].OutOfReach,
		"tried %v: %+v", r.asked, d.Schedule)
	for i, kept := range []bool{true, false, false} {
		must.Match(t, kept, d.Schedule[i].Kept, "%+v", d.Schedule[i])
	}
}

func TestACeilingIsTooLowIfOthersUsedTheCPUs(t *testing.T) {
	for _, tc := range []struct {
		name   string
		others []float64
		share  float64 // below 0: not known
		want   string
	}{
		{"little", []float64{0.02, 0.09}, 0.09, ""},
		{"not known of the second run", []float64{0.02, -1}, -1, ""},
		{"not known of the second run, and much in the first", []float64{0.6, -1}, 0.6, "others used 60 % of the CPUs: this ceiling is too low"},
		{"much in the first run", []float64{0.6, 0.01}, 0.6, "others used 60 % of the CPUs: this ceiling is too low"},
		{"much after the search", []float64{0, 0, 0.9}, 0, ""},
	} {
		r := &rig{rates: map[int]float64{1: 2000, 2: 2000}, others: tc.others}
		d, err := Measure(t.Context(), Options{CPUs: 2, Rates: []float64{1000}}, r.make)
		share := -1.0
		if d.OthersCPU != nil {
			share = *d.OthersCPU
		}
		must.True(t, err == nil && share == tc.share && d.TooLow == tc.want && *d.Tried[0].OthersCPU == tc.others[0],
			"%s: %g in %+v, %v; want %g, %q", tc.name, share, d, err, tc.share, tc.want)
	}
}

func TestWithoutARateThereIsNoCeiling(t *testing.T) {
	if d, err := Measure(t.Context(), Options{CPUs: 1}, (&rig{}).make); err == nil {
		t.Errorf("no error, and %+v", d)
	}
	failed := errors.New("no sink")
	_, err := Measure(t.Context(), Options{}, func(context.Context, int, float64) (Run, error) { return Run{}, failed })
	must.True(t, errors.Is(err, failed), "%v, want %v", err, failed)
}

func TestACeilingHoldsForItsShapeAndItsMachine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", FileName)
	here := host.Facts{Hostname: "a", CPUModel: "m", LogicalCPUs: 4, GOMAXPROCS: 4}
	doc := func(shape string, h host.Facts, rate float64) Document {
		return Document{Schema: Schema, KTVersion: "v1", Shape: shape, Host: h, Ceiling: result.Ceiling{RecordsPerSecond: rate}}
	}
	must.Do(t, Check(path))
	before, err := os.ReadDir(filepath.Dir(path))
	must.True(t, err == nil && len(before) == 0, "%v, %v is in the folder before anything is saved", before, err)
	smaller := here
	smaller.GOMAXPROCS = 2
	for _, d := range []Document{doc("x", here, 1), doc("y", here, 2), doc("x", smaller, 3), doc("x", here, 4)} {
		must.Do(t, Save(path, d))
	}
	for _, tc := range []struct {
		shape string
		h     host.Facts
		want  float64
	}{{"x", here, 4}, {"y", here, 2}, {"x", smaller, 3}, {"y", smaller, 0}, {"z", here, 0}} {
		c, err := Find(path, tc.shape, "v1", tc.h)
		must.True(t, err == nil && (c == nil) == (tc.want == 0) && (c == nil || c.RecordsPerSecond == tc.want),
			"%s on %d CPUs: %+v, %v; want %g", tc.shape, tc.h.GOMAXPROCS, c, err, tc.want)
	}
	if c, err := Find(path, "x", "v2", here); c != nil || err != nil {
		t.Errorf("of another version of kt: %+v, %v", c, err)
	}
	if err := Check(path); err != nil {
		t.Errorf("a file that can be written: %v", err)
	}
	must.Do(t, os.WriteFile(path, []byte("{"), 0o600))
	if _, err := Find(path, "x", "v1", here); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("%v: want an error that names the file and says what to do", err)
	}
	if err := Save(path, doc("x", here, 1)); err == nil {
		t.Error("a damaged file was written over")
	}
	for _, lost := range []string{path, filepath.Join(path, FileName)} { // damaged; in a folder that is a file
		err := Check(lost)
		must.True(t, err != nil, "%s: no error before the runs", lost)
	}
	left, _ := os.ReadDir(filepath.Dir(path))
	must.True(t, len(left) == 1, "%v is in the folder, want the file alone", left)
	c, err := Find(filepath.Join(t.TempDir(), FileName), "x", "v1", here)
	must.True(t, c == nil && err == nil, "without a file: %+v, %v", c, err)
}

func TestTheShapeIsWhatARecordCosts(t *testing.T) {
	h := result.Header{Plan: plan.Plan{Command: plan.Produce, Engine: plan.Client, Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(100), Keys: plan.NoKeys}}}
	set := func(name, value string) func(*result.Header) {
		return func(h *result.Header) { h.Config = []result.Setting{{Name: name, Value: value}} }
	}
	seen := map[string]string{Shape(&h, false): "as it is"}
	for name, change := range map[string]func(*result.Header){
		"engine":      func(h *result.Header) { h.Plan.Engine = plan.Wire },
		"size":        func(h *result.Header) { h.Plan.Payload.Size = plan.FixedSize(200) },
		"headers":     func(h *result.Header) { h.Plan.Payload.Headers = []plan.Header{{Key: "a"}} },
		"stamps":      func(h *result.Header) { h.Plan.Payload.Stamp = true },
		"keys":        func(h *result.Header) { h.Plan.Payload.Keys, h.Plan.Payload.KeyRange = plan.RandomKeys, 10 },
		"more keys":   func(h *result.Header) { h.Plan.Payload.Keys, h.Plan.Payload.KeyRange = plan.RandomKeys, 1_000_000 },
		"mixed":       func(h *result.Header) { h.Plan.Payload.Kind = plan.Mixed },
		"half random": func(h *result.Header) { h.Plan.Payload.Kind, h.Plan.Payload.Compressibility = plan.Mixed, 0.5 },
		"numbers":     func(h *result.Header) { h.Plan.Payload.Kind = plan.Monotonic },
		"short lines": func(h *result.Header) { h.Plan.Payload.Kind, h.Plan.Payload.FileMean = plan.File, 10 },
		"long lines":  func(h *result.Header) { h.Plan.Payload.Kind, h.Plan.Payload.FileMean = plan.File, 1000 },
		"compression": set("compression.type", "zstd"),
		"acks":        set("acks", "0"),
		"idempotence": set("enable.idempotence", "true"),
		"batches":     set("batch.size", "1000"),
		"linger":      set("linger.ms", "50"),
		"requests":    set("max.request.size", "2000"),
		"in flight":   set("max.in.flight.requests.per.connection", "1"),
	} {
		other := h
		change(&other)
		same, ok := seen[Shape(&other, false)]
		must.True(t, !ok, "%s: the shape is that of %s", name, same)
		seen[Shape(&other, false)] = name
	}
	same := h
	same.Plan.Producers, same.Plan.Load.Records = 5, 1000
	must.Match(t, Shape(&h, false), Shape(&same, false), "the number of producers changes the shape")
}

func TestABriefShapeLeavesOutWhatIsAsKafkaHasIt(t *testing.T) {
	h := result.Header{
		Plan:   plan.Plan{Command: plan.Produce, Engine: plan.Wire, Payload: plan.Payload{Size: plan.FixedSize(100), Keys: plan.NoKeys}},
		Config: []result.Setting{{Name: "acks", Value: "1", Default: "all"}, {Name: "linger.ms", Value: "5", Default: "5"}, {Name: "client.id", Value: "x"}},
	}
	must.Match(t, "produce wire 100 B acks=1", Shape(&h, true), "the shape in brief")
}
