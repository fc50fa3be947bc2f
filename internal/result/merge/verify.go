package merge

import (
	"slices"

	"github.com/kt-bench/kt/internal/ledger"
)

// maxMergedGaps bounds the list of gaps of a merged verdict, as that of a single one is.
const maxMergedGaps = 100

// addUnknown adds the processes that left no verdict which counts to that of the others; nil: there is none.
func (m *merge) addUnknown(v *ledger.Verdict) *ledger.Verdict {
	var unknown ledger.Verdict
	for _, p := range m.parts {
		if !p.counted || p.end().Verify == nil {
			p.fold.AddUnknown(&unknown)
		}
	}
	if v == nil && unknown.PartsUnknown == 0 {
		return nil
	}
	unknown.PartsUnknown += int64(len(m.missing()))
	if v == nil {
		return &unknown
	}
	sum := *v
	unknown.Unchecked *= int64(max(1, sum.Readers))
	sum.Add(&unknown)
	return &sum
}

// verifyTogether adds up the verdicts of parts, each of which verified its own records; nil: no part did. all reports whether each did.
func verifyTogether(parts []*ledger.Verdict) (sum *ledger.Verdict, all bool) {
	verified := slices.DeleteFunc(slices.Clone(parts), func(v *ledger.Verdict) bool { return v == nil })
	all = len(verified) == len(parts)
	if len(verified) == 0 {
		return nil, all
	}
	sum = &ledger.Verdict{
		OfAnotherRun:   !slices.ContainsFunc(verified, func(v *ledger.Verdict) bool { return !v.OfAnotherRun }),
		RepeatsAllowed: true,
	}
	var foreign int64
	readers := 0 // of the parts before
	for _, v := range verified {
		sum.Add(v)
		if v.OfAnotherRun && !sum.OfAnotherRun { // it compared nothing: its records are unchecked, not lost
			sum.Lost -= v.Lost
			sum.Unchecked += v.Lost
		}
		sum.Readers = max(sum.Readers, v.Readers) // groups that read each record: those of its own part
		sum.Inexact = sum.Inexact || v.Inexact
		sum.Headers = sum.Headers || v.Headers
		sum.AnyOrder = sum.AnyOrder || v.AnyOrder
		sum.RepeatsAllowed = sum.RepeatsAllowed && (v.RepeatsAllowed || v.Duplicated+v.Reordered+v.LateUndecided == 0)
		if v.OtherRun != "" && v.Foreign > foreign {
			sum.OtherRun, foreign = v.OtherRun, v.Foreign
		}
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
