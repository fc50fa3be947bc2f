package verdict

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"text/template"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/theme"
)

// Verdict is the limit of a run, and the numbers that show it.
type Verdict struct {
	Limit    Limit  `json:"limit"`
	Evidence string `json:"evidence"` // one sentence with its numbers
}

// Limit is the resource that limited a run.
type Limit string

// String returns the limit in the words of screens and summaries.
func (l Limit) String() string {
	name, _, _ := strings.Cut(string(l), " on ") // of one of many hosts
	return cmp.Or(limits()[Limit(name)].Shown, name) + strings.TrimPrefix(string(l), name)
}

// The limits that kt can tell apart from its own host.
const (
	None       Limit = "none"                // the load was carried as it was asked for
	Unknown    Limit = "not known"           // too little was measured
	ClientCPU  Limit = "client CPU"          // kt's process had no CPU left
	HostCPU    Limit = "host CPU"            // this machine had no CPU left, and other processes used it
	Ceiling    Limit = "this host's ceiling" // as kt calibrate found it: no brokers would get more from here
	Schedule   Limit = "kt's schedule"       // kt sent late although nothing held it up
	Failures   Limit = "failed records"      // so many that other figures mean little
	Stalled    Limit = "a stall"             // the brokers acknowledged nothing, or gave nothing to read, for seconds
	Sockets    Limit = "broker connections"  // acks=0, and the connections took no more
	Throttle   Limit = "broker throttle"     // a quota
	BrokerAcks Limit = "broker acks"         // the buffer was full, and as many requests in flight as allowed
	Client     Limit = "this producer"       // CPU and requests to spare: one client does no more

	ReadFailed Limit = "failed reading"      // it could not go on
	Consumers  Limit = "the consumers"       // the producers write more than the consumers read
	Members    Limit = "other members"       // of the group, that have partitions
	Rebalances Limit = "rebalances"          // readers had no partitions
	Processing Limit = "the processing time" // that was asked for
	Locks      Limit = "record locks"        // of a share group: consumers waited for others to acknowledge
	Fetches    Limit = "broker fetches"      // readers waited for records although some were there
	Reader     Limit = "this consumer"       // CPU to spare, and the brokers were faster: one client does no more
)

//go:embed limits.yaml
var limitsYAML []byte

// words are what is said of a limit.
type words struct{ Shown, Next, Reading, Sharing string }

var limits = sync.OnceValue(func() (all map[Limit]words) {
	orPanic(yaml.Unmarshal(limitsYAML, &all))
	return all
})

// Next returns what to do about a limit of a run, which may only read, or read in a share group, in a short sentence; "": there is
// nothing to do, or it is not known.
func (l Limit) Next(readsOnly, sharing bool) string {
	name, _, _ := strings.Cut(string(l), " on ") // of one of many hosts
	switch of := limits()[Limit(name)]; {
	case sharing:
		return cmp.Or(of.Sharing, of.Next)
	case readsOnly:
		return cmp.Or(of.Reading, of.Next)
	default:
		return of.Next
	}
}

// Invalid returns the reasons why a fixed-rate run is not valid: kt itself did not keep the schedule.
// Back-pressure of the brokers is no such reason, and an unlimited rate has no schedule. A run in which kt itself stood still is
// not valid at any rate.
func (e *Evidence) Invalid() []string {
	reasons := []string{}
	if e.Parts != nil {
		return append(reasons, e.Parts.Invalid...)
	}
	reads := e.readsOnly() && e.Target > 0 && e.Consumed > 0
	sends := !e.readsOnly() && e.Target > 0 && e.Offered > 0 && !e.OneAtATime
	for _, r := range []row{
		{e.paused(), Schedule, "pause"},
		{!e.paused() && reads && !e.readKept() && e.noCPU(), ClientCPU, "read slowly"}, // for lack of anything else, the log may have no more records
		{!e.paused() && sends && e.OwnSendDelayP99 > e.bound(), Schedule, "late"},
		{!e.paused() && sends && !e.kept() && e.noCPU(), ClientCPU, "no CPU to send"},
		{!e.paused() && sends && !e.kept() && !e.noCPU() && e.BufferFull < bufferShows && e.Senders, Schedule, "not sent"},
	} {
		if r.is {
			reasons = append(reasons, e.say(r.says))
		}
	}
	return reasons
}

// row is a line of a table of decisions: with what evidence a limit is found, and the name of its sentence in evidence.yaml.
type row struct {
	is    bool
	limit Limit
	says  string
}

// Verdict returns the limit of the run. Failures come first, then a pause of kt and stalls, then kt's other faults,
// then throttling and readers, then full buffers.
func (e *Evidence) Verdict() Verdict {
	rows := e.writing
	if e.readsOnly() {
		rows = e.reading
	}
	failed := e.Read != nil && (e.Read.Failed || e.Read.Denied && (e.Consumed == 0 || e.Read.Idle > 0))
	for _, r := range append([]row{{failed, ReadFailed, "reading failed"}}, rows()...) {
		if r.is {
			return Verdict{r.limit, e.say(r.says)}
		}
	}
	return Verdict{Limit: Unknown}
}

// writing returns the decisions on a run that writes.
func (e *Evidence) writing() []row {
	processes := 1.0
	if e.Parts != nil {
		processes = float64(e.Parts.Count)
	}
	// One record a process is no queue, because the last one may be on its way.
	carried := e.Waiting <= max(processes, waitingShows.Seconds()*e.last(), (1-rateKept)*float64(e.Offered))
	late := e.Throttled >= throttleLoses && (e.WorstError == "" || ofClient.MatchString(e.WorstError)) ||
		e.Throttled >= throttleShows && ofThrottling.MatchString(e.WorstError)
	invalid, kept := len(e.Invalid()) > 0, e.Target > 0 && e.kept()
	return []row{
		{e.lost() >= failuresShow && late, Throttle, "too slow for a quota"},
		{e.lost() >= failuresShow || e.stalls() && Denied(e.WorstError), Failures, "failures"},
		{e.NotInLog > 0, Failures, "not in the log"},
		{e.paused(), Schedule, "paused"},
		{e.stalls(), Stalled, "stalled"},
		{e.Parts != nil && e.Parts.NoOverlap != "", Unknown, "apart"},
		{e.Measured < Shortest, Unknown, "short"},
		{e.Acknowledged == 0, Unknown, "nothing acknowledged"},
		{e.noCPU() && (!kept || e.stopped() && invalid), ClientCPU, "no CPU"},
		{invalid, Schedule, "not valid"},
		{e.Throttled >= throttleShows, Throttle, "quota"},
		{e.OneAtATime, None, "one at a time"},
		{e.Read != nil && e.Read.Others != "", Members, "others"},
		{e.Read != nil && e.Read.Lag.KeptUp != nil && !*e.Read.Lag.KeptUp && e.Read.Locks.usedUp(), Locks, "locks"},
		{e.Read != nil && e.Read.Lag.KeptUp != nil && !*e.Read.Lag.KeptUp, Consumers, "behind"},
		{kept && carried, None, "kept"},
		{e.CeilingShare() >= ceilingShows && !CeilingTooLow(e.CeilingShare()), Ceiling, "ceiling"},
		{e.hostFull(), HostCPU, "host full"},
		{kept && e.NoAcks, Sockets, "queued"},
		{kept, BrokerAcks, "queued"},
		{e.BufferFull >= bufferShows && e.InFlight >= inFlightShows, BrokerAcks, "acknowledgements"},
		{e.NoAcks && e.BufferFull >= bufferShows, Sockets, "sockets"},
		{true, Client, "client"},
	}
}

// reading returns the decisions on a run that only reads.
func (e *Evidence) reading() []row {
	r := e.Read
	return []row{
		{e.paused(), Schedule, "paused"},
		{r.Others != "" && (e.Consumed == 0 || !e.readKept()), Members, "others"},
		{e.Throttled >= throttleShows, Throttle, "quota"},
		{r.Idle > 0 && r.Lag.Left > 0, Stalled, "idle"},
		{e.Consumed == 0, Unknown, "nothing read"},
		{e.Parts != nil && e.Parts.NoOverlap != "", Unknown, "apart"},
		{r.Seconds < Shortest.Seconds(), Unknown, "short reading"},
		{e.noCPU() && !e.readKept(), ClientCPU, "no CPU to read"},
		{r.Unassigned < rebalanceShows && e.stalls(), Stalled, "stalled"},
		{e.readKept(), None, "kept"},
		{r.Lag.KeptUp != nil && r.LagThere < lagThere && r.Waiting+r.Held >= waitShows, None, "kept up"},
		{r.Unassigned >= rebalanceShows, Rebalances, "rebalances"},
		{r.Locks.usedUp() && r.LagThere >= lagThere && r.Waiting >= waitShows, Locks, "locks"},
		{r.Processing > 0 && r.Held >= heldShows, Processing, "held"},
		{e.hostFull(), HostCPU, "host full of reading"},
		{r.Waiting >= waitShows && r.Fetching >= fetchShows, Fetches, "fetches"},
		{true, Reader, "reader"},
	}
}

//go:embed evidence.yaml
var evidenceYAML []byte

// sentences are the templates of evidence.yaml, by name.
var sentences = sync.OnceValue(func() *template.Template {
	all := template.New("").Funcs(template.FuncMap{
		"stopped": (*Evidence).stopped, "paused": (*Evidence).paused, "stalls": (*Evidence).stalls, "reads": (*Evidence).readsOnly, "onTime": (*Evidence).onTime,
		"bound": (*Evidence).bound, "sending": (*Evidence).sending, "last": (*Evidence).last,
		"lost":     func(e *Evidence) string { return fmt.Sprintf("%.1f %%", 100*e.lost()) },
		"closed":   func(e *Evidence) bool { return e.Unanswered > 0 && ofClient.MatchString(e.WorstError) },
		"read":     func(e *Evidence) float64 { return e.Read.Lag.Appended - e.Read.Lag.Slope },
		"percent":  func(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) },
		"records":  func(n float64) string { return theme.Plural(n, "record", "records") },
		"seconds":  func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) },
		"plural":   theme.Plural[int64],
		"amount":   theme.Amount,
		"count":    theme.Count,
		"duration": theme.Duration,
		"per":      Per,
	})
	var texts map[string]string
	orPanic(yaml.Unmarshal(evidenceYAML, &texts))
	for name, text := range texts {
		template.Must(all.New(name).Parse(text))
	}
	return all
})

// say returns a sentence of evidence.yaml.
func (e *Evidence) say(name string) string {
	var text strings.Builder
	orPanic(sentences().ExecuteTemplate(&text, name, e))
	return text.String()
}

// orPanic panics, because the files are a part of kt.
func orPanic(err error) {
	if err != nil {
		panic(err)
	}
}

// Per returns a quotient, 0 where the divisor is.
func Per(sum, of float64) float64 {
	if of <= 0 {
		return 0
	}
	return sum / of
}

// Denied reports whether an error code means that the user lacks rights.
func Denied(code string) bool {
	code = strings.ToLower(code)
	return strings.Contains(code, "authori") || strings.Contains(code, "authenti") || strings.HasPrefix(code, "access_refused")
}

var (
	ofClient     = regexp.MustCompile("^(client:|TimeoutError)") // the client gave up
	ofThrottling = regexp.MustCompile("^(client:connection blocked|ProducerBlockedQuotaExceeded|NACK)")
)
