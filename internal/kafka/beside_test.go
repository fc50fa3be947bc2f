package kafka

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/kt-bench/kt/internal/must"
)

func TestTheMostPreciseQuotaCounts(t *testing.T) {
	// In the order of Kafka's documentation, the most precise last; the rate is the place in it.
	precise := []string{"client-id=", "client-id=kt", "user=", "user= client-id=", "user= client-id=kt", "user=ANONYMOUS", "user=ANONYMOUS client-id=", "user=ANONYMOUS client-id=kt"}
	entity := func(text string) (of kadm.ClientQuotaEntity) {
		for part := range strings.FieldsSeq(text) {
			kind, name, _ := strings.Cut(part, "=")
			c := kadm.ClientQuotaEntityComponent{Type: kind}
			if name != "" {
				c.Name = &name
			}
			of = append(of, c)
		}
		return of
	}
	quota := func(text string, rate float64) kadm.DescribedClientQuota {
		return kadm.DescribedClientQuota{Entity: entity(text), Values: kadm.ClientQuotaValues{{Key: "producer_byte_rate", Value: rate}}}
	}
	all := kadm.DescribedClientQuotas{quota("client-id=other", 100), quota("user=jo", 101), quota("user=ANONYMOUS client-id=other", 102), quota("ip=", 103), quota("ip=127.0.0.1", 104)}
	must.True(t, quotaOf(all, "producer_byte_rate", "kt") == 0, "quotas of others: %v", quotaOf(all, "producer_byte_rate", "kt"))
	for i, text := range precise {
		all = append(kadm.DescribedClientQuotas{quota(text, float64(i+1))}, all...)
		got := quotaOf(all, "producer_byte_rate", "kt")
		must.True(t, got == float64(i+1), "with %s: the quota %d of %v", text, int(got), precise)
	}
	must.True(t, quotaOf(all, "consumer_byte_rate", "kt") == 0, "another quota counts")
}
