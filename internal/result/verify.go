package result

// Lost reports whether verification found that acknowledged records are gone.
func (r *Result) Lost() bool {
	v := r.Verify
	return v != nil && v.Lost > 0 && !v.OfAnotherRun
}

// Damaged reports whether verification found records that are not as they were sent, or
// that are there twice or out of order although the client's settings exclude that.
func (r *Result) Damaged() bool {
	v := r.Verify
	return v != nil && (v.Corrupted > 0 || !v.RepeatsAllowed && v.Duplicated+v.Reordered+v.LateUndecided > 0)
}
