package pulsar

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
)

// counted is what a broker tells of a partition: how often it limited publishing, and of a subscription what waits, what was sent,
// and how much more its reader takes.
func counted(times, waits, sent, permits int64) []*partitionStats {
	p := new(partitionStats)
	text := fmt.Sprintf(`{"publishRateLimitedTimes": %d, "subscriptions": {"s": {"msgBacklog": %d, "msgOutCounter": %d, "consumers": [{"availablePermits": %d}]}}}`, times, waits, sent, permits)
	if err := json.Unmarshal([]byte(text), p); err != nil {
		panic(err)
	}
	return []*partitionStats{p}
}

func TestBrokersThatLimitARateAreToldByTheirPolicy(t *testing.T) {
	for _, tc := range []struct {
		name        string
		policies    map[string]string // by the end of their paths
		looks       [][]*partitionStats
		write, read string // what the reasons hold; "": there is none
	}{
		{"it limited before the run", nil, [][]*partitionStats{counted(7, 0, 0, 1), counted(7, 0, 0, 1)}, "", ""},
		{"it limits", nil, [][]*partitionStats{counted(7, 0, 0, 1), counted(8, 0, 0, 1)}, "rate of publishing", ""},
		{"by a policy", map[string]string{"/publishRate": `{"publishThrottlingRateInMsg": 50, "publishThrottlingRateInByte": -1}`}, [][]*partitionStats{counted(0, 0, 0, 1), counted(1, 0, 0, 1)}, "publishThrottlingRateInMsg=50", ""},
		{"the topic was loaded again", nil, [][]*partitionStats{counted(7, 0, 0, 1), counted(0, 0, 0, 1)}, "", ""},
		{"a reader waits, and nothing limits it", map[string]string{"/dispatchRate": `{"dispatchThrottlingRateInMsg": -1}`}, [][]*partitionStats{counted(0, 900, 0, 500), counted(0, 900, 50, 500)}, "", ""},
		{"a reader waits", map[string]string{"/subscriptionDispatchRate": `{"dispatchThrottlingRateInMsg": 0, "dispatchThrottlingRateInByte": 100, "ratePeriodInSecond": 1}`}, [][]*partitionStats{counted(0, 900, 0, 500), counted(0, 900, 50, 500)}, "", "dispatchThrottlingRateInByte=100"},
		{"partitions are added", nil, [][]*partitionStats{counted(0, 0, 0, 1), append(counted(1, 0, 0, 1), counted(9, 0, 0, 1)...)}, "rate of publishing", ""},
		{"the topic is made again with fewer", nil, [][]*partitionStats{append(counted(7, 0, 0, 1), counted(7, 0, 0, 1)...), counted(7, 0, 0, 1)}, "", ""},
		{"readers of many partitions wait", map[string]string{"/dispatchRate": `{"dispatchThrottlingRateInMsg": -1}`}, [][]*partitionStats{slices.Repeat(counted(0, 900, 0, 500), 9), slices.Repeat(counted(0, 900, 50, 500), 9)}, "", ""},
		{"a reader takes no more", map[string]string{"/dispatchRate": `{"dispatchThrottlingRateInMsg": 50}`}, [][]*partitionStats{counted(0, 900, 0, 500), counted(0, 900, 50, 0)}, "", ""},
		{"the topic got a partition", nil, [][]*partitionStats{counted(7, 0, 0, 1), slices.Repeat(counted(8, 0, 0, 1), 2)}, "rate of publishing", ""},
		{"what waits was sent a moment ago", map[string]string{"/dispatchRate": `{"dispatchThrottlingRateInMsg": 50}`}, [][]*partitionStats{counted(0, 50, 0, 500), counted(0, 50, 50, 500)}, "", ""},
	} {
		asked := make(map[string]int) // by path
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked[r.URL.Path]++
			for end, policy := range tc.policies {
				if strings.HasSuffix(r.URL.Path, end) {
					_, _ = io.WriteString(w, policy)
				}
			}
		}))
		s := &session{System: &System{namespace: "a/b"}, plan: &plan.Plan{Topic: plan.Topic{Name: "t"}}, admin: newAdmin(api.URL, queue.Access{}, nil), subscriptions: []string{"s"}}
		w := newWatcher(s)
		for _, all := range tc.looks {
			w.throttles(t.Context(), all)
		}
		api.Close()
		for path, n := range asked {
			if n > 1 {
				t.Errorf("%s: %s is asked for %d times in one look", tc.name, path, n)
			}
		}
		for i, want := range []string{tc.write, tc.read} {
			if !strings.Contains(w.why[i], want) || (w.why[i] == "") != (want == "") {
				t.Errorf("%s: %q, want %q", tc.name, w.why, []string{tc.write, tc.read})
			}
		}
	}
}
