package verdict

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
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
	name, where, many := strings.Cut(string(l), " on ") // of one of many hosts
	if name = cmp.Or(limits()[Limit(name)].Shown, name); many {
		name += " on " + where
	}
	return name
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
	Fetches    Limit = "broker fetches"      // readers waited for records although some were there
	Reader     Limit = "this consumer"       // CPU to spare, and the brokers were faster: one client does no more
)

//go:embed limits.yaml
var limitsYAML []byte

// words are what is said of a limit.
type words struct{ Shown, Next string }

var limits = sync.OnceValue(func() (all map[Limit]words) {
	if err := yaml.Unmarshal(limitsYAML, &all); err != nil {
		panic(err) // it is a part of kt
	}
	return all
})

// Next returns what to do about a limit in a short sentence; "": there is nothing to do, or it is not known.
func (l Limit) Next() string {
	name, _, _ := strings.Cut(string(l), " on ") // of one of many hosts
	return limits()[Limit(name)].Next
}

// Invalid returns the reasons why a fixed-rate run is not valid: kt itself did not keep the schedule.
// Back-pressure of the brokers is no such reason, and an unlimited rate has no schedule. A run in which kt itself stood still is
// not valid at any rate.
func (e *Evidence) Invalid() []string {
	reasons := []string{}
	switch {
	case e.Parts != nil:
		return append(reasons, e.Parts.Invalid...)
	case e.paused():
		return append(reasons, e.pause())
	case e.readsOnly() && e.Target > 0 && e.Consumed > 0 && !e.readKept() && e.noCPU(): // for lack of anything else, the log may have no more records
		return append(reasons, fmt.Sprintf("kt had no CPU left: it used %.2f of %.4g cores and read %s of %s/s",
			e.CPUCores, e.CoresAvailable, theme.Amount(e.Read.RecordsPerSecond), theme.Plural(e.Target, "record", "records")))
	case e.readsOnly():
		return reasons
	case e.Target == 0 || e.Offered == 0 || e.OneAtATime:
		return reasons
	}
	if e.OwnSendDelayP99 > e.bound() {
		share := "1 % of the records more than"
		if e.Offered < 100 { // its p99 is its largest value
			share = "1 of " + theme.Plural(e.Offered, "record", "records")
		}
		const about = 10 * time.Microsecond
		reasons = append(reasons, fmt.Sprintf("kt itself sent %s %s late (allowed: %s)", share, e.OwnSendDelayP99.Round(about), e.bound().Round(about)))
	}
	switch {
	case e.kept():
	case e.noCPU():
		reasons = append(reasons, fmt.Sprintf("kt had no CPU left: it used %.2f of %.4g cores and %s", e.CPUCores, e.CoresAvailable, e.miss()))
	case e.BufferFull < bufferShows && e.Senders:
		reasons = append(reasons, fmt.Sprintf("kt %s although it waited for the brokers only %.0f %% of the time", e.miss(), 100*e.BufferFull))
	}
	return reasons
}

// miss returns the figures by which a target was not kept: the rate, or the records that were never sent.
func (e *Evidence) miss() string {
	if e.onTime() {
		return fmt.Sprintf("never sent %s that were due, beside %s that it sent", theme.Plural(e.Unsent, "record", "records"), theme.Count(e.Offered))
	}
	return fmt.Sprintf("handed over %s of %s/s", theme.Amount(e.OfferedPerSecond), theme.Plural(e.sending(), "record", "records"))
}

// Verdict returns the limit of the run. Failures come first, then a pause of kt and stalls, then kt's other faults,
// then throttling and readers, then full buffers.
func (e *Evidence) Verdict() Verdict {
	if e.Read != nil && (e.Read.Failed || e.Read.Denied && (e.Consumed == 0 || e.Read.Idle > 0)) {
		return Verdict{ReadFailed, "reading could not go on: " + cmp.Or(e.Read.Error, "the error is not known")}
	}
	if e.readsOnly() {
		return e.readVerdict()
	}
	cpu, host, processes := e.cpu(), e.host(), 1.0
	full := fmt.Sprintf("senders waited for acknowledgements %.0f %% of the time, with %.0f %% of the allowed requests in flight",
		100*e.BufferFull, 100*e.InFlight)
	if e.Parts != nil {
		processes = float64(e.Parts.Count)
	}
	// One record a process is no queue, because the last one may be on its way.
	carried := e.Waiting <= max(processes, waitingShows.Seconds()*e.last(), (1-rateKept)*float64(e.Offered))
	switch {
	case e.lost() >= failuresShow && (e.Throttled >= throttleLoses && (e.WorstError == "" || ofClient.MatchString(e.WorstError)) || e.Throttled >= throttleShows && ofThrottling.MatchString(e.WorstError)):
		return Verdict{Throttle, fmt.Sprintf("%s, and %.1f %% of the records were not acknowledged in time", e.quota().Evidence, 100*e.lost())}
	case e.lost() >= failuresShow || e.stalls() && Denied(e.WorstError):
		return Verdict{Failures, e.failures() + "; " + full}
	case e.NotInLog > 0:
		return Verdict{Failures, fmt.Sprintf("%s in the log although kt counts them as acknowledged, or with acks=0 as sent; %s", theme.Plural(e.NotInLog, "record is not", "records are not"), full)}
	case e.paused():
		return Verdict{Schedule, e.pause() + "; " + cpu}
	case e.stalls():
		return e.stalled(full + "; " + cpu)
	case e.Parts != nil && e.Parts.NoOverlap != "":
		return Verdict{Unknown, e.Parts.NoOverlap}
	case e.Measured < Shortest:
		return Verdict{Unknown, "too short: less than 1 s was measured"}
	case e.Acknowledged == 0:
		return Verdict{Unknown, "no record was acknowledged"}
	case e.noCPU() && (e.Target == 0 || !e.kept() || e.stopped() && len(e.Invalid()) > 0):
		return Verdict{ClientCPU, cpu + "; give it more, or offer the load from more hosts"}
	case len(e.Invalid()) > 0:
		return Verdict{Schedule, e.Invalid()[0] + "; " + cpu + "; " + host}
	case e.Throttled >= throttleShows:
		return e.quota()
	case e.OneAtATime:
		return Verdict{None, "one record was in flight at a time: this is the latency of an idle cluster; " + cpu}
	case e.Read != nil && e.Read.Others != "":
		return Verdict{Members, e.Read.Others + "; " + cpu}
	case e.Read != nil && e.Read.Lag.KeptUp != nil && !*e.Read.Lag.KeptUp:
		return Verdict{Consumers, e.Read.behind() + "; " + cpu + ", " + host + "; " + full}
	case e.Target > 0 && e.kept() && carried:
		return Verdict{None, fmt.Sprintf("the target of %s/s was kept%s (%s/s offered); %s", theme.Plural(e.Target, "record", "records"), e.average(), theme.Amount(e.OfferedPerSecond), cpu)}
	case e.CeilingShare() >= ceilingShows && !CeilingTooLow(e.CeilingShare()):
		return Verdict{Ceiling, fmt.Sprintf("%s/s are %.0f %% of what this host can offer, whatever the brokers (kt calibrate); %s",
			theme.Plural(e.OfferedPerSecond, "record", "records"), 100*e.CeilingShare(), cpu)}
	case e.hostFull():
		return Verdict{HostCPU, host + ", " + cpu + "; " + full}
	case e.Target > 0 && e.kept():
		return e.queued(cpu + ", " + host)
	case e.BufferFull >= bufferShows && e.InFlight >= inFlightShows:
		return Verdict{BrokerAcks, full + "; " + cpu + ", " + host}
	case e.NoAcks && e.BufferFull >= bufferShows:
		return Verdict{Sockets, fmt.Sprintf("senders waited %.0f %% of the time for the connections to take more; %s; %s", 100*e.BufferFull, cpu, host)}
	}
	return Verdict{Client, full + "; " + cpu + ", " + host + "; more --producers may offer more"}
}

func (e *Evidence) cpu() string {
	s := fmt.Sprintf("kt used %.2f of %.4g cores", e.CPUCores, e.CoresAvailable)
	if e.stopped() {
		s += fmt.Sprintf(", and the CPU limit of its container stopped it in %.0f %% of the periods", 100*e.CPUStopped)
	}
	return s
}

func (e *Evidence) host() string {
	whose := "this machine's"
	if e.Parts != nil {
		whose = "the clients'"
	}
	busy := 0.0
	if e.HostCores > 0 {
		busy = 100 * e.HostCPUCores / e.HostCores
	}
	return fmt.Sprintf("%s CPUs were %.0f %% busy", whose, busy)
}

func (e *Evidence) quota() Verdict {
	return Verdict{Throttle, fmt.Sprintf("brokers throttled kt %.0f %% of the time: %s", 100*e.Throttled, cmp.Or(e.Quota, "a quota"))}
}

// failures returns a clause on the records that were not acknowledged, with the known causes and a stall.
func (e *Evidence) failures() string {
	s := fmt.Sprintf("%.1f %% of the records were not acknowledged", 100*e.lost())
	if e.WorstError != "" {
		s += ", most of them " + e.WorstError
	}
	if e.paused() {
		s += "; " + e.pause()
	}
	if e.Unanswered > 0 && ofClient.MatchString(e.WorstError) {
		s += fmt.Sprintf("; %s ended without an answer: brokers close the connection of a request above their socket.request.max.bytes, "+
			"and each one above max.connections.per.ip or max.connections; their logs say which", theme.Plural(e.Unanswered, "request", "requests"))
	}
	if e.stalls() {
		s += "; " + e.stallText()
		if e.Stall.Cause != "" {
			s += " (" + e.Stall.Cause + ")"
		}
	}
	return s
}

// connects returns a clause on connections that failed, or "".
func (e *Evidence) connects() string {
	if e.FailedConnects == 0 {
		return ""
	}
	return fmt.Sprintf("; %s failed: brokers were not reached, or closed them, as they do above max.connections.per.ip or max.connections; their logs say which",
		theme.Plural(e.FailedConnects, "connection", "connections"))
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

// pause returns a clause on the time for which kt itself stood still.
func (e *Evidence) pause() string {
	return fmt.Sprintf("kt itself stood still for %.1f s: its process was stopped (SIGSTOP, Ctrl-Z), its machine was, or it got no CPU", e.Paused.Seconds())
}

// queued returns the verdict on a target that was offered and not carried.
func (e *Evidence) queued(busy string) Verdict {
	limit, did := BrokerAcks, "acknowledged"
	if e.NoAcks {
		limit, did = Sockets, "taken by the connections"
	}
	when := map[bool]string{true: "wait now", false: "waited when sending ended"}[e.Sending]
	return Verdict{limit, fmt.Sprintf("%s/s were offered and %s/s %s: %s, %.1f s of the load, %s; %s",
		theme.Plural(e.OfferedPerSecond, "record", "records"), theme.Amount(e.AcknowledgedPerSecond), did,
		theme.Plural(e.Waiting, "record", "records"), e.Waiting/e.last(), when, busy)}
}

// stallText returns a clause on the stall, in whole milliseconds as the longest gap in the document.
func (e *Evidence) stallText() string {
	did := map[bool]string{true: "read", false: "acknowledged"}[e.readsOnly()]
	return fmt.Sprintf("nothing was %s for %s, from %s on", did, theme.Duration(e.Stall.Length.Truncate(time.Millisecond)), theme.Duration(e.Stall.From))
}

// stalled returns the verdict on a stall, with the events meanwhile or if there are none with busy.
func (e *Evidence) stalled(busy string) Verdict {
	did := map[bool]string{true: "waited", false: "were outstanding"}[e.readsOnly()]
	return stalled(e.stallText()+", although records "+did, e.Stall.Cause, busy)
}

// stalled returns the verdict on a stall, with its cause or if that is not known with busy.
func stalled(what, cause, busy string) Verdict {
	if cause != "" {
		return Verdict{Stalled, what + ": " + cause}
	}
	return Verdict{Stalled, what + "; " + busy}
}
