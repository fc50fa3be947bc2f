//go:build !race

package result

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// These tests are long and of one goroutine: the race detector would find nothing.

func TestWhatIsMergedDoesNotDependOnOrderNamesRepetitionOrCollections(t *testing.T) {
	for seed := range uint64(6) {
		files := someRun(t, seed)
		all := setOf(t, files...)
		wantBytes, want := collection(t, all), marshal(t, merged(t, files...))
		rng := rand.New(rand.NewPCG(seed, 0))
		for try := range 8 {
			// A random tree: files, some of them twice, are put into sets, and sets into sets as
			// collections, until one is left.
			var nodes [][]byte
			for _, f := range files {
				nodes = append(nodes, f)
				if rng.IntN(3) == 0 {
					nodes = append(nodes, f)
				}
			}
			for len(nodes) > 1 {
				rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
				n := 1 + rng.IntN(min(4, len(nodes)))
				node := collection(t, setOf(t, nodes[:n]...))
				nodes = append(nodes[n:], node)
				if len(nodes) == 1 || rng.IntN(4) > 0 {
					continue
				}
				nodes = append(nodes, node) // and once more
				if len(nodes) > 12 {
					nodes = append(nodes[:0:0], collection(t, setOf(t, nodes...)))
				}
			}
			last := setOf(t, nodes...)
			if got := collection(t, last); !bytes.Equal(got, wantBytes) {
				t.Fatalf("seed %d, try %d: the collections differ (-want +got):\n%s", seed, try, cmp.Diff(head(wantBytes), head(got)))
			}
			r, err := last.Result(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, marshal(t, r)); diff != "" {
				t.Fatalf("seed %d, try %d: the documents differ (-want +got):\n%s", seed, try, diff)
			}
		}
		read, err := Read(bytes.NewReader(wantBytes), int64(len(wantBytes)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, marshal(t, read)); diff != "" {
			t.Fatalf("seed %d: a collection that is read differs (-want +got):\n%s", seed, diff)
		}
	}
}

func TestARunThatIsReplayedGivesTheResultOfTheLiveRun(t *testing.T) {
	headers := map[string]Header{"at a rate": header(120), "unlimited": header(0), "embedded": header(0), "with nothing known": {Schema: Schema}}
	h := headers["embedded"]
	h.Embedded, h.Plan.Bootstrap, h.Environment = true, nil, Environment{}
	headers["embedded"] = h
	h = header(0)
	h.Plan.Load.Rate, h.Plan.Load.Arrivals = plan.Rate{PerSecond: 1.5e6, Bytes: true}, plan.Poisson
	h.Plan.Payload.Size, _ = plan.ParseSize("100@80,1KiB-2KiB@20")
	h.Plan.Load.Warmup.Duration = plan.Duration(1500 * time.Millisecond)
	headers["at a rate of bytes"] = h
	headers["roundtrip"], headers["consume"] = readHeader(plan.Roundtrip, 120), readHeader(plan.Consume, 0)
	for name, h := range headers {
		seeds, made := uint64(8), canned
		if h.Plan.Reads() {
			seeds, made = 3, cannedReading
		}
		for seed := range seeds {
			events := made(seed, 12)
			live := NewFold(h)
			for _, e := range events {
				e.to(live)
			}
			live.Finish(completed)
			replayed, err := Replay(iotest.OneByteReader(bytes.NewReader(runFile(t, h, events, completed))))
			if err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
			if diff := cmp.Diff(marshal(t, live.Result()), marshal(t, replayed.Result())); diff != "" {
				t.Fatalf("%s, seed %d: live and replayed differ (-live +replayed):\n%s", name, seed, diff)
			}
		}
	}
	r := func() Result {
		f, err := Replay(bytes.NewReader(runFile(t, header(120), canned(3, 12), completed)))
		if err != nil {
			t.Fatal(err)
		}
		return f.Result()
	}()
	if r.Warmup == nil || len(r.Errors) == 0 || len(r.Brokers) != 3 || len(r.Partitions) != 6 || r.Records.Unknown == 0 || r.Latency.Response.OutOfRange == 0 {
		t.Errorf("the run that is replayed lacks what it is made up for: %s", marshal(t, r.Records))
	}
}

// At every byte of the last lines, for that is where a kill may strike.
func TestARunFileThatWasCutOffGivesTheResultUntilThen(t *testing.T) {
	var events []event
	for i := range 3 {
		start, end := time.Duration(i)*time.Second, time.Duration(i+1)*time.Second
		w := stats.Window{Start: start, End: end, Offered: 9, Acknowledged: 7, Failed: 1, Errors: map[string]int64{"X": 1}, LastAck: end}
		w.Response.RecordN(time.Duration(i+1)*time.Millisecond, 7)
		events = append(events, event{window: &w}, event{sample: &host.Sample{At: end, Interval: time.Second, Cores: 1, ProcessCPU: 0.5}})
	}
	whole := runFile(t, header(120), events, completed)
	// The end of each line, and the result of the file until there.
	var ends []int
	var results []string
	f, at := NewFold(header(120)), 0
	for line := range bytes.Lines(whole) {
		if i := len(ends); i > len(events) {
			f.Finish(completed)
		} else if i > 0 {
			events[i-1].to(f)
		}
		at += len(line)
		ends, results = append(ends, at), append(results, marshal(t, f.Result()))
	}
	if n := len(events) + 2; len(ends) != n {
		t.Fatalf("%d lines, want %d", len(ends), n)
	}
	cutOffs := 0
	for cut := ends[2]; cut <= len(whole); cut++ {
		f, err := Replay(bytes.NewReader(whole[:cut]))
		if err != nil {
			t.Fatalf("cut at byte %d of %d: %v", cut, len(whole), err)
		}
		n := 0 // the last whole line; one without its end of line is whole too
		for n+1 < len(ends) && cut >= ends[n+1]-1 {
			n++
		}
		r := f.Result()
		if r.Ended == CutOff {
			cutOffs++
		}
		if diff := cmp.Diff(results[n], marshal(t, r)); diff != "" {
			t.Fatalf("cut at byte %d, behind line %d (-want +got):\n%s", cut, n+1, diff)
		}
	}
	if want := len(whole) - 1 - ends[2]; cutOffs != want {
		t.Errorf("%d of %d were cut off, want %d: all but those with the whole trailer", cutOffs, len(whole)-ends[2]+1, want)
	}
}

func TestTheSumsOfAMergedRunAreThoseOfItsParts(t *testing.T) {
	overlaps := 0
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 1))
		command, made := plan.Produce, canned
		if seed%3 == 2 {
			command, made = plan.Roundtrip, cannedReading
		}
		var files [][]byte
		for i := range 2 + rng.IntN(5) {
			seconds := 8 + rng.IntN(6)
			files = append(files, partFile{
				run: "r", host: string(rune('a' + i/2)), process: 1 + i%2, late: time.Duration(rng.IntN(900)) * time.Millisecond, alone: seed%2 == 0,
				plan: readHeader(command, 1000).Plan, events: made(rng.Uint64(), seconds), trailer: trailerOf(float64(seconds)),
			}.bytes(t))
		}
		r := merged(t, files...)
		if len(r.Processes) != len(files) {
			t.Fatalf("%d processes, want %d", len(r.Processes), len(files))
		}
		sum := Figures{Errors: Errors{}}
		var whole stats.Window
		for i, f := range files {
			one := replayed1(t, f)
			row := r.Processes[i]
			if diff := cmp.Diff([]any{one.Records, one.Errors, one.Latency.Response, one.Latency.Service, one.Latency.EndToEnd, one.Throughput.Bytes},
				[]any{row.Records, row.Errors, row.Response, row.Service, row.EndToEnd, row.Bytes}); diff != "" {
				t.Fatalf("seed %d: row %d is not what the file says by itself (-file +row):\n%s", seed, i, diff)
			}
			sum.add(&row.Figures)
			whole.Add(&stats.Window{
				Response: one.Histograms.Response.Histogram, Service: one.Histograms.Service.Histogram, Lag: one.Histograms.Lag.Histogram,
				Read: stats.Read{EndToEnd: one.Histograms.EndToEnd.Histogram},
			})
		}
		hosts := Figures{Errors: Errors{}}
		for i := range r.Hosts {
			hosts.add(&r.Hosts[i].Figures)
		}
		if diff := cmp.Diff(sum, hosts, approx); diff != "" {
			t.Errorf("seed %d: the hosts do not add up to the processes (-processes +hosts):\n%s", seed, diff)
		}
		got := []any{r.Records, r.Errors, r.Throughput.Bytes, latencyOf(&whole.Response), latencyOf(&whole.Service), latencyOf(&whole.Lag), endToEndOf(&whole.EndToEnd)}
		want := []any{sum.Records, sum.Errors, sum.Bytes, r.Latency.Response, r.Latency.Service, r.Latency.Lag, r.Latency.EndToEnd}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: the whole is not the sum of its parts (-parts +whole):\n%s", seed, diff)
		}
		rates, wantRates := []float64{r.Throughput.RecordsPerSecond, r.Throughput.MiBPerSecond}, []float64{sum.RecordsPerSecond, sum.MiBPerSecond}
		if r.Fetch != nil {
			rates, wantRates = append(rates, r.Fetch.RecordsPerSecond, r.Fetch.MiBPerSecond), append(wantRates, sum.ConsumedPerSecond, sum.ConsumedMiB)
		}
		if diff := cmp.Diff(wantRates, rates, approx); diff != "" {
			t.Errorf("seed %d: the rows' rates do not add up to the total (-rows +total):\n%s", seed, diff)
		}
		var points, acks int64
		for _, p := range r.Series {
			points += p.Acknowledged
		}
		acks = r.Records.Acknowledged
		if r.Warmup != nil {
			acks += r.Warmup.Records.Acknowledged
		}
		if points != acks {
			t.Errorf("seed %d: the points of the series have %d acknowledgements, the run %d", seed, points, acks)
		}
		if r.Overlap.Seconds > 0 {
			overlaps++
		}
		if r.Overlap.Agreed != (seed%2 == 1) {
			t.Errorf("seed %d: overlap %+v", seed, r.Overlap)
		}
	}
	if overlaps < 3 {
		t.Errorf("only %d of the runs overlap", overlaps)
	}
}

func TestMemoryDoesNotGrowWithTheLengthOfARun(t *testing.T) {
	merge := func(seconds int) int64 {
		files := manyParts(t, 4, seconds)
		return peak(func() {
			s := NewSet()
			for _, f := range files {
				if err := s.Add("f", f, f.size()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Result(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
	short, longer := merge(20), merge(200)
	if longer > 2*short+64*mib {
		t.Errorf("20 s take %d MiB, 200 s %d MiB", short/mib, longer/mib)
	}
}
