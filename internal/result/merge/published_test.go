package merge

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// published is one process of a published load test, or the total as it was printed.
type published struct {
	op, process           string
	rate, mib, mean, most float64 // most and mean in milliseconds; 0: not printed
}

// publishedCases reads tables that people made by hand of the output of many processes:
// one of Kafka's own tools each.
func publishedCases(t *testing.T) map[string][]published {
	t.Helper()
	f := must.Have(os.Open("testdata/published-processes.csv"))(t)
	defer func() { _ = f.Close() }() // it was only read
	rows := must.Have(csv.NewReader(f).ReadAll())(t)
	number := func(s string) float64 {
		if s == "" {
			return 0
		}
		return must.Have(strconv.ParseFloat(s, 64))(t)
	}
	cases := make(map[string][]published)
	for _, r := range rows[1:] {
		cases[r[0]] = append(cases[r[0]], published{r[1], r[2], number(r[3]), number(r[4]), number(r[5]), number(r[6])})
	}
	return cases
}

// file is the run file of a process that did in each second what was published of it.
func (p published) file(t *testing.T, run string) []byte {
	name, number := "host", p.process
	if i := strings.LastIndexAny(p.process, "_-"); i > 0 {
		name, number = p.process[:i], p.process[i+1:]
	}
	n, err := strconv.Atoi(number)
	if err != nil && p.op == "produce" {
		t.Fatal(err)
	}
	const seconds = 10
	var events []canned.Event
	for s := range seconds {
		start, end := time.Duration(s)*time.Second, time.Duration(s+1)*time.Second
		records := int64(math.Round(p.rate*float64(s+1)) - math.Round(p.rate*float64(s)))
		bytes := int64(math.Round(p.mib * mib))
		w := stats.Window{Start: start, End: end}
		if p.op == "consume" {
			w.Read = stats.Read{Consumed: records, ConsumedBytes: bytes, FirstRead: start, LastRead: end, ReadTime: time.Second}
		} else {
			w.Offered, w.Acknowledged, w.Bytes, w.FirstDue, w.LastDue, w.LastSent, w.LastAck, w.ShardTime = records, records, bytes, start, end, end, end, time.Second
			// One record has the longest latency, all others what makes the mean.
			most := time.Duration(p.most * float64(time.Millisecond))
			others := (p.mean*float64(time.Millisecond)*float64(records) - float64(most)) / float64(records-1)
			w.Response.Record(most)
			w.Response.RecordN(time.Duration(math.Round(others/1e3))*time.Microsecond, records-1)
		}
		events = append(events, canned.Event{Window: &w})
	}
	h := readHeader(plan.Command(p.op), 0)
	if p.op == "produce" {
		h = header(0)
	}
	return partFile{run: run, epoch: "e", host: name, process: n, plan: h.Plan, events: events, trailer: trailerOf(seconds)}.bytes(t)
}

// The totals that were printed are sums of rates, and the greatest of the maxima. The
// means are those of the rows, each of which has the same weight however many records it
// stands for; the mean of all records is another one. Where that shows, wrong has it.
func TestPublishedTablesGiveTheirPrintedTotals(t *testing.T) {
	wrong := map[string]struct{ printed, rows, records float64 }{
		"multi-process-8": {503.2, 428.9, 428.9}, // it is not even the mean of its rows
		"multi-host-2x5":  {255.0, 255.0, 251.1}, // the slower half has fewer records
	}
	const tolerance = 0.004 // of a mean: what equal weights make of rows that are much alike
	cases := publishedCases(t)
	if len(cases) != 16 {
		t.Fatalf("%d cases, want 16", len(cases))
	}
	for name, rows := range cases {
		t.Run(name, func(t *testing.T) {
			total, rows := rows[len(rows)-1], rows[:len(rows)-1]
			var files [][]byte
			var rate, mean, plain float64
			for _, p := range rows {
				files = append(files, p.file(t, name))
				rate += p.rate
				mean += p.mean * p.rate
				plain += p.mean / float64(len(rows))
			}
			mean /= rate
			r := merged(t, files...)
			if len(r.Processes) != len(rows) || r.Apart != nil {
				t.Fatalf("%d processes, want %d; apart: %+v", len(r.Processes), len(rows), r.Apart)
			}
			gotRate, gotMiB := r.Throughput.RecordsPerSecond, r.Throughput.MiBPerSecond
			if total.op == "consume" {
				gotRate, gotMiB = r.Fetch.RecordsPerSecond, r.Fetch.MiBPerSecond
			}
			// Rows are printed with no or two decimals. One total is 0.02 MiB/s off by itself.
			if math.Abs(gotRate-total.rate) > 0.5 || math.Abs(gotMiB-total.mib) > 0.025 {
				t.Errorf("%.2f records/s and %.3f MiB/s, printed are %.2f and %.3f", gotRate, gotMiB, total.rate, total.mib)
			}
			if total.op == "consume" {
				return
			}
			must.Match(t, total.most, float64(r.Latency.Response.Max)/1000, "the longest latency is ms, printed is ms")
			got := float64(r.Latency.Response.Mean) / 1000
			if math.Abs(got-mean) > 0.01 {
				t.Errorf("the mean is %.3f ms, that of the rows by their records %.3f ms", got, mean)
			}
			w, known := wrong[name]
			must.Match(t, known, math.Abs(got-total.mean) > tolerance*got, "the mean is %.3f ms, printed is %.3f ms: wrong", got, total.mean)
			if known && (math.Abs(w.printed-total.mean) > 0.05 || math.Abs(w.rows-plain) > 0.05 || math.Abs(w.records-got) > 0.05) {
				t.Errorf("printed %.1f ms, mean of the rows %.1f ms, of the records %.1f ms; want %+v", total.mean, plain, got, w)
			}
		})
	}
}
