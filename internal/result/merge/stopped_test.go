//go:build !race

package merge

import (
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

func TestAPartThatWasStoppedEarlyDoesNotDecideTheRates(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name          string
		Done, Stopped []int  // the second in which each part was; -1: it was not
		Apart         bool   // each began by itself
		Counts        string // of each part
		Over          float64
		Notice        string
	}](t, "merge") {
		t.Run(tc.Name, func(t *testing.T) {
			var files [][]byte
			for i, done := range tc.Done {
				at := max(done, tc.Stopped[i])
				p := partFile{run: "r", epoch: "e", host: string(rune('a' + i)), process: 1, events: steady(0, at, 100), trailer: trailerOf(float64(at))}
				if done < 0 {
					p.trailer.Ended = result.Interrupted
				}
				if tc.Apart {
					p.epoch = ""
				}
				files = append(files, p.bytes(t))
			}
			r := merged(t, files...)
			var counts []string
			for _, p := range r.Processes {
				counts = append(counts, map[bool]string{true: "yes", false: "no"}[p.Counted])
			}
			got := strings.Join(counts, " ")
			must.True(t, got == tc.Counts && r.Overlap.Seconds == tc.Over, "count: %s, over %v s; want %s, %v s", got, r.Overlap.Seconds, tc.Counts, tc.Over)
			must.True(t, (r.Apart != nil) == strings.Contains(tc.Counts, "no") && strings.Contains(r.Notice, tc.Notice) && (tc.Notice != "" || r.Notice == ""), "notice %q, apart %+v; want %q", r.Notice, r.Apart, tc.Notice)
		})
	}
}

func TestPartsOfOneRecordEachRanTogetherIfTheirRunsDid(t *testing.T) {
	one := func(host string, at, late time.Duration) []byte {
		events := steady(0, 1, 1)
		w := events[0].Window
		w.End, w.FirstDue, w.LastDue, w.LastSent, w.LastAck = 2*at, at, at, at, 2*at
		return partFile{run: "r", host: host, process: 1, alone: true, late: late, events: events, trailer: trailerOf((2 * at).Seconds())}.bytes(t)
	}
	none := func(host string, late time.Duration) []byte {
		return partFile{run: "r", host: host, process: 1, alone: true, late: late, trailer: trailerOf(0.2)}.bytes(t)
	}
	for name, tc := range map[string]struct {
		files    [][]byte
		together bool
	}{
		"at one time":         {[][]byte{one("a", 100*time.Millisecond, 0), one("b", 130*time.Millisecond, 0)}, true},
		"one after the other": {[][]byte{one("a", 100*time.Millisecond, 0), one("b", 100*time.Millisecond, time.Second)}, false},
		"one after the other, but only one was measured": {[][]byte{one("a", 100*time.Millisecond, 0), none("b", time.Second)}, true},
		"one after the other, and none was measured":     {[][]byte{none("a", 0), none("b", time.Second)}, true},
	} {
		r := merged(t, tc.files...)
		want := saysSeparate
		if tc.together {
			want = saysShort
		}
		must.True(t, r.Overlap.Together == tc.together && strings.Contains(r.Notice, want), "%s: notice %q, %+v; want %q", name, r.Notice, r.Overlap, want)
	}
}

func TestAHostThatWasNotWatchedToTheEndIsNotBelieved(t *testing.T) {
	roster := []result.Member{{Host: "a", Role: "client", Processes: 1}, {Host: "b", Role: "broker"}, {Host: "c", Role: "broker"}}
	load := partFile{run: "r", epoch: "e", host: "a", process: 1, roster: roster, plan: header(0).Plan, events: steady(0, 60, 100), trailer: trailerOf(60)}
	watch := func(name string, seconds int, cpu float64) []byte {
		p := partFile{run: "r", epoch: "e", host: name, roster: roster}
		for s := range seconds {
			p.vitals = append(p.vitals, host.Vitals{At: time.Duration(s+1) * time.Second, Interval: time.Second, Cores: 4, CPU: 4 * cpu})
		}
		return p.bytes(t)
	}
	for _, tc := range []struct {
		name             string
		files            [][]byte
		notice, evidence string // "": neither is told of
	}{
		{"both to the end", [][]byte{watch("b", 60, 0.2), watch("c", 60, 0.2)}, "", "b's CPU: 20 % of its 4 cores"},
		{"almost to the end", [][]byte{watch("b", 53, 0.2), watch("c", 60, 0.1)}, "", "b's CPU: 20 % of its 4 cores"},
		{"for two seconds, in which it was busy", [][]byte{watch("b", 2, 1), watch("c", 60, 0.1)}, "b was watched for 2 of 60 s", "in use; b was watched for 2 of 60 s"},
		{"one is not there", [][]byte{watch("c", 60, 0.1)}, "b was not watched", "; b was not watched"},
		{"one has a file, and nothing in it", [][]byte{watch("b", 0, 1), watch("c", 60, 0.1)}, "b was not watched", "; b was not watched"},
		{"both are not there", nil, "c was not watched", "no host was watched"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := merged(t, append(tc.files, load.bytes(t))...)
			must.True(t, strings.Contains(r.Notice, tc.notice) && (tc.notice == "") == (r.Notice == "") && strings.Contains(r.BoundBy.Evidence, tc.evidence), "notice %q, want %q; %q, want %q", r.Notice, tc.notice, r.BoundBy.Evidence, tc.evidence)
		})
	}
}

func TestTheLongestGapIsNamed(t *testing.T) {
	part := func(process int, gap time.Duration) []byte {
		events := steady(0, 5, 100)
		events[2].Window.Outage = stats.Gap{From: 2 * time.Second, Length: gap}
		return partFile{run: "r", epoch: "e", host: "vm15", process: process, events: events, trailer: trailerOf(5)}.bytes(t)
	}
	if o := merged(t, part(1, time.Second), part(2, 3*time.Second)).Outage; o == nil || *o.LongestGapMS != 3000 || o.LongestGapOf != "vm15/2" {
		t.Errorf("the longest gap is %+v, want one of 3 s of vm15/2", o)
	}
	if o := replayed1(t, part(2, 3*time.Second)).Outage; o == nil || o.LongestGapOf != "" {
		t.Errorf("alone it is %+v", o)
	}
}

// A gap of one process is no stall of the run while others have acknowledgements.
func TestAStallOfTheWholeIsThatOfAllParts(t *testing.T) {
	part := func(process int, records int64, gaps ...stats.Gap) []byte {
		events := steady(0, 20, int(records))
		for _, g := range gaps {
			for i := int(g.From / time.Second); i <= int((g.From+g.Length)/time.Second); i++ { // an open gap is told each second
				if w := events[i].Window; min(g.Length, w.End-g.From) > w.Outage.Length {
					w.Outage = stats.Gap{From: g.From, Length: min(g.Length, w.End-g.From)}
				}
			}
		}
		return partFile{run: "r", epoch: "e", host: "vm15", process: process, plan: header(float64(records)).Plan, events: events, trailer: trailerOf(20)}.bytes(t)
	}
	gap := func(from, length time.Duration) stats.Gap {
		return stats.Gap{From: from * time.Millisecond, Length: length * time.Millisecond}
	}
	for _, tc := range []struct {
		name string
		a, b []stats.Gap
		want string // "": no stall
	}{
		{"of all at once", []stats.Gap{gap(4000, 1900)}, []stats.Gap{gap(4010, 1950)}, "for 1.89s, from 4.01s on"},
		{"of one", []stats.Gap{gap(4000, 1900)}, nil, ""},
		{"of one after the other", []stats.Gap{gap(4000, 1900)}, []stats.Gap{gap(5800, 1900)}, ""},
		{"of all, beside a longer one of one", []stats.Gap{gap(4000, 1500), gap(8000, 6000)}, []stats.Gap{gap(4000, 1400)}, "for 1.40s, from 4.00s on"},
		{"of one, whose answers came in another order", []stats.Gap{gap(4000, 2900), gap(5500, 2500)}, nil, ""},
		{"of all, in another order", []stats.Gap{gap(4000, 2900), gap(5500, 2500)}, []stats.Gap{gap(4000, 3900)}, "for 3.90s, from 4.00s on"},
		{"of one, with two of the other in it", []stats.Gap{gap(4000, 6000)}, []stats.Gap{gap(4500, 1200), gap(6000, 2500)}, "for 2.50s, from 6.00s on"},
	} {
		r := merged(t, part(1, 1000, tc.a...), part(2, 1000, tc.b...))
		got := r.BoundBy
		must.True(t, (got.Limit == verdict.Stalled) == (tc.want != "") && strings.Contains(got.Evidence, tc.want), "%s: bound by %+v, want %q", tc.name, r.BoundBy, tc.want)
	}
	alone := part(1, 1000, gap(4000, 1500), gap(5500, 1500)) // an acknowledgement came in between
	if one, all := replayed1(t, alone).BoundBy, merged(t, alone).BoundBy; one != all || !strings.Contains(one.Evidence, "for 1.50s, from 4.00s on") {
		t.Errorf("bound by %+v, merged by %+v", one, all)
	}
}

func TestPartitionsOfAMergedResultHaveNoRates(t *testing.T) {
	part := func(host string, late time.Duration) []byte {
		events := steady(0, 60, 100)
		for _, e := range events {
			e.Window.Partitions = map[int32]stats.Partition{0: {Records: 100}}
		}
		return partFile{run: "r", host: host, process: 1, alone: true, late: late, events: events, trailer: trailerOf(60)}.bytes(t)
	}
	a := part("a", 0)
	if p := replayed1(t, a).Partitions[0]; p.RecordsPerSecond == nil || *p.RecordsPerSecond != 100 {
		t.Errorf("alone: %+v", p)
	}
	if p := merged(t, a, part("b", 30*time.Second)).Partitions[0]; p.RecordsPerSecond != nil || p.Records != 12_000 {
		t.Errorf("merged: %+v", p)
	}
}
