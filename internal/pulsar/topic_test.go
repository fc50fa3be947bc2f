package pulsar

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
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

func TestATopicWithASchemaIsOnlyRead(t *testing.T) {
	for _, tc := range []struct {
		producers int
		schema    string
		fits      bool
	}{{1, `{"type": "JSON"}`, false}, {1, `{"type": "BYTES"}`, true}, {1, `{}`, true}, {0, `{"type": "AVRO"}`, true}} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/admin/v2/schemas/public/default/t/schema" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			_, _ = w.Write([]byte(tc.schema))
		}))
		s := &session{
			System: &System{namespace: "public/default"}, admin: &admin{base: api.URL, http: api.Client()},
			plan: &plan.Plan{Producers: tc.producers, Topic: plan.Topic{Name: "t"}}, topic: result.Topic{Name: "t", Partitions: 1},
		}
		if err := s.matches(t.Context()); (err == nil) != tc.fits {
			t.Errorf("%d producers, schema %s: %v", tc.producers, tc.schema, err)
		}
		api.Close()
	}
}

func TestATopicOfAStudyIsDeletedOverTheAdminAPI(t *testing.T) {
	for answer, fails := range map[int]bool{http.StatusNoContent: false, http.StatusNotFound: false, http.StatusForbidden: true} {
		var deleted []string
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodDelete {
				_, _ = w.Write([]byte("[]"))
				return
			}
			deleted = append(deleted, r.URL.String())
			w.WriteHeader(answer)
		}))
		p := plan.Plan{URL: "pulsar://localhost/a/b?admin=" + api.URL, Topic: plan.Topic{Name: "t"}, Read: plan.Read{Consumers: 1}}
		s, _, err := New(&p, nil, nil, queue.Access{TLS: func(string) (*tls.Config, error) { return nil, nil }})
		if err != nil {
			t.Fatal(err)
		}
		err = s.DeleteTopic(t.Context(), "kt-study-a1-1")
		if want := "/admin/v2/persistent/a/b/kt-study-a1-1/partitions?force=true"; (err != nil) != fails || len(deleted) != 1 || deleted[0] != want {
			t.Errorf("with the answer %d: %v, deleted %q, want %s", answer, err, deleted, want)
		}
		api.Close()
	}
}
