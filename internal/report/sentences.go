package report

import (
	"encoding/json"

	"github.com/kt-bench/kt/internal/result"
)

// Sentences are what a summary says of a run, for pages that say the same in other places. An empty one does not apply.
type Sentences struct {
	Subject string   // the topics
	Alerts  []string // to be read before any figure
	Invalid []string // why it is not valid
	Ceiling string   // how near it came to what this host can offer

	Outage, Unanswered, Gap string // what a fault did to it
	Stability               string
	Verification            string
	Account                 []string // the sum that every record of a verified run is in, and what else was found
	Bad                     bool     // verification failed
}

// SentencesOf returns the sentences of a result.
func SentencesOf(r result.Result) Sentences {
	s := Sentences{Subject: subject(r.Header), Alerts: alerts(r), Invalid: invalid(r)}
	s.Ceiling, _ = ceiling(r)
	if o := r.Outage; o != nil && o.BeganWith != "" {
		s.Outage = afterFault(*o)
		if n := *o.RecordsFailed; n > 0 {
			s.Unanswered = unanswered(n)
		}
	}
	if o := r.Outage; o != nil && o.LongestGapMS != nil && o.LongestGapFromSeconds != nil {
		s.Gap = longestGap(r)
	}
	if r.Stability != nil {
		s.Stability = steadiness(r.Stability)
	}
	if v := r.Verify; v != nil {
		sentence, style := verdictOf(v)
		s.Verification, s.Bad = sentence, style == bad
		if !v.OfAnotherRun {
			s.Account = append([]string{account(v)}, v.Blame...)
			if also := findings(v); also != "" {
				s.Account = append(s.Account, "also "+also)
			}
		}
	}
	return s
}

// Document returns the JSON document of a result, on one line.
func Document(r result.Result) (json.RawMessage, error) { return applyingTo(&r).document("", r) }
