package pulsar

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kt-bench/kt/internal/plan"
)

// Other processes of a load find the topic that the first one has made.
func TestATopicMayBeThereWithTheAckQuorumAskedFor(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"bookkeeperEnsemble": 3, "bookkeeperWriteQuorum": 3, "bookkeeperAckQuorum": 2}`))
	}))
	defer api.Close()
	for quorum, fits := range map[int]bool{0: true, 2: true, 3: false} {
		s := &session{
			System: &System{producer: settings{ackQuorum: quorum}, namespace: "public/default"}, admin: &admin{base: api.URL, http: api.Client()},
			plan: &plan.Plan{Topic: plan.Topic{Name: "t", ReplicationFactor: 3}},
		}
		if err := s.matches(t.Context()); (err == nil) != fits || s.topic.ReplicationFactor != 3 {
			t.Errorf("ack.quorum=%d: %v", quorum, err)
		}
	}
}
