package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// tells checks the rows of a test: what the texts of results have, and what not.
func tells(t *testing.T, all map[string]result.Result) {
	t.Helper()
	for _, tc := range must.Rows[[]struct {
		Name, Of string
		Has, Not []string
	}](t, "text_read") {
		text := oneSpace(written(t, Text, all[tc.Of], Options{Options: doc.Options{Verbose: true}}))
		must.Has(t, tc.Name, text, tc.Has...)
		for _, s := range tc.Not {
			must.True(t, !strings.Contains(text, s), "%s: %q is in:\n%s", tc.Name, s, text)
		}
	}
}

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
	maps.Copy(all, map[string]result.Result{"gaps": gaps, "paced": paced, "unsynchronised": unsynchronised, "single": single, "failed": failed, "unread": unread().Result()})
	tells(t, all)
}

func TestTheVerdictOfVerificationIsOneSentence(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name string
		V    ledger.Verdict
		Want string
		Tone doc.Tone
	}](t, "text_read") {
		got, tone := verified(&tc.V)
		must.True(t, strings.Contains(got, tc.Want) && tone == tc.Tone, "%s: %q is %q, want %q to be %q", tc.Name, got, tone, tc.Want, tc.Tone)
	}
	got := account(&ledger.Verdict{Readers: 2, Acknowledged: 10, AcknowledgedRead: 17, Lost: 1, Undecided: 1, Aborted: 1})
	must.Has(t, "two groups", got, "10 acknowledged", "2 groups", "17 read", "1 lost", "1 undecided", "1 aborted")
}

func TestAMissedTargetStandsUnderTheTitle(t *testing.T) {
	r := results()["fixed"]
	text := written(t, Text, r, Options{})
	must.True(t, !strings.Contains(text, "of the target"), "a target that was kept is marked:\n%s", text)
	share := 0.5578
	r.TargetReached, r.BoundBy.Limit = &share, verdict.BrokerAcks
	r.Throughput.RecordsPerSecond, r.Throughput.TargetRecordsPerSecond = 502_000, 900_000
	const want = "▲ 56% of the target: 502,000 of 900,000 records/s"
	must.Has(t, "the first lines", strings.Join(strings.Split(written(t, Text, r, Options{}), "\n")[:6], "\n"), want)
	r = results()["consume"]
	r.TargetReached, r.BoundBy.Limit, r.Fetch.RecordsPerSecond, r.Throughput.TargetRecordsPerSecond = &share, verdict.Reader, 558, 1000
	must.Has(t, "a target of reading is not marked", written(t, Text, r, Options{}), "▲ 56% of the target: 558 of 1,000 ")
}

// What the busiest key and partition had is quoted of keys with a law, and is the same in a document that was read back.
func TestTheBusiestKeyAndPartitionAreQuoted(t *testing.T) {
	h := header(1000)
	r := folded(h, 4, 1, nil).Result()
	must.True(t, r.Skew == nil && !strings.Contains(written(t, Text, r, Options{}), "busiest"), "even keys have a busiest one: %+v", r.Skew)
	h.Plan.Payload.Keys, h.Plan.Payload.KeyRange = "zipf:1", 100
	r = folded(h, 4, 1, func(w *stats.Window) { w.BusiestKey = 187 }).Result()
	must.Has(t, "the text", written(t, Text, r, Options{}), "skew         busiest key 19%, busiest partition 50% of the records")
	var read result.Result
	must.Do(t, json.Unmarshal(must.Have(json.Marshal(r))(t), &read))
	for _, of := range []*result.Result{&r, &read} {
		f := of.Figures()
		must.True(t, f.BusiestKey == 0.187 && f.BusiestPartition == 0.5, "figures are %+v", f)
	}
}

// The rows of the busiest topics and of all others are what the whole had: also of a file without consumer lag, as no kt writes it.
func TestTopicsHaveARowEachAndOneForTheOthers(t *testing.T) {
	h := header(1000)
	h.Plan.Read.Consumers = 1
	h.Environment.Topics = nil
	for i := range 13 {
		h.Environment.Topics = append(h.Environment.Topics, result.Topic{Name: fmt.Sprintf("t%02d", i), Partitions: 2})
	}
	r := folded(h, 4, 1, func(w *stats.Window) {
		w.Partitions, w.ConsumerLag = make(map[int32]stats.Partition), 13
		for i := range int32(27) { // and one that was added
			w.Partitions[i] = stats.Partition{Records: int64(20 + i), Consumed: 10, ConsumerLag: int64(i % 2)}
		}
		w.Acknowledged, w.Consumed = 20*27+26*27/2, 270
	}).Result()
	text := oneSpace(written(t, Text, r, Options{}))
	must.Has(t, "the text", text, " 2,673 acknowledged ", "consumer lag 52 ", " t12 2 10% 89 267 0.00 – – – – 60 4 t11 ", " 4 others 6 20% 181 543 1.46 – – – – 210 12")
	r.ConsumerLag = nil
	must.Has(t, "the text without consumer lag", oneSpace(written(t, Text, r, Options{})), " 4 others 6 20% 181 543 1.46 – – – – 210 –")
}

func TestMillisecondsOfReadingHaveNoRate(t *testing.T) {
	r := results()["consume"]
	r.Fetch.Seconds, r.Fetch.RecordsPerSecond, r.Fetch.MiBPerSecond, r.Records.Consumed = 0.007, 0, 0, 3000
	text := written(t, Text, r, Options{})
	must.True(t, strings.Contains(text, "too short for a rate: 3,000 records in 7.00ms") && !strings.Contains(text, "records/s"),
		"7 ms of data have a rate:\n%s", text)
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
	text = written(t, Text, r, Options{})
	must.True(t, !strings.Contains(text, "longest gap"), "a gap of milliseconds is told:\n%s", text)
}

func TestTagsSayHowRecordsAreRead(t *testing.T) {
	h := readHeader(plan.Consume, 0)
	h.Plan.Read.Group, h.Plan.Read.Consumers, h.Plan.Read.Processing, h.ConsumerConfig = "", 1, plan.FixedWork(time.Millisecond), nil
	must.Match(t, []string{"no group", "4 partitions", "RF 3", "1ms a record"}, Tags(h), "tags without a group")
	h.Plan.Read.Group, h.Plan.Read.Groups, h.Plan.Read.Processing = "g", 3, plan.Work{}
	must.Match(t, []string{"3 groups", "4 partitions", "RF 3"}, Tags(h), "tags of several groups")
	h.Plan.Command, h.Plan.Producers, h.Plan.Payload.Size = plan.Roundtrip, 1, must.Have(plan.ParseSize("1KiB-8KiB"))(t)
	must.Match(t, []string{"acks=", "3 groups", "4 partitions", "RF 3", "1KiB-8KiB"}, Tags(h), "tags of a roundtrip with several groups")
	h.Plan.Command, h.Plan.Producers = plan.Consume, 0
	h.Plan.Read.Groups, h.Plan.Read.Share = 0, &plan.ShareGroup{Release: 10}
	must.Match(t, []string{"group g", "4 partitions", "RF 3", "share group", "release@10"}, Tags(h), "tags of a share group")
}

func TestAShareGroupTellsWhatBecameOfItsRecords(t *testing.T) {
	facts := new(doc.Facts)
	shareGroup(facts, &result.ShareGroup{
		Acquired: 1130, Accepted: 995, Released: 120, Rejected: 5, Archived: 6, Unconfirmed: 10, Failed: 10, Redelivered: 130,
		Deliveries: result.Errors{"1": 1000, "2": 115, "3": 15}, AckTime: result.Latency{Count: 1120, P50: 1500, P99: 20_000, Max: 30_000},
		MostLocks: 1900, MostHeld: 593,
	}, &result.ShareLimits{Locks: 2000})
	var got []string
	for _, row := range facts.Rows {
		got = append(got, row.Name+": "+row.Text)
	}
	must.Match(t, []string{
		"share group: 1,130 acquired: 995 accepted, 120 released, 5 rejected, 10 not confirmed; archived: 6", "deliveries: 1. 1,000   2. 115   3. 15",
		"record locks: at most 1,900 of 2,000 a partition; one member held up to 593 records",
		"acknowledged: p50 1.50ms, p99 20.0ms, max 30.0ms   (polled → confirmed)",
	}, got, "facts")
}

func TestBrokersThatThrottleAreShownWithWhatWasCounted(t *testing.T) {
	var r result.Result
	r.Plan.Producers, r.Plan.Read.Consumers = 1, 1
	r.Brokers = []result.BrokerRow{{ID: 1, Addr: "kafka:9092", BrokerRequests: result.BrokerRequests{ThrottleMS: 3000}, Fetch: &result.BrokerRequests{Requests: 7, Records: 50}}}
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

func TestTheWorstOfTheStagesThatMissedTheirTargetsIsNamed(t *testing.T) {
	half, most := 0.5, 0.9
	readers := map[plan.Command]int{plan.Consume: 1}
	kept := result.StageRow{OfferedRecordsPerSecond: 10, TargetRecordsPerSecond: 10}
	bad := result.StageRow{OfferedRecordsPerSecond: 50, ReadRecordsPerSecond: 49, TargetRecordsPerSecond: 100, TargetReached: &half}
	less := result.StageRow{OfferedRecordsPerSecond: 90, TargetRecordsPerSecond: 100, TargetReached: &most}
	for name, tc := range map[string]struct {
		command plan.Command
		rows    []result.StageRow
		want    []string
	}{
		"none":     {plan.Produce, []result.StageRow{kept, kept}, nil},
		"one":      {plan.Produce, []result.StageRow{kept, bad}, []string{"50%", "stage 2:", "50 of 100 records/s offered"}},
		"two":      {plan.Produce, []result.StageRow{kept, less, bad, kept}, []string{"50%", "stage 3:", "2 of 4 stages"}},
		"a reader": {plan.Consume, []result.StageRow{bad}, []string{"49 of 100 records/s read"}},
	} {
		got := missedStages(&result.Result{Header: result.Header{Plan: plan.Plan{Command: tc.command, Read: plan.Read{Consumers: readers[tc.command]}}}, Stages: tc.rows})
		must.Match(t, (tc.want == nil), (got == ""), "%s: %q", name, got)
		must.Has(t, name, got, tc.want...)
	}
}

func TestALineSaysWhatKtTuneHasAgainstAHost(t *testing.T) {
	of := func(verdicts ...string) *result.TuneCheck {
		c := &result.TuneCheck{Checks: 9}
		for i, v := range verdicts {
			c.Findings = append(c.Findings, result.TuneFinding{ID: string(rune('a' + i)), Verdict: v})
		}
		return c
	}
	for _, r := range []struct {
		check *result.TuneCheck
		want  string
	}{
		{of(), "9 checks without a warning"},
		{of("info"), "9 checks without a warning"},
		{of("warn", "info"), "1 warning of the host: a; more with kt tune --check"},
		{of("fail", "warn", "warn"), "1 failure, 2 warnings of the host: a, b, c; more with kt tune --check"},
	} {
		must.Match(t, r.want, tuneLine(r.check), "it says")
	}
}

// ofOneLoadOnly are the formats that have nothing for loads that are not added up.
var ofOneLoadOnly = []string{"csv", "hgrm", "line", "markdown", "perf-test"}

func TestDifferentLoadsAreListedUnderOneHeadingAndNotAddedUp(t *testing.T) {
	r := mergedBeside()
	must.Err(t, "", compiled(t).Validate(decoded(t, written(t, JSON, r, Options{}))), "the document")
	var refused []string
	for _, name := range slices.Sorted(maps.Keys(Formats)) {
		if err := Formats[name](new(bytes.Buffer), r, Options{}); err != nil {
			refused = append(refused, name)
			must.Has(t, name, err.Error(), r.NotAddedUp)
		}
	}
	must.Match(t, ofOneLoadOnly, refused, "formats that have nothing for it")
}

// crowded has long names and large numbers everywhere.
func crowded() result.Result {
	r := mergedMixed()
	const long = "ip-10-120-13-45.eu-central-1.compute.internal"
	r.Plan.Topic.Name, r.Environment.Topic.Name, r.Part.Run = strings.Repeat("orders-", 30), strings.Repeat("orders-", 30), strings.Repeat("nightly-", 20)
	for i := range r.Brokers {
		r.Brokers[i].ID, r.Brokers[i].Addr = 1001, long+":9092"
	}
	for i := range r.Hosts {
		r.Hosts[i].Host = long
		if b := r.Hosts[i].Busy; b != nil {
			b.Disks = []result.BusyDisk{{Name: strings.Repeat("disk", 9), BusyShare: 1}}
			b.Networks = []result.BusyNetwork{{Name: strings.Repeat("bond", 9), SentMiB: 1234.5, ReceivedMiB: 1234.5}}
		}
	}
	for i := range r.Processes {
		p := &r.Processes[i]
		p.Host, p.RecordsPerSecond, p.ConsumedPerSecond, p.MiBPerSecond = long, 1_234_567, 1_234_567, 1206
	}
	r.Environment.Topics = []result.Topic{{Name: r.Plan.Topic.Name, Partitions: 4}, {Name: "b", Partitions: 1}}
	for i := range r.Partitions {
		r.Partitions[i].Topic = r.Plan.Topic.Name
	}
	r.Events = []result.Event{{Text: strings.Repeat("1 → 2 ", 40)}}
	return r
}

// looks are those in which a summary may be on a terminal.
func looks() map[string]*theme.Theme {
	return map[string]*theme.Theme{
		"color": theme.New(theme.Options{Profile: colorprofile.TrueColor, Dark: true}),
		"ascii": theme.New(theme.Options{ASCII: true}),
	}
}

func tooWide(t *testing.T, name, text string, width int) {
	t.Helper()
	for line := range strings.Lines(escapes.ReplaceAllString(text, "")) {
		n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
		must.True(t, n <= width, "%s: a line of %d characters on a terminal of %d:\n%s", name, n, width, line)
	}
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	all := results()
	all["crowded"] = crowded()
	all["many"] = many(3, 2)
	for look, th := range looks() {
		for width := 60; width <= 120; width += 3 {
			o := Options{Options: doc.Options{Theme: th, Width: width}, RunFile: "runs/orders.ktr"}
			for name, r := range all {
				tooWide(t, name+" in "+look, written(t, Text, r, o), width)
			}
		}
	}
}

// A log or a ticket has no room for more lines later, so nothing is left out of it.
func TestAFileOrAPipeGetsWholeLines(t *testing.T) {
	r := results()["outage"]
	event := strings.Repeat("a long command ", 20)
	r.Events = []result.Event{{Text: event}}
	must.Has(t, "an event is cut", oneSpace(written(t, Text, r, Options{})), strings.TrimSpace(event))
}

// Below 60 columns a summary is as for 60: nothing can be read there anyway.
func TestATerminalOfNoUseGetsTheNarrowestText(t *testing.T) {
	r := results()["merged"]
	must.Match(t, written(t, Text, r, Options{Options: doc.Options{Width: 60}}), written(t, Text, r, Options{Options: doc.Options{Width: 5}}), "written(t, Text, r, Options{Options: doc.Options{Width: 5}})")
}

func TestTheRunFileIsNamedInOnePiece(t *testing.T) {
	path := "/home/jo/" + strings.Repeat("runs/", 20) + "a b.ktr"
	text := written(t, Text, results()["fixed"], Options{Options: doc.Options{Width: 80}, RunFile: path})
	must.Has(t, "the summary", text, "    read again\n    kt report '"+path+"'\n")
}

// hostile would clear the screen, set the title, forge a line, turn text around and colour it.
const hostile = "x\x1b[2J\x1b]0;gone\a\r\nkt: all is well\u202e\u2066\x1b[32mgreen\x1b[m\u009b2J\x7f"

// poison makes every text within a value hostile, and keeps what it began with, so that names
// stay apart.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.String:
		if v.CanSet() && !strings.HasSuffix(v.Type().PkgPath(), "internal/plan") { // what a format is chosen by
			v.SetString(v.String() + hostile)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			poison(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Map:
		if !v.CanSet() || v.IsNil() || v.Type().Key().Kind() != reflect.String {
			return
		}
		poisoned := reflect.MakeMap(v.Type())
		for _, key := range v.MapKeys() {
			k, e := reflect.New(key.Type()).Elem(), reflect.New(v.Type().Elem()).Elem()
			k.Set(key)
			e.Set(v.MapIndex(key))
			poison(k)
			poison(e)
			poisoned.SetMapIndex(k, e)
		}
		v.Set(poisoned)
	default:
	}
}

// Every text in a run file is its writer's: of the topic, the group, a host, a broker, a header, a
// property, an event, what a command wrote. None of them reaches a terminal as it is, in any
// format, not even as a colour.
func TestNothingInARunFileSteersATerminal(t *testing.T) {
	for _, name := range []string{"fixed", "merged", "beside"} {
		r := mergedMixed()
		if name == "fixed" {
			r = results()["fixed"]
		}
		text := must.Have(json.Marshal(r))(t)
		for format, write := range Formats {
			if name == "beside" && slices.Contains(ofOneLoadOnly, format) {
				continue
			}
			for _, profile := range []colorprofile.Profile{colorprofile.NoTTY, colorprofile.TrueColor} {
				var read result.Result
				must.Do(t, json.Unmarshal(text, &read))
				poison(reflect.ValueOf(&read))
				if name != "beside" {
					read.NotAddedUp = ""
				}
				o := Options{Options: doc.Options{Theme: theme.New(theme.Options{Profile: profile}), Width: 100}, RunFile: hostile}
				o.Consumer.Zone = time.UTC
				var b strings.Builder
				must.Do(t, write(&b, read, o))
				harmless(t, name+" as "+format, b.String(), profile)
				must.True(t, format != "text" || strings.Contains(b.String(), "?[2J"), "the text does not show what it replaced")
			}
		}
		r = mergedMixed()
		poison(reflect.ValueOf(&r.Header))
		var log strings.Builder
		must.Do(t, WriteHLog(&log, r, func(func(*stats.Window)) error { return nil }))
		harmless(t, name+" as hlog", log.String(), colorprofile.NoTTY)
		var b strings.Builder
		must.Do(t, Metrics(&b, r))
		harmless(t, "metrics", b.String(), colorprofile.NoTTY)
	}
}

func TestNothingThatAPeerOrADiskSaysSteersATerminal(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.NoTTY, colorprofile.TrueColor} {
		th := theme.New(theme.Options{Profile: profile})
		rows, disks, checks := peers(), probed(200), examined()
		for _, v := range []any{rows, disks, checks} {
			poison(reflect.ValueOf(v))
		}
		for _, form := range []string{"text", "csv", "markdown", "json"} {
			o := Options{Options: doc.Options{Theme: th, Width: 100}}
			harmless(t, "peers as "+form, wrote(t, form, PeersDoc(rows), rows, o), profile)
			harmless(t, "probe as "+form, wrote(t, form, ProbeDoc(disks, hostile), disks, o), profile)
			harmless(t, "doctor as "+form, wrote(t, form, DoctorDoc(checks), checks, o), profile)
		}
	}
}

// painted are the sequences that the theme writes with all colours: none of 16.
var painted = regexp.MustCompile("\x1b\\[(|1|[34]8;2;[0-9;]*)m")

// harmless checks that a terminal would show text, and do nothing but change to colours of
// kt's own.
func harmless(t *testing.T, what, text string, profile colorprofile.Profile) {
	t.Helper()
	if profile == colorprofile.TrueColor {
		text = painted.ReplaceAllString(text, "")
	}
	bad := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
	must.True(t, bad < 0, "%s has %q", what, text[max(bad-40, 0):min(bad+20, len(text))])
	must.True(t, !strings.Contains(text, "\nkt: all is well"), "%s has a forged line", what)
}

// A row of CSV is one line: a name of two would be two rows to whoever reads lines.
func TestAFieldOfCSVIsOneLine(t *testing.T) {
	var b bytes.Buffer
	one := func(text string) any { return map[string]string{"a": text} }
	must.Do(t, flat(&b, []any{one(hostile)}, json.Marshal))
	rows, err := csv.NewReader(&b).ReadAll()
	must.True(t, err == nil && len(rows) == 2 && rows[1][0] == theme.Clean(hostile), "it is read as %q, %v", rows, err)
}
