package result

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
