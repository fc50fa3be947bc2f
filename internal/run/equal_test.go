package run_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/run"
)

// alone is a merged document without the tables that only a merged one has.
func alone(r result.Result) result.Result {
	r.Overlap, r.Hosts, r.Processes, r.RunFiles = nil, nil, nil, nil
	return r
}

// setOf returns a set of files.
func setOf(t *testing.T, files ...[]byte) *merge.Set {
	t.Helper()
	s := merge.NewSet()
	for _, f := range files {
		must.Do(t, s.Add("f", bytes.NewReader(f), int64(len(f))))
	}
	return s
}

// merged returns the merged result of files, and their collection.
func merged(t *testing.T, files ...[]byte) (result.Result, []byte) {
	t.Helper()
	s := setOf(t, files...)
	var collection bytes.Buffer
	must.Have(s.WriteTo(&collection))(t)
	r := must.Have(s.Result(t.Context()))(t)
	return r, collection.Bytes()
}

// sameLive compares a merged result with the last second of the same files, merged line by line.
func sameLive(t *testing.T, want result.Result, files ...[]byte) {
	t.Helper()
	l := merge.NewLive(want.Header, nil)
	for i, file := range files {
		for line := range bytes.Lines(canned.Text(file)) {
			must.Do(t, l.Add(string(rune('a'+i)), line))
		}
	}
	last := l.Now()
	for second, ok := l.Next(merge.Over); ok; second, ok = l.Next(merge.Over) {
		last = second
	}
	got := result.Records{
		Offered: last.Snapshot.Run.Counts.Offered, Acknowledged: last.Snapshot.Run.Counts.Acknowledged, Failed: last.Snapshot.Run.Counts.Failed,
		Unknown: last.Snapshot.Run.Counts.Unknown, Unsent: last.Snapshot.Run.Counts.Unsent, Consumed: last.Snapshot.Run.Counts.Consumed,
	}
	if p99 := last.Snapshot.Run.Response.P99; got != want.Records || p99 != want.Latency.Response.P99 {
		t.Errorf("live it has %+v with a p99 of %d µs, and then %+v with %d µs", got, p99, want.Records, want.Latency.Response.P99)
	}
	noCPU := cmpopts.IgnoreFields(result.Point{}, "CPUCores") // a snapshot has it of rows that are too short to know it
	if diff := cmp.Diff(want.Series, last.Snapshot.Points, noCPU); diff != "" {
		t.Errorf("the series of the live one is another (-then +live):\n%s", diff)
	}
	must.Match(t, len(want.Hosts), len(last.Hosts), "live it has hosts, and then")
}

func TestLiveReplayedAndMergedResultsAreEqualByteForByte(t *testing.T) {
	broker := must.Have(kafka.StartEmbedded(true))(t)
	defer broker.Close()
	// made makes a run on the broker, checks its document, and returns its file.
	made := func(t *testing.T, p plan.Plan, host string) []byte {
		p.Bootstrap = broker.Addrs()
		r := request(t, p)
		r.Part = &result.Part{Run: "r", Host: host, Process: 1}
		r.Limits = []string{"p99<1h", "rate>=1 over 1s", "mean<1ms over 1s for 50%"}
		r.AbortOn = []string{"errors>0", "rate<0 over 1s"} // judged beside the load
		res := must.Have(run.Run(t.Context(), r))(t)
		file := must.Have(os.ReadFile(r.File.Path()))(t)
		sameReplayed(t, r.File.Path(), res)
		live := document(t, res)
		one, collection := merged(t, file)
		if got := document(t, alone(one)); !bytes.Equal(live, got) {
			t.Errorf("merged alone it is not the live one:\n%s\n%s", live, got)
		}
		if again, _ := merged(t, collection); !bytes.Equal(document(t, one), document(t, again)) {
			t.Error("merged again it is another document")
		}
		return file
	}
	consuming := producing("equal", 2500)
	consuming.Command, consuming.Producers, consuming.Load.Rate.PerSecond, consuming.Payload = plan.Consume, 0, 0, plan.Payload{}
	consuming.Read = plan.Read{Consumers: 1, ToEnd: true, Commit: plan.CommitNone, Timeout: 20e9}
	for _, p := range []plan.Plan{producing("equal", 2500), consuming, roundtrip("both", 2500)} {
		t.Run(string(p.Command), func(t *testing.T) {
			a, b := made(t, p, "a"), made(t, p, "b")
			want, collection := merged(t, a, b)
			if len(want.Processes) != 2 || want.Records.Acknowledged+want.Records.Consumed < 2*p.Load.Records {
				t.Fatalf("%d processes with %+v", len(want.Processes), want.Records)
			}
			sameLive(t, want, a, b)
			for _, files := range [][][]byte{{b, a}, {collection}, {collection, a}} {
				slices.Reverse(files)
				if got, _ := merged(t, files...); !bytes.Equal(document(t, want), document(t, got)) {
					t.Errorf("merged from %d files it is another document", len(files))
				}
			}
			read, err := merge.Read(bytes.NewReader(collection), int64(len(collection)))
			if err != nil || !bytes.Equal(document(t, want), document(t, read)) {
				t.Errorf("read from its collection it is another document: %v", err)
			}
		})
	}
}
