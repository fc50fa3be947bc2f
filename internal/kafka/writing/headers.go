package writing

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/plan"
)

// RecordHeaders returns the headers that every record of a plan carries.
func RecordHeaders(hs []plan.Header) []kgo.RecordHeader {
	var out []kgo.RecordHeader
	for _, h := range hs {
		out = append(out, kgo.RecordHeader{Key: h.Key, Value: []byte(h.Value)})
	}
	return out
}
