package result

import "github.com/kt-bench/kt/internal/result/verdict"

// Written returns the rate of acknowledged records. It reports false if less than a second was measured: one record more
// or less would make another rate.
func (r *Result) Written() (Rate, bool) {
	t := &r.Throughput
	return Rate{t.RecordsPerSecond, t.MiBPerSecond * mib}, !r.Plan.ReadsOnly() && t.Seconds >= verdict.Shortest.Seconds()
}

// Read returns the rate of records read, likewise. Without a record it is 0 over the whole run.
func (r *Result) Read() (Rate, bool) {
	f := r.Fetch
	if f == nil {
		return Rate{}, false
	}
	seconds := f.Seconds
	if r.Records.Consumed == 0 {
		seconds = r.ElapsedSeconds
	}
	return Rate{f.RecordsPerSecond, f.MiBPerSecond * mib}, seconds >= verdict.Shortest.Seconds()
}

// Quoted returns the rate that the run is quoted by: Read of a run that only reads, else Written.
func (r *Result) Quoted() (Rate, bool) {
	if r.Plan.ReadsOnly() {
		return r.Read()
	}
	return r.Written()
}
