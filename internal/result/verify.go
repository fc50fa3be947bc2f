package result

// Lost tells whether verification found that acknowledged records are gone. That
// nothing of this run was read at all proves no loss: the ledger is of another run.
func (r *Result) Lost() bool {
	return r.Verify != nil && r.Verify.Lost > 0 && !r.Verify.OfAnotherRun()
}

// Damaged tells whether verification found records that are not as they were sent,
// there more than once, or out of order.
func (r *Result) Damaged() bool {
	v := r.Verify
	return v != nil && v.Corrupted+v.Duplicated+v.Reordered > 0
}
