package result

import (
	"fmt"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// AddUnknown adds a run that verifies and left no verdict: its acknowledged records are unchecked.
func (f *Fold) AddUnknown(v *ledger.Verdict) {
	if p := &f.header.Plan; p.Verify && p.Reads() {
		acknowledged := f.total[stats.Measured].Acknowledged + f.total[stats.Warmup].Acknowledged
		v.Add(&ledger.Verdict{Issued: acknowledged, Acknowledged: acknowledged, Unchecked: acknowledged, PartsUnknown: 1})
	}
}

// NotChecked returns a clause with the number of records that verification did not check; "": it checked all.
func NotChecked(v *ledger.Verdict) string {
	unchecked, all := v.Unchecked+v.Undecided, v.Acknowledged*int64(max(1, v.Readers))
	text := fmt.Sprintf("%s of %s not checked", theme.Count(unchecked), theme.Plural(all, "acknowledged record was", "acknowledged records were"))
	parts := theme.Plural(v.PartsUnknown, "process", "processes") + " of the run left no verification"
	switch {
	case v.OfAnotherRun:
		return "the topic holds records of another run, so nothing was compared"
	case unchecked > 0 && v.PartsUnknown > 0:
		return text + ", because " + parts
	case v.PartsUnknown > 0:
		return parts
	case unchecked > 0:
		return text
	case v.TooLarge > 0:
		return theme.Plural(v.TooLarge, "offset was", "offsets were") + " not checked: their batches are too large to read"
	case v.LateUndecided > 0:
		return theme.Plural(v.LateUndecided, "record is", "records are") + " duplicated or reordered: which is forgotten"
	}
	return ""
}

// Lost reports whether verification found that acknowledged records are lost.
func (r *Result) Lost() bool {
	v := r.Verify
	return v != nil && v.Lost > 0 && !v.OfAnotherRun
}

// Damaged reports whether verification found corrupted records, or duplicated or reordered ones although
// the client's settings exclude them.
func (r *Result) Damaged() bool {
	v := r.Verify
	return v != nil && (v.Corrupted > 0 || !v.RepeatsAllowed && v.Duplicated+v.Reordered+v.LateUndecided > 0)
}
