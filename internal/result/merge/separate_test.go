package merge

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// ofTopic is a part that was started by itself, and wrote to or read from a topic.
func ofTopic(host string, command plan.Command, topic string) partFile {
	p := partFile{run: "r", host: host, process: 1, alone: true, events: steady(0, 10, 100), trailer: trailerOf(10)}
	if command == plan.Consume {
		p.plan = readHeader(command, 0).Plan
	}
	p.change = func(h *result.Header) { h.Plan.Topic.Name, h.Environment.Topic.Name = topic, topic }
	return p
}

func inCluster(p partFile, id string) partFile {
	change := p.change
	p.change = func(h *result.Header) { change(h); h.Environment.Cluster.ID = id }
	return p
}

func atOnce(p partFile) partFile { p.epoch = "e"; return p }

func TestOnlyLoadsOfOneTopicAreAddedUp(t *testing.T) {
	several := ofTopic("b", plan.Consume, "orders")
	several.change = func(h *result.Header) {
		h.Environment.Topics = []result.Topic{{Name: "orders", Partitions: 6}, {Name: "payments", Partitions: 1}}
	}
	lost := ofTopic("b", plan.Produce, "payments")
	lost.trailer = result.Trailer{}
	orders := ofTopic("a", plan.Produce, "orders")
	for _, tc := range []struct {
		name  string
		parts []partFile
		want  string
	}{
		{"two producers of one topic", []partFile{orders, ofTopic("b", plan.Produce, "orders")}, ""},
		{"two consumers of one topic", []partFile{ofTopic("a", plan.Consume, "orders"), ofTopic("b", plan.Consume, "orders")}, ""},
		{"a producer and a consumer of one topic", []partFile{orders, ofTopic("b", plan.Consume, "orders")}, ""},
		{"processes that were started together", []partFile{atOnce(orders), atOnce(ofTopic("b", plan.Produce, "payments"))}, ""},
		{"a part of another topic that does not count", []partFile{orders, lost}, ""},
		{"one part", []partFile{orders}, ""},
		{"two topics", []partFile{ofTopic("a", plan.Produce, "payments"), ofTopic("b", plan.Produce, "orders")}, "their topics differ: orders; payments"},
		{"a topic, and two of which it is one", []partFile{orders, several}, "their topics differ: orders; orders, payments"},
		{"many topics", []partFile{orders, ofTopic("b", plan.Produce, "b"), ofTopic("c", plan.Produce, "c"), ofTopic("d", plan.Consume, "d"), ofTopic("e", plan.Consume, "e")}, "their topics differ: b; c; d; 2 more"},
		{"two clusters", []partFile{orders, inCluster(ofTopic("b", plan.Produce, "orders"), "d")}, "they ran against 2 clusters"},
		{"one cluster whose name is not always known", []partFile{orders, inCluster(ofTopic("b", plan.Produce, "orders"), "")}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var files [][]byte
			for _, p := range tc.parts {
				files = append(files, p.bytes(t))
			}
			r := merged(t, files...)
			if r.NotAddedUp != tc.want || (r.Records.Acknowledged == 0) != (tc.want != "") || !strings.Contains(r.Notice, tc.want) {
				t.Errorf("not added up: %q, want %q; notice %q, %d records", r.NotAddedUp, tc.want, r.Notice, r.Records.Acknowledged)
			}
		})
	}
}

func TestDifferentLoadsHaveARowEachAndNothingTogether(t *testing.T) {
	a, b := ofTopic("a", plan.Produce, "orders"), ofTopic("b", plan.Produce, "payments")
	a.events, a.late = used(a.events), 3*time.Second
	b.trailer.Verify = &ledger.Verdict{Lost: 2, Readers: 1}
	watch := partFile{run: "r", host: "c", alone: true, trailer: trailerOf(10), vitals: []host.Vitals{{At: time.Second, Interval: time.Second, Cores: 4, CPU: 2}}}
	files := [][]byte{a.bytes(t), b.bytes(t), watch.bytes(t)}
	r := merged(t, files...)
	var rows []string
	for i, p := range r.Processes {
		rows = append(rows, fmt.Sprintf("%s/%d %s: %d, %.0f/s from %.0f s on, of %s %d/s", p.Host, p.Process, p.Topic, p.Records.Acknowledged, p.RecordsPerSecond, p.FromSeconds, r.Hosts[i].Host, int(r.Hosts[i].RecordsPerSecond)))
	}
	want := []string{"a/1 orders: 1000, 100/s from 3 s on, of a 0/s", "b/1 payments: 1000, 100/s from 0 s on, of b 0/s"}
	must.Match(t, want, rows, "rows")
	if diff := cmp.Diff(plan.Plan{Command: plan.Produce, Engine: plan.Client, Producers: 2, Load: plan.Load{Arrivals: plan.Uniform}}, r.Plan, cmp.AllowUnexported(plan.Size{})); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if r.Records != (result.Records{}) || len(r.Series) > 0 || r.Latency.Response.Count > 0 || r.Overlap != nil || r.Verify != nil || len(r.Environment.Topics) != 2 || r.ElapsedSeconds != 13 || len(r.RunFiles) != 3 {
		t.Errorf("of the whole there is %+v", r)
	}
	if h := r.Hosts[2]; h.Busy == nil || h.Busy.CPUShare != 0.5 {
		t.Errorf("the host that was watched is %+v", h)
	}
	must.Has(t, "the notice", r.Notice, "b/1 lost or damaged records")
	file := collection(t, setOf(t, files...))
	again, err := Read(bytes.NewReader(file), int64(len(file)))
	if diff := cmp.Diff(marshal(t, r), marshal(t, again)); err != nil || diff != "" {
		t.Errorf("read again: %v (-want +got):\n%s", err, diff)
	}
	for what, err := range map[string]error{
		"limits":  errorOf(Read(bytes.NewReader(file), int64(len(file)), "p99<1s")),
		"windows": Windows(bytes.NewReader(file), int64(len(file)), func(*stats.Window) error { return nil }),
	} {
		must.Err(t, "their topics differ: orders; payments", err, "the error of %s", what)
	}
}

func errorOf(_ result.Result, err error) error { return err }
