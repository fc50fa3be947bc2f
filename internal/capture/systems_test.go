package capture_test

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/workload"
)

// Groups, and what is counted, are what the system calls so. Topics of which no sizes are known are no small ones.
func TestOtherSystemsAreWrittenWithWhatTheyHave(t *testing.T) {
	for system, row := range map[string]struct{ has, not []string }{
		"rabbitmq": {[]string{"rate: 300  # measured: counters of the brokers", "record-size: 700  # estimated", "consumers: 2"}, []string{"group:", "group-protocol", "idempotent"}},
		"pulsar":   {[]string{`group: "group-01"`, `command-property: ["subscription.type=shared"]`, "but their number and their mean size", "bytes: 70000"}, []string{"group-protocol", "idempotent"}},
	} {
		c := capture.Cluster{
			System: system, Last: time.Hour, At: time.Now(),
			Topics: []capture.Topic{
				{Name: "a", Partitions: 3, Replicas: 1, Rates: []float64{300}, Sure: capture.Measured, Producers: 2},
				{Name: "b", Partitions: 1, Replicas: 1, Rates: []float64{100}, Bytes: 70_000, Sure: capture.Measured},
			},
			Groups: []capture.Group{{Name: "g", Topics: []string{"a"}, Members: 2, Protocol: map[string]string{"pulsar": "shared"}[system]}},
		}
		var text bytes.Buffer
		must.Have(c.Write(&text, capture.Options{Similar: 0.2}))(t)
		must.Has(t, system, text.String(), row.has...)
		for _, s := range row.not {
			must.True(t, !strings.Contains(text.String(), s), "%s: %q is in\n%s", system, s, text.String())
		}
		known := func(command, flag string) error { return config.CheckFlag(plan.Command(command), flag) }
		must.Have(workload.Parse("w.yaml", text.Bytes(), known))(t)
	}
}

// Records of a batch come by chance where keys share them out. The time that batches wait is found from how long they span.
func TestLingerIsFoundFromHowLongBatchesSpan(t *testing.T) {
	const linger, perSecond = 20 * time.Millisecond, 40.0
	rng := rand.New(rand.NewPCG(39, 1))
	for _, row := range []struct {
		partitions int
		next       func() time.Duration
	}{
		{6, func() time.Duration { return time.Duration(rng.ExpFloat64() / perSecond * float64(time.Second)) }},
		{6, func() time.Duration { return time.Duration(rng.ExpFloat64() / (8 * perSecond) * float64(time.Second)) }},
		{1, func() time.Duration { return 7 * time.Millisecond }},
	} {
		r := new(capture.Records)
		for range 20_000 {
			span, records := time.Duration(0), 1
			for at := row.next(); at < linger; at += row.next() {
				span, records = at, records+1
			}
			for range records {
				r.Add(capture.Record{Key: []byte(strconv.Itoa(rng.IntN(50))), Value: make([]byte, 100)})
			}
			r.AddBatch(capture.Batch{Codec: "none", Count: records, Packed: 61 + 110*records, Unpacked: 61 + 110*records, Producer: -1, Span: span})
		}
		c := capture.Cluster{System: "kafka", Last: time.Hour, At: time.Now(), Topics: []capture.Topic{{Name: "t", Partitions: row.partitions, Replicas: 1, Rates: []float64{100}, Sure: capture.Measured, Records: r}}}
		var text bytes.Buffer
		must.Have(c.Write(&text, capture.Options{}))(t)
		found := regexp.MustCompile(`linger: (\d+)`).FindStringSubmatch(text.String())
		must.Hold(t, found != nil, "no linger in\n%s", text.String())
		ms := must.Have(strconv.Atoi(found[1]))(t)
		must.True(t, ms >= 17 && ms <= 21, "%d partitions: a linger of %s is found as %d ms", row.partitions, linger, ms)
	}
}
