//go:build !race

package merge

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// These tests are long. The other tests run the same code with the race detector: parts are read by goroutines, and a Live has none.

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
			got := collection(t, last)
			must.Hold(t, bytes.Equal(got, wantBytes), "seed %d, try %d: the collections differ (-want +got):\n%s", seed, try, cmp.Diff(head(wantBytes), head(got)))
			r := must.Have(last.Result(t.Context()))(t)
			if diff := cmp.Diff(want, marshal(t, r)); diff != "" {
				t.Fatalf("seed %d, try %d: the documents differ (-want +got):\n%s", seed, try, diff)
			}
		}
		read := must.Have(Read(bytes.NewReader(wantBytes), int64(len(wantBytes))))(t)
		if diff := cmp.Diff(want, marshal(t, read)); diff != "" {
			t.Fatalf("seed %d: a collection that is read differs (-want +got):\n%s", seed, diff)
		}
	}
}

func TestTheSumsOfAMergedRunAreThoseOfItsParts(t *testing.T) {
	overlaps := 0
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 1))
		command, made := plan.Produce, canned.Written
		if seed%3 == 2 {
			command, made = plan.Roundtrip, canned.Read
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
		must.Hold(t, len(r.Processes) == len(files), "%d processes, want %d", len(r.Processes), len(files))
		sum := result.Figures{Errors: result.Errors{}}
		var whole stats.Window
		for i, f := range files {
			one := replayed1(t, f)
			row := r.Processes[i]
			if diff := cmp.Diff([]any{one.Records, one.Errors, one.Latency.Response, one.Latency.Service, one.Latency.EndToEnd, one.Throughput.Bytes},
				[]any{row.Records, row.Errors, row.Response, row.Service, row.EndToEnd, row.Bytes}); diff != "" {
				t.Fatalf("seed %d: row %d is not what the file says by itself (-file +row):\n%s", seed, i, diff)
			}
			addNumbers(&sum, &row.Figures)
			whole.Add(&stats.Window{
				Response: one.Histograms.Response.Histogram, Service: one.Histograms.Service.Histogram, SendDelay: one.Histograms.SendDelay.Histogram,
				Read: stats.Read{EndToEnd: one.Histograms.EndToEnd.Histogram},
			})
		}
		hosts := result.Figures{Errors: result.Errors{}}
		for i := range r.Hosts {
			addNumbers(&hosts, &r.Hosts[i].Figures)
		}
		if diff := cmp.Diff(sum, hosts, approx); diff != "" {
			t.Errorf("seed %d: the hosts do not add up to the processes (-processes +hosts):\n%s", seed, diff)
		}
		got := []any{r.Records, r.Errors, r.Throughput.Bytes, result.LatencyOf(&whole.Response), result.LatencyOf(&whole.Service), result.LatencyOf(&whole.SendDelay), result.EndToEndOf(&whole.EndToEnd)}
		want := []any{sum.Records, sum.Errors, sum.Bytes, r.Latency.Response, r.Latency.Service, r.Latency.SendDelay, r.Latency.EndToEnd}
		must.Match(t, want, got, "seed %d: the whole is not the sum of its parts", seed)
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
		must.Match(t, acks, points, "seed %d: the points of the series have acknowledgements, the run", seed)
		if r.Overlap.Seconds > 0 {
			overlaps++
		}
		must.Match(t, (seed%2 == 1), r.Overlap.Agreed, "seed %d: overlap %+v", seed, r.Overlap)
	}
	must.True(t, overlaps >= 3, "only %d of the runs overlap", overlaps)
}

func TestMemoryDoesNotGrowWithTheLengthOfARun(t *testing.T) {
	merge := func(seconds int) int64 {
		files := manyParts(t, 4, seconds)
		return peak(func() {
			s := NewSet()
			for _, f := range files {
				must.Do(t, s.Add("f", f, f.size(), false))
			}
			must.Have(s.Result(t.Context()))(t)
		})
	}
	short, longer := merge(20), merge(200)
	must.True(t, longer <= 2*short+64*mib, "20 s take %d MiB, 200 s %d MiB", short/mib, longer/mib)
}

func TestALiveRunEndsWithTheTotalsOfItsResultInWhateverOrderLinesCome(t *testing.T) {
	const seconds = 12
	for seed := range uint64(12) {
		files := liveParts(t, seed, seconds)
		want, _ := whole(t, files)
		l, parts := liveOf(t, files), grow(files...)
		rng := rand.New(rand.NewPCG(seed, 3))
		for _, p := range parts {
			p.to(t, l, 2) // header and start
		}
		for elapsed := time.Duration(0); slices.ContainsFunc(parts, func(g *growing) bool { return len(g.rest) > 0 }); elapsed += 300 * time.Millisecond {
			switch p := parts[rng.IntN(len(parts))]; rng.IntN(4) {
			case 0:
				l.Gone(p.name)
			case 1:
				p.to(t, l, 1)
			default:
				p.to(t, l, rng.IntN(9))
			}
			taken(l, elapsed)
		}
		taken(l, Over)
		if diff := cmp.Diff(totals(t, want), totals(t, l.whole)); diff != "" {
			t.Fatalf("seed %d (-set +live):\n%s", seed, diff)
		}
		var acknowledged int64
		for _, h := range l.Now().Hosts {
			acknowledged += h.Snapshot.All.Acknowledged
		}
		must.Match(t, l.Now().Snapshot.All.Acknowledged, acknowledged, "seed %d: the hosts have records, and the whole", seed)
	}
}
