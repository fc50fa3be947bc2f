package report

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
)

func TestTextTellsOfReading(t *testing.T) {
	all := results()
	unsynchronised := all["consume"]
	unsynchronised.Environment.Clock = &host.Clock{ErrorUS: 16_000_000}
	failed := all["consume"]
	failed.ReadEnd, failed.ReadError, failed.Fetch = result.ReadFailed, "TOPIC_AUTHORIZATION_FAILED: orders", all["consume"].Fetch
	gaps := all["consume"]
	fetch := *gaps.Fetch
	fetch.Deleted, fetch.Withheld = 30, 1
	gaps.Fetch, gaps.Partitions = &fetch, slices.Clone(gaps.Partitions)
	gaps.Partitions[1].Deleted = 30
	paced := all["consume"]
	paced.Throughput.TargetRecordsPerSecond = 1000
	single := consumed().Result()
	single.ConsumerLag.Records, single.Warmup.Records.Consumed = 1, 1
	one := *all["outage"].Outage
	one.RecordsFailed = new(int64)
	*one.RecordsFailed = 1
	single.Outage, single.Events = &one, all["outage"].Events
	for _, tc := range []struct {
		name     string
		of       result.Result
		has, not []string
	}{
		{"gaps", gaps, []string{"; 1 record waits behind open transactions", "30 records were deleted before they were read: p1 (30)"}, nil},
		{"a rate", paced, []string{"(target 1,000, in 3.97s)"}, nil},
		{"a clock that nobody keeps in step", unsynchronised, []string{"not synchronised"}, []string{"at most 16"}},
		{
			"reading that found nothing", unread().Result(),
			[]string{"records 0 read", "consumer lag 0 records", "this client 1.00 of 4 cores, 96 MiB"},
			[]string{"waited for records", "of the time", "per million", "kept up"},
		},
		{"one of each", single, []string{"consumer lag 1 record at the end", "1 record failed or was never answered", "warm-up 1 record left out"}, []string{"lag 1 records", "up 1 records"}},
		{"reading that could not go on", failed, []string{"until reading failed", "TOPIC_AUTHORIZATION_FAILED: orders"}, nil},
		{"several topics", all["consume_timeout"], []string{
			"kt consume ▸ orders and 1 more", "until none came for 10.0s", "NOT_LEADER_OR_FOLLOWER fetching 12", "8 rebalances of 400ms",
			"were paced (--rate, --processing-time) 75%", "NOT kept up", "orders-eu/0 (20,000), orders/0 (40)", "from 0 (orders-eu/1) to 2,000 records (orders/0)",
			"end to end 20 took longer", "error of this machine's is unknown", "timeline 500ms consumer 2 has other",
		}, []string{"p50 0s", "outage", "longest gap", "verification"}},
		{"one that is too slow", all["roundtrip_slow"], []string{
			"growing by 700/s: NOT kept up", "not read at the end: 2,800", "p1 (2,400), p2 (400)", "limit the consumers", "sent → polled, mostly queueing",
		}, nil},
		{"one record at a time", all["one_at_a_time"], []string{"one at a time", "so none queues"}, []string{"mostly queueing", "service"}},
	} {
		text := written(t, Text, tc.of, Options{Verbose: true})
		unwrapped := oneSpace(text)
		for _, s := range tc.has {
			must.Has(t, tc.name, unwrapped, oneSpace(s))
		}
		for _, s := range tc.not {
			if strings.Contains(unwrapped, oneSpace(s)) {
				t.Errorf("%s: %q is in:\n%s", tc.name, s, text)
			}
		}
	}
}

func TestTheVerdictOfVerificationIsOneSentence(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name string
		V    ledger.Verdict
		Want string
		Tone doc.Tone
	}](t, "text_read") {
		if got, tone := verified(&tc.V); !strings.Contains(got, tc.Want) || tone != tc.Tone {
			t.Errorf("%s: %q is %q, want %q to be %q", tc.Name, got, tone, tc.Want, tc.Tone)
		}
	}
	got := account(&ledger.Verdict{Readers: 2, Acknowledged: 10, AcknowledgedRead: 17, Lost: 1, Undecided: 1, Aborted: 1})
	must.Has(t, "two groups", got, "10 acknowledged", "2 groups", "17 read", "1 lost", "1 undecided", "1 aborted")
}

func TestAMissedTargetStandsUnderTheTitle(t *testing.T) {
	r := results()["fixed"]
	if text := written(t, Text, r, Options{}); strings.Contains(text, "of the target") {
		t.Errorf("a target that was kept is marked:\n%s", text)
	}
	share := 0.5578
	r.TargetReached, r.BoundBy.Limit = &share, verdict.BrokerAcks
	r.Throughput.RecordsPerSecond, r.Throughput.TargetRecordsPerSecond = 502_000, 900_000
	const want = "▲ 56% of the target: 502,000 of 900,000 records/s"
	must.Has(t, "the first lines", strings.Join(strings.Split(written(t, Text, r, Options{}), "\n")[:6], "\n"), want)
	r = results()["consume"]
	r.TargetReached, r.BoundBy.Limit, r.Fetch.RecordsPerSecond, r.Throughput.TargetRecordsPerSecond = &share, verdict.Reader, 558, 1000
	must.Has(t, "a target of reading is not marked", written(t, Text, r, Options{}), "▲ 56% of the target: 558 of 1,000 ")
}

func TestMillisecondsOfReadingHaveNoRate(t *testing.T) {
	r := results()["consume"]
	r.Fetch.Seconds, r.Fetch.RecordsPerSecond, r.Fetch.MiBPerSecond, r.Records.Consumed = 0.007, 0, 0, 3000
	text := written(t, Text, r, Options{})
	if !strings.Contains(text, "too short for a rate: 3,000 records in 7.00ms") || strings.Contains(text, "records/s") {
		t.Errorf("7 ms of data have a rate:\n%s", text)
	}
	r.Fetch.Seconds = 0
	must.Has(t, "one poll has a rate", written(t, Text, r, Options{}), "too short for a rate: 3,000 records in one poll")
	if r := written(t, func(w io.Writer, r result.Result, _ Options) error { return Metrics(w, r) }, r, Options{}); strings.Contains(r, "records-consumed-rate") {
		t.Errorf("7 ms of data have a rate among the metrics:\n%s", r)
	}
}

func TestALongTimelineIsCut(t *testing.T) {
	r := results()["outage"]
	for range 30 {
		r.Events = append(r.Events, r.Events[0])
	}
	r.EventsLeftOut, r.Outage.RecoveredMS = result.Errors{"rebalance": 70, "alarm_on": 30}, nil
	text := oneSpace(written(t, Text, r, Options{}))
	must.Has(t, "the summary", text, "--output json lists 18 of them", "118 more: 70 rebalance, 30 alarm on, 18 ", "in sync after 22.9s", "the rate was not back")
	gap, from := int64(3950), 10.25
	r.Events, r.Outage, r.EventsLeftOut = nil, &result.Outage{LongestGapMS: &gap, LongestGapFromSeconds: &from}, nil
	must.Has(t, "a gap of seconds without an event is not told", written(t, Text, r, Options{}), "for 3.95s, from 10.2s on; in p1 for 4.20s")
	r.Partitions[1].LongestGap.LengthMS = 14 // its own is still open in a file that was cut off
	if text := written(t, Text, r, Options{}); strings.Contains(text, "; in p") {
		t.Errorf("a partition is named that waited for less:\n%s", text)
	}
	gap = 20
	if text := written(t, Text, r, Options{}); strings.Contains(text, "longest gap") {
		t.Errorf("a gap of milliseconds is told:\n%s", text)
	}
}

func TestTagsSayHowRecordsAreRead(t *testing.T) {
	h := readHeader(plan.Consume, 0)
	h.Plan.Read.Group, h.Plan.Read.Consumers, h.Plan.Read.Processing, h.ConsumerConfig = "", 1, plan.Duration(time.Millisecond), nil
	must.Match(t, []string{"no group", "4 partitions", "RF 3", "1ms a record"}, Tags(h), "tags without a group")
	h.Plan.Read.Group, h.Plan.Read.Groups, h.Plan.Read.Processing = "g", 3, 0
	must.Match(t, []string{"3 groups", "4 partitions", "RF 3"}, Tags(h), "tags of several groups")
}

func TestBrokersThatThrottleAreShownWithWhatWasCounted(t *testing.T) {
	var r result.Result
	r.Plan.Producers, r.Plan.Read.Consumers = 1, 1
	r.Brokers = []result.BrokerRow{{ID: 1, Addr: "kafka:9092", ThrottleMS: 3000, Fetch: &result.BrokerFetch{Requests: 7, Records: 50}}}
	tables := tablesOf(parts(&r))
	if got := tables[0].Rows[0].Cells; got[2].Text != none || got[3].Text != none || tables[1].For.In(doc.InText) {
		t.Errorf("requests that nobody counted, fetches that nobody throttled: %+v", tables)
	}
	r.Brokers[0].Fetch.ThrottleMS = 12_300
	if tables := tablesOf(parts(&r)); !tables[1].For.In(doc.InText) || tables[1].Rows[0].Cells[7].Text != "12.3s" || tables[1].Rows[0].Cells[2].Text != "50" {
		t.Errorf("fetches that were throttled: %+v", tables[1])
	}
}

// tablesOf are the tables of a section.
func tablesOf(s doc.Section) (all []*doc.Table) {
	for _, b := range s.Blocks {
		if t, ok := b.(*doc.Table); ok {
			all = append(all, t)
		}
	}
	return all
}
