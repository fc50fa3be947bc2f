package result

// Asked is what a load of a captured workload was on the cluster that it was taken from: what a replay is compared with. 0: not known.
// Bytes are those of the log, with the heads of batches, of one replica.
type Asked struct {
	Rate    float64 `json:"records_per_second" yaml:"rate"`               // mean over all stages
	Bytes   float64 `json:"bytes_per_second,omitempty" yaml:"bytes"`      // as they lie in the log
	Batch   float64 `json:"batch_bytes,omitempty" yaml:"batch-bytes"`     // mean, as it lies in the log
	Records float64 `json:"batch_records,omitempty" yaml:"batch-records"` // mean
	Ratio   float64 `json:"compression_ratio,omitempty" yaml:"ratio"`     // bytes before ÷ after compression
	Keys    int64   `json:"keys,omitempty" yaml:"keys"`                   // distinct
	Zipf    float64 `json:"zipf,omitempty" yaml:"zipf"`                   // exponent of their popularity; 0: all alike

	Unlike []string `json:"unlike,omitempty" yaml:"unlike"` // what kt cannot make alike, as sentences
}

// Times returns the figures at another scale of the load: its rates change, and what the records are does not.
func (a Asked) Times(scale float64) *Asked {
	a.Rate, a.Bytes = a.Rate*scale, a.Bytes*scale
	return &a
}
