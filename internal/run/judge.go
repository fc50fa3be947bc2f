package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// Fault is the worst fault in a result.
type Fault struct {
	Kind FaultKind
	text string
}

func (f *Fault) Error() string { return f.text }

// FaultKind is a kind of fault.
type FaultKind int

// The kinds of faults, the worst first.
const (
	Lost     FaultKind = iota // acknowledged records are not in the log
	Damaged                   // records are corrupted, or repeated against the client's settings
	NotValid                  // kt did not keep its own schedule
	NotMet                    // a limit is not held, or a condition ended the load
	Failed                    // anything else
)

// Judge returns the worst fault of a result; nil: there is none. idle says that a run may end
// because no record came for the time of --timeout.
func Judge(res *result.Result, idle bool) error {
	if len(res.Loads) > 0 {
		return judgeLoads(res, idle)
	}
	unanswered := res.Records.Failed + res.Records.Unknown // a rate that is too high leaves others unsent, and is no fault
	if res.Warmup != nil {
		unanswered += res.Warmup.Records.Failed + res.Warmup.Records.Unknown
	}
	missing := res.Records.NotInLog
	notInLog := fmt.Sprintf("%s in the log of %s, of those that kt counts as %s", theme.Plural(missing, "record is not", "records are not"), res.Environment.Where(), res.Outcome())
	limits, _ := notMet(res)
	switch v := res.Verify; {
	case res.Lost():
		return &Fault{Lost, fmt.Sprintf("%s lost%s", theme.Plural(v.Lost, "acknowledged record is", "acknowledged records are"), inGroups(v))}
	case res.Damaged():
		return &Fault{Damaged, damage(v) + inGroups(v)}
	case !res.Valid:
		clauses := append([]string{"the run is not valid: " + few(res.Invalid)}, limits...)
		if missing > 0 {
			clauses = append(clauses, notInLog)
		}
		return &Fault{NotValid, strings.Join(clauses, "; also ")}
	case len(limits) > 0:
		return &Fault{NotMet, strings.Join(limits, "; ")}
	case res.Client.Aborted > 0:
		return &Fault{Failed, theme.Plural(res.Client.Aborted, "transaction", "transactions") + " could not be committed"}
	case unanswered > 0:
		return &Fault{Failed, theme.Plural(unanswered, "record was", "records were") + " not acknowledged" + why(res)}
	case missing > 0:
		return &Fault{Failed, notInLog}
	}
	return judgeReading(res, idle)
}

// judgeLoads returns the worst fault of the loads of a workload.
func judgeLoads(res *result.Result, idle bool) (worst error) {
	var least FaultKind
	for i := range res.Loads {
		var f *Fault
		if errors.As(Judge(&res.Loads[i].Result, idle), &f) && (worst == nil || f.Kind < least) {
			worst, least = &Fault{f.Kind, "load " + res.Loads[i].Name + ": " + f.text}, f.Kind
		}
	}
	return worst
}

// JudgeLimits returns an error if a limit of a result is not held. It judges nothing else.
func JudgeLimits(res *result.Result) error {
	if limits, held := notMet(res); !held {
		return &Fault{NotMet, strings.Join(limits, "; ")}
	}
	return nil
}

// Strict returns the error of a result of which every doubt is a fault too. judged is that of the result, which comes first if it is worse.
func Strict(doubts []result.Doubt, judged error) error {
	var f *Fault
	var ids []string
	for _, d := range doubts {
		ids = append(ids, d.ID)
	}
	doubted := &Fault{NotMet, fmt.Sprintf("--strict: %s left: %s", theme.Plural(int64(len(ids)), "doubt is", "doubts are"), strings.Join(ids, ", "))}
	switch {
	case len(ids) == 0:
		return judged
	case errors.As(judged, &f) && f.Kind <= NotMet:
		return errors.Join(judged, doubted)
	}
	return errors.Join(doubted, judged)
}

// notMet returns what a NotMet fault says, and reports whether all limits are held.
func notMet(res *result.Result) (say []string, held bool) {
	var broken []string
	for i := range res.Limits {
		if l := &res.Limits[i]; !l.Held {
			shown := l.Note
			if l.Value != nil {
				shown = l.Shown()
			}
			broken = append(broken, l.Expression+": "+shown)
		}
	}
	if res.AbortedBy != "" {
		say = append(say, "ended by --abort-on "+res.AbortedBy)
	}
	if n := len(broken); n > 0 {
		say = append(say, fmt.Sprintf("%s of %d not held: %s", theme.Plural(n, "limit", "limits"), len(res.Limits), few(broken)))
	}
	return say, len(broken) == 0
}

// why returns the most frequent error code of failed records, and where they were to go.
func why(res *result.Result) string {
	errs := res.Errors
	if len(errs) == 0 && res.Warmup != nil {
		errs = res.Warmup.Errors
	}
	code := errs.Worst()
	if code == "" {
		return ""
	}
	text := fmt.Sprintf(": %s in %s", code, res.Environment.Where())
	if said := res.Said[code]; said != "" {
		text += ": " + said
	}
	return text
}

// few returns the first of many reasons: a run on many hosts may have dozens.
func few(reasons []string) string {
	const most = 2
	if n := len(reasons) - most; n > 1 {
		return fmt.Sprintf("%s; and %d reasons more", strings.Join(reasons[:most], "; "), n)
	}
	return strings.Join(reasons, "; ")
}

// damage returns the text of a Damaged fault.
func damage(v *ledger.Verdict) string {
	excluded := " duplicated or reordered, which the client's settings exclude"
	if v.Mirror != nil {
		excluded = " duplicated or reordered in the mirror"
	}
	repeats, corrupted := v.Duplicated+v.Reordered+v.LateUndecided, theme.Plural(v.Corrupted, "record is", "records are")+" corrupted"
	switch {
	case repeats == 0 || v.RepeatsAllowed:
		return corrupted
	case v.Corrupted == 0:
		return theme.Plural(repeats, "record is", "records are") + excluded
	}
	return corrupted + " and " + theme.Count(repeats) + excluded
}

// inGroups returns a remark for counts that are sums over several groups.
func inGroups(v *ledger.Verdict) string {
	if v.Readers < 2 {
		return ""
	}
	return fmt.Sprintf(" (added up over %d groups)", v.Readers)
}

// judgeReading is Judge for reading.
func judgeReading(res *result.Result, idle bool) error {
	p := &res.Plan
	switch {
	case !p.Reads():
	case p.Writes() && res.Records.Acknowledged > 0 && res.Records.Consumed == 0:
		return &Fault{Failed, fmt.Sprintf("none of %s was read", theme.Plural(res.Records.Acknowledged, res.Outcome()+" record", res.Outcome()+" records"))}
	case res.ReadError != "":
		return &Fault{Failed, fmt.Sprintf("reading ended: %s", res.ReadError)}
	case res.Fetch != nil && res.Fetch.Deleted > 0 && !p.Read.AllowGaps:
		return &Fault{Failed, theme.Plural(res.Fetch.Deleted, "record was", "records were") + " deleted before they were read (--allow-gaps passes over that)"}
	case res.ReadEnd != string(engine.ReadIdle):
	case idle:
	case p.Load.Records > 0 && !p.Writes():
		return &Fault{Failed, fmt.Sprintf("%s of %s read: none came for %s (--timeout)", theme.Count(res.Records.Consumed), theme.Plural(p.RecordsToRead(), "record was", "records were"), p.Read.Timeout)}
	case p.Read.ToEnd:
		return &Fault{Failed, fmt.Sprintf("%s read, and not all that were there: none came for %s (--timeout)", theme.Plural(res.Records.Consumed, "record was", "records were"), p.Read.Timeout)}
	case p.Writes():
		return &Fault{Failed, fmt.Sprintf("%s acknowledged and %s read: none came for %s (--timeout)", theme.Plural(res.Records.Acknowledged, "record was", "records were"), theme.Count(res.Records.Consumed), p.Read.Timeout)}
	}
	if v := res.Verify; v != nil && v.LedgerDamaged {
		return &Fault{Failed, result.LedgerEnds(v)}
	} else if v != nil && v.Acknowledged == 0 && !p.Writes() {
		return &Fault{Failed, "nothing was verified: the ledger has no acknowledged record"}
	} else if v != nil && v.Unchecked+v.Undecided > v.NotCopied && v.PartsUnknown == 0 {
		return &Fault{Failed, result.NotChecked(v) + inGroups(v) + ": they are no longer there to be read, were not reached, or may have been cut off since"}
	} else if v != nil && v.PartsUnknown > 0 {
		return &Fault{Failed, result.NotChecked(v)}
	} else if v != nil && v.TooLarge+v.NotCopied > 0 {
		return &Fault{Failed, result.NotChecked(v) + inGroups(v)}
	}
	return nil
}

// checkTune begins the check of this host by kt tune. The function that it returns ends it; nil: it was not over by then.
func (m *maker) checkTune(ctx context.Context) func() []result.TuneCheck {
	if m.Tune == nil || m.header.Embedded {
		return func() []result.TuneCheck { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	found := make(chan *result.TuneCheck, 1)
	go func() { found <- m.Tune(ctx) }() // the returned function waits for it
	return func() []result.TuneCheck {
		cancel()
		if check := <-found; check != nil {
			return []result.TuneCheck{*check}
		}
		return nil
	}
}
