package report

import (
	"encoding/csv"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
)

func TestTextOfAMergedResultSaysWhatMattersFirst(t *testing.T) {
	all := mergedResults()
	untold := mergedProduce()
	untold.Processes[3].Note = ""
	early := mergedProduce()
	early.Overlap.ClockErrorUS = -1
	short := mergedProduce()
	short.Overlap.Seconds, short.Throughput.Seconds, short.Processes[0].CPUCores = 0, 0.4, 0
	short.Client.CPUCores, short.Client.CPUSecondsPerMillion = 0, 0
	lone := mergedProduce()
	lone.Processes = lone.Processes[:1]
	brief := lone
	brief.Overlap, brief.Throughput.Seconds = &result.Overlap{ToSeconds: 0.3, SpanSeconds: 0.3, Together: true}, 0.3
	aligned := mergedProduce()
	aligned.Throughput.FirstDueSeconds = 0.9
	gap := mergedProduce()
	ms, from := int64(3000), 2.0
	gap.Outage = &result.Outage{LongestGapMS: &ms, LongestGapFromSeconds: &from, LongestGapOf: "vm15/2"}
	idle := mergedProduce()
	idle.Hosts = []result.HostRow{{Host: "vm15", Processes: 2}, {Host: "vm16", Processes: 4}, {Host: "vm17", Processes: 2}}
	idle.Processes = nil
	for _, h := range idle.Hosts {
		for n := range h.Processes {
			p := ran(h.Host, n+1, idle, 0)
			if h.Host == "vm15" || h.Host == "vm16" && n < 3 || n == 0 {
				p.Note = result.NothingMeasured
			}
			idle.Processes = append(idle.Processes, p)
		}
	}
	few := mergedProduce()
	few.Throughput.AskedRecordsPerSecond = 1333
	broken := mergedConsume()
	broken.Processes[0].BoundBy.Limit = verdict.ReadFailed
	blind := mergedProduce()
	for i := range blind.Hosts {
		blind.Hosts[i].Busy = &result.Busy{Seconds: 3, Brokers: []result.BusyBroker{{PID: 1}}}
	}
	groups := mergedMixed()
	groups.Verify = &ledger.Verdict{Readers: 1, Acknowledged: 4000, AcknowledgedRead: 4000}
	for _, tc := range []struct {
		name     string
		of       result.Result
		has, not []string
	}{
		{"too short a run has no rates", short, []string{
			"throughput too short for a rate", "none: the processes", "too short for a rate; latencies",
			"process records mean p50", "total 3,000 18.8ms", "vm15/1 1,000 18.8ms 14.7ms 51.2ms 52.2ms 52.3ms",
			"all clients too short",
		}, []string{"did not run together", "records/s mean", "records/s MiB/s"}},
		{"one host's idle processes are one line", idle, []string{
			"vm15/1,2: nothing was measured in it", "vm16/1,2,3: nothing", "vm17/1: nothing was measured",
		}, []string{"vm15/1:", "vm16/1:"}},
		{"one process has no spread of starts", lone, []string{"3.00s of 4.20s latencies", "histograms of 1 process, added up"}, []string{"apart", "1 processes"}},
		{"rates of the whole run need no word", aligned, []string{"±120µs latencies: the"}, []string{"rates: "}},
		{"one process ran together with itself", brief, []string{"none: less than 1s was measured"}, []string{"together"}},
		{"a gap is that of one process", gap, []string{"longest gap vm15/2 ", "for 3.00s, from 2.00s on"}, []string{"nothing was acknowledged"}},
		{"what was asked for is told where parts are lost", few, []string{"(target 1,000 (1,333 with the lost processes), offered"}, nil},
		{"reading that failed is not complete", broken, []string{"reading failed"}, nil},
		{"what could not be read of a host is not 0", blind, []string{"vm14 broker – – – – –"}, []string{" 0% of", "0% 0 B"}},
		{"parts that each had one reader are no groups", groups, []string{"4,000 of 4,000 acknowledged records were read once"}, []string{"groups"}},
		{"a bound that nobody knows is not made up", early, []string{"438µs apart rates: "}, []string{"±"}},
		{"parts that were started one by one go by their clocks", all["merged_consume"], []string{"by each host's own clock"}, []string{"±"}},
		{"what a state means is told where nothing better is known", untold, []string{"acknowledged; its run file was cut off"}, nil},
		{"a run where all went well tells of no others", all["merged_consume"], []string{"complete"}, []string{"left out 1", "2 of 2"}},
		{"where no host was watched there is no table of it", all["merged_consume"], nil, []string{"how busy", "not watched"}},
		{"a host with one process needs no second row", all["merged_consume"], nil, []string{" 1 667", " 1 333"}},
	} {
		text := oneSpace(written(t, Text, tc.of, Options{Verbose: true}))
		must.Has(t, tc.name, text, tc.has...)
		for _, s := range tc.not {
			if strings.Contains(text, s) {
				t.Errorf("%s: %q is in:\n%s", tc.name, s, written(t, Text, tc.of, Options{Verbose: true}))
			}
		}
	}
}

// many is a result of so many processes on each of so many hosts.
func many(hosts, processes int) result.Result {
	r := mergedProduce()
	r.Hosts, r.Processes = nil, nil
	for h := range hosts {
		name := fmt.Sprintf("client-%03d", h)
		r.Hosts = append(r.Hosts, client(name, processes, processes, did(r, 1000)))
		for p := range processes {
			r.Processes = append(r.Processes, ran(name, p+1, r, 1000))
		}
	}
	return r
}

func TestASummaryListsTheFirstProcessesAndCountsTheOthers(t *testing.T) {
	row := regexp.MustCompile(`(?m)^    client-\d+(/\d+)? .* complete$`)
	for _, tc := range []struct{ hosts, processes, rows, more int }{
		{40, 5, 30, 170}, {2, 15, 30, 0}, {1, 31, 30, 1}, {3, 2, 6, 0},
	} {
		text := written(t, Text, many(tc.hosts, tc.processes), Options{})
		must.Match(t, tc.rows, len(row.FindAllString(text, -1)), "%d × %d: rows:\n%s", tc.hosts, tc.processes, text)
		if more := fmt.Sprintf("    %d more: --output processes lists all\n", tc.more); strings.Contains(text, more) != (tc.more > 0) {
			t.Errorf("%d × %d: not as it should be: %q", tc.hosts, tc.processes, more)
		}
	}
	watched := written(t, Text, many(40, 1), Options{})
	if want := "    10 more: --output json lists all\n"; !strings.Contains(watched, want) {
		t.Errorf("%q is not in:\n%s", want, watched)
	}
	lost := many(1, 12)
	for i := range lost.Processes {
		lost.Processes[i].Counted, lost.Processes[i].State = false, result.PartLost
	}
	if text := written(t, Text, lost, Options{}); strings.Count(text, "/") < 10 || !strings.Contains(text, "2 more: --output processes lists them\n") {
		t.Errorf("not the first ten of those left out:\n%s", text)
	}
}

func TestTheReasonsOfASingleProcessAreThereOnce(t *testing.T) {
	r := many(1, 1)
	reasons := []string{"kt was 19ms late (bound: 5ms)", "kt sent 900 of 1,000 records/s"}
	r.Valid, r.Invalid = false, append(reasons, "the whole is too short")
	r.Processes[0].Valid, r.Processes[0].Invalid = false, reasons
	name := r.Processes[0].Host + "/1: "
	want := []string{name + reasons[0], name + reasons[1], "the whole is too short"}
	must.Match(t, want, invalid(&r), "")
}

func TestProcessesThatAreNotValidAreToldTogether(t *testing.T) {
	r := many(3, 5)
	r.Valid, r.Invalid = false, nil
	say := func(i int, reason string) {
		p := &r.Processes[i]
		p.Valid, p.Invalid = false, append(p.Invalid, reason)
		r.Invalid = append(r.Invalid, fmt.Sprintf("%s/%d: %s", p.Host, p.Process, reason))
	}
	for i := range 10 {
		say(i, fmt.Sprintf("kt was %dms late (bound: 5ms)", 10+i*7%10))
	}
	say(11, "kt sent 900 of 1,000 records/s")
	say(12, "kt sent 800 of 1,000 records/s")
	say(13, "kt used 4.00 of 4 cores")
	text := oneSpace(written(t, Text, r, Options{}))
	_, text, _ = strings.Cut(text, "NOT VALID ")
	rest := text
	for _, want := range []string{
		"10 of 15 processes, worst client-001/3: kt was 19ms late",
		"2 of 15 processes, such as client-002/2: kt sent 900 of 1,000 records/s; ",
		"client-002/4: kt used 4.00 of 4 cores",
	} {
		var found bool
		if _, rest, found = strings.Cut(rest, want); !found {
			t.Errorf("not valid because %s\nwant %q in its place", text, want)
		}
	}
}

func TestTheLinesOfProcessesAddUpToTheWhole(t *testing.T) {
	r := mergedProduce()
	rows := must.Have(csv.NewReader(strings.NewReader(written(t, Processes, r, Options{}))).ReadAll())(t)
	column := make(map[string]int)
	for i, name := range rows[0] {
		column[name] = i
	}
	var sum int64
	for _, row := range rows[1:] {
		n := must.Have(strconv.ParseInt(row[column["records_acknowledged"]], 10, 64))(t)
		if row[column["counted"]] == "true" {
			sum += n
		}
	}
	if len(rows) != 1+len(r.Processes) || sum != r.Records.Acknowledged {
		t.Errorf("%d lines of %d records, want %d of %d", len(rows)-1, sum, len(r.Processes), r.Records.Acknowledged)
	}
}

func TestRatesInATableAddUp(t *testing.T) {
	r := mergedProduce()
	host := func(name string, rates ...float64) (h result.HostRow) {
		h.Host, h.Processes, h.Counted = name, len(rates), len(rates)
		for i, rate := range rates {
			p := result.ProcessRow{Host: name, Process: i + 1, Command: "produce", State: result.PartComplete, Counted: true, Valid: true}
			p.RecordsPerSecond = rate
			h.RecordsPerSecond += rate
			r.Processes = append(r.Processes, p)
		}
		r.Throughput.RecordsPerSecond += h.RecordsPerSecond
		return h
	}
	r.Processes, r.Throughput.RecordsPerSecond = nil, 0
	r.Hosts = []result.HostRow{host("vm14", 999.4, 999.3), host("vm15", 999.4, 999.3)} // 1998.7 each, 3997.4 together
	lost := r.Processes[0]
	lost.Process, lost.Counted, lost.RecordsPerSecond = 3, false, 777.4
	r.Processes = append(r.Processes, lost)
	text := oneSpace(written(t, Text, r, Options{}))
	must.Has(t, "the summary", text, "vm14 1,999 ", "vm14/1 999 ", "vm14/2 1,000 ", "vm15 1,998 ", "vm15/1 999 ", "vm15/2 999 ", "total 3,997 ")
	if r.Hosts[0].RecordsPerSecond == 1999 {
		t.Error("the result itself was rounded")
	}
}
