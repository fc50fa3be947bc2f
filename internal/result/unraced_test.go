//go:build !race

package result

import (
	"bytes"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// These tests are long and of one goroutine: the race detector would find nothing.

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
		seeds, made := uint64(8), canned.Written
		if h.Plan.Reads() {
			seeds, made = 3, canned.Read
		}
		for seed := range seeds {
			events := made(seed, 12)
			live := NewFold(h)
			for _, e := range events {
				e.To(live)
			}
			live.Finish(completed)
			replayed, err := Replay(iotest.OneByteReader(bytes.NewReader(runFile(t, h, events, completed))), nil)
			must.Hold(t, err == nil, "%s, seed %d: %v", name, seed, err)
			if diff := cmp.Diff(marshal(t, live.Result()), marshal(t, replayed.Result())); diff != "" {
				t.Fatalf("%s, seed %d: live and replayed differ (-live +replayed):\n%s", name, seed, diff)
			}
		}
	}
	r := func() Result {
		return must.Have(Replay(bytes.NewReader(runFile(t, header(120), canned.Written(3, 12), completed)), nil))(t).Result()
	}()
	if r.Warmup == nil || len(r.Errors) == 0 || len(r.Brokers) != 3 || len(r.Partitions) != 6 || r.Records.Unknown == 0 || r.Latency.Response.OutOfRange == 0 {
		t.Errorf("the run that is replayed lacks what it is made up for: %s", marshal(t, r.Records))
	}
}

// At every byte of the last lines, for that is where a kill may strike.
func TestARunFileThatWasCutOffGivesTheResultUntilThen(t *testing.T) {
	var events []canned.Event
	for i := range 3 {
		start, end := time.Duration(i)*time.Second, time.Duration(i+1)*time.Second
		w := stats.Window{Start: start, End: end, Offered: 9, Acknowledged: 7, Failed: 1, Errors: map[string]int64{"X": 1}, LastAck: end}
		w.Response.RecordN(time.Duration(i+1)*time.Millisecond, 7)
		events = append(events, canned.Event{Window: &w}, canned.Event{Sample: &host.Sample{At: end, Interval: time.Second, Cores: 1, ProcessCPU: 0.5}})
	}
	whole := runFile(t, header(120), events, completed)
	// The end of each member, and the result of the file until there.
	var ends []int
	var results []string
	f, at := NewFold(header(120)), 0
	for at < len(whole) {
		if i := len(ends); i > len(events)/2 {
			f.Finish(completed)
		} else if i > 0 {
			events[2*i-2].To(f)
			events[2*i-1].To(f)
		}
		_, size, err := codec.CutMember(whole[at:])
		if err != nil || size == 0 {
			t.Fatal(size, err)
		}
		at += size
		ends, results = append(ends, at), append(results, marshal(t, f.Result()))
	}
	if n := len(events)/2 + 2; len(ends) != n {
		t.Fatalf("%d members, want %d", len(ends), n)
	}
	cutOffs := 0
	for cut := ends[0]; cut <= len(whole); cut++ {
		f, err := Replay(bytes.NewReader(whole[:cut]), nil)
		must.Hold(t, err == nil, "cut at byte %d of %d: %v", cut, len(whole), err)
		n := 0 // the last whole member
		for n+1 < len(ends) && cut >= ends[n+1] {
			n++
		}
		r := f.Result()
		if r.Ended == CutOff {
			cutOffs++
		}
		if diff := cmp.Diff(results[n], marshal(t, r)); diff != "" {
			t.Fatalf("cut at byte %d, behind member %d (-want +got):\n%s", cut, n+1, diff)
		}
	}
	must.Match(t, len(whole)-ends[0], cutOffs, "of %d were cut off: all but those with the whole trailer", len(whole)-ends[0]+1)
}
