package merge

import (
	"slices"

	"github.com/kt-bench/kt/internal/ledger"
)

// maxMergedGaps bounds the list of gaps of a merged verdict, as that of a single one is.
const maxMergedGaps = 100

// verifyTogether adds up what parts found of their records. Each accounts for its own,
// so the sums are as exact as the parts. The first result is nil when none looked, and
// all reports whether each did.
func verifyTogether(parts []*ledger.Verdict) (sum *ledger.Verdict, all bool) {
	all = true
	others := !slices.ContainsFunc(parts, func(v *ledger.Verdict) bool { return v != nil && !v.OfAnotherRun })
	var foreign int64
	readers := 0 // of the parts before
	for _, v := range parts {
		if v == nil {
			all = false
			continue
		}
		if sum == nil {
			sum = &ledger.Verdict{OfAnotherRun: others, RepeatsAllowed: true}
		}
		sum.RepeatsAllowed = sum.RepeatsAllowed && (v.RepeatsAllowed || v.Duplicated+v.Reordered+v.LateUndecided == 0)
		addVerdict(sum, v, others)
		if v.OtherRun != "" && v.Foreign > foreign {
			sum.OtherRun, foreign = v.OtherRun, v.Foreign
		}
		sum.GapsBeyond += v.GapsBeyond
		for _, g := range v.Gaps {
			if len(sum.Gaps) == maxMergedGaps {
				sum.GapsBeyond++
				continue
			}
			g.Reader += readers
			sum.Gaps = append(sum.Gaps, g)
		}
		readers += v.Readers
		for _, why := range v.Blame {
			if !slices.Contains(sum.Blame, why) {
				sum.Blame = append(sum.Blame, why)
			}
		}
	}
	return sum, all
}

// addVerdict adds the counts of a part. What a part lost that looked at another run was
// never there: unless all did (others), it is unchecked.
func addVerdict(sum, v *ledger.Verdict, others bool) {
	lost, unchecked := v.Lost, v.Unchecked
	if v.OfAnotherRun && !others {
		lost, unchecked = 0, unchecked+lost
	}
	sum.Readers = max(sum.Readers, v.Readers) // groups that read each record: those of its own part
	sum.Issued += v.Issued
	sum.Acknowledged += v.Acknowledged
	sum.Failed += v.Failed
	sum.Unknown += v.Unknown
	sum.Checked += v.Checked
	sum.AcknowledgedRead += v.AcknowledgedRead
	sum.Lost += lost
	sum.Unchecked += unchecked
	sum.Unconfirmed += v.Unconfirmed
	sum.Undecided += v.Undecided
	sum.Aborted += v.Aborted
	sum.AbortedRead += v.AbortedRead
	sum.Resurrected += v.Resurrected
	sum.UnknownRead += v.UnknownRead
	sum.Unissued += v.Unissued
	sum.Duplicated += v.Duplicated
	sum.Reordered += v.Reordered
	sum.LateUndecided += v.LateUndecided
	sum.Corrupted += v.Corrupted
	sum.Unstamped += v.Unstamped
	sum.Foreign += v.Foreign
	sum.Redelivered += v.Redelivered
	sum.EpochRegressions += v.EpochRegressions
	sum.Rewritten += v.Rewritten
	sum.ReadAgain += v.ReadAgain
	sum.Inexact = sum.Inexact || v.Inexact
}
