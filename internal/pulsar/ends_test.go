package pulsar

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	client "github.com/apache/pulsar-client-go/pulsar"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

func TestWaitingForTheClientHasATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		began := time.Now()
		_, err := within(t.Context(), openTimeout, func() (int, error) { <-release; return 0, nil })
		if took := time.Since(began); took != openTimeout || err == nil {
			t.Errorf("it ends after %s with %v", took, err)
		}
	})
}

// A broker keeps the connection, and answers nothing, pings alone, or with another broker each time, which is itself.
func TestQuestionsToABrokerEndWithTheRun(t *testing.T) {
	for _, tc := range []struct {
		name    string
		content func(self string) func(command, request uint64) []byte
	}{
		{"nothing", func(string) func(uint64, uint64) []byte { return func(uint64, uint64) []byte { return nil } }},
		{"connecting alone", func(string) func(uint64, uint64) []byte {
			return func(command, _ uint64) []byte {
				if command == commandConnect {
					return text(nil, 1, "test")
				}
				return nil
			}
		}},
		{"redirects", func(self string) func(uint64, uint64) []byte {
			return func(command, request uint64) []byte {
				switch command {
				case commandConnect:
					return text(nil, 1, "test")
				case commandPartitions:
					return number64(number64(number64(nil, 1, 0), 2, request), 3, 0)
				case commandLookup: // URL, redirect, request
					return number64(number64(text(nil, 1, self), 3, 0), 4, request)
				}
				return nil
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
			defer func() { _ = l.Close() }()
			go answerCommands(l, tc.content("pulsar://"+l.Addr().String()))
			p := &plan.Plan{
				Command: plan.Roundtrip, URL: "pulsar://" + l.Addr().String(), Topic: plan.Topic{Name: "t"}, Producers: 1,
				Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(100), Keys: plan.NoKeys},
				Read:    plan.Read{Consumers: 1, Groups: 1, From: plan.From{Latest: true}},
			}
			system, _ := must.Both(New(p, nil, nil, queue.Access{}))(t)
			s := &session{System: system, plan: p}
			s.topics, s.subscriptions = queue.NewLayout(result.Topic{Name: "t", Partitions: 1}), []string{"s"}
			s.topics.All[0].Leaders = nil // it has no partitions
			for name, ask := range map[string]func(context.Context) error{
				"a producer": func(ctx context.Context) error {
					_, err := (&producer{s, queue.NewAccounts(p, 0, s.topics)}).Open(ctx, &engine.Shard{})
					return err
				},
				"a consumer": func(ctx context.Context) error {
					_, err := newConsumers(s, queue.Options{Plan: *p, Queues: 1}).OpenReader(ctx, &engine.Shard{})
					return err
				},
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				began := time.Now()
				if err := ask(ctx); err == nil || tc.name != "redirects" && !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > requestTimeout/2 {
					t.Errorf("%s is opened for %s: %v", name, time.Since(began), err)
				}
				cancel()
			}
		})
	}
}

// Two consumers share a partition. One reads its last message before the other has read an earlier one.
func TestAPartitionIsOverWhenNoConsumerHasEarlierMessages(t *testing.T) {
	e := end{position: position{Ledger: 7, Entry: 2}}
	at := time.Unix(1000, 0)
	look := func(after time.Duration, want bool) {
		t.Helper()
		at = at.Add(after)
		must.Match(t, want, e.over(othersWithin, at), "after %v: over %v", at.Sub(time.Unix(1000, 0)), !want)
	}
	read := func(entry int64) { e.take(client.NewMessageID(7, entry, 0, 0)) }
	look(0, false)
	read(0)
	look(2*othersWithin, false) // the last one is missing
	read(2)
	look(time.Second, false)
	read(1)
	look(othersWithin-time.Second, false)
	look(othersWithin-time.Second, false)
	read(3) // written later, by others
	look(time.Second, true)
	if one := (&end{position: position{Ledger: 7, Entry: 2}}); one.over(0, at) {
		t.Error("nothing was read, and it is over")
	}
}

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
		s := &session{System: &System{namespace: "a/b"}, plan: &plan.Plan{}, topics: queue.NewLayout(result.Topic{Name: "t"}), admin: newAdmin(api.URL, queue.Access{}), subscriptions: []string{"s"}}
		w := newWatcher(s)
		for _, all := range tc.looks {
			w.throttles(t.Context(), all)
		}
		api.Close()
		for path, n := range asked {
			must.True(t, n <= 1, "%s: %s is asked for %d times in one look", tc.name, path, n)
		}
		for i, want := range []string{tc.write, tc.read} {
			if !strings.Contains(w.why[i], want) || (w.why[i] == "") != (want == "") {
				t.Errorf("%s: %q, want %q", tc.name, w.why, []string{tc.write, tc.read})
			}
		}
	}
}

// Other processes of a load find the topic that the first one has made. One with a schema is only read.
func TestATopicThatIsThereHasToFit(t *testing.T) {
	for _, tc := range []struct {
		producers, ackQuorum int
		schema               string
		fits                 bool
	}{
		{1, 0, `{}`, true},
		{1, 2, `{}`, true},
		{1, 3, `{}`, false},
		{1, 0, `{"type": "JSON"}`, false},
		{1, 0, `{"type": "BYTES"}`, true},
		{0, 0, `{"type": "AVRO"}`, true},
	} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, map[string]string{
				"/admin/v2/persistent/public/default/t/persistence": `{"bookkeeperEnsemble": 3, "bookkeeperWriteQuorum": 3, "bookkeeperAckQuorum": 2}`,
				"/admin/v2/schemas/public/default/t/schema":         tc.schema,
			}[r.URL.Path])
		}))
		s := &session{
			System: &System{System: queue.System[settings]{Settings: settings{ackQuorum: tc.ackQuorum}}, namespace: "public/default"}, admin: newAdmin(api.URL, queue.Access{}),
			plan: &plan.Plan{Producers: tc.producers, Topic: plan.Topic{Name: "t", ReplicationFactor: 3}}, topics: queue.NewLayout(result.Topic{Name: "t", Partitions: 1}),
		}
		if err := s.fits(t.Context(), &s.topics.All[0], s.plan.Topic); (err == nil) != tc.fits || s.topics.All[0].ReplicationFactor != 3 {
			t.Errorf("%+v: %v", tc, err)
		}
		api.Close()
	}
}

// Topic b has no partitions. Topic a had two, and has three now.
func TestBacklogsOfSeveralTopicsHaveTheNumbersOfTheirPartitions(t *testing.T) {
	missing := ""
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		partition := func(waits int) string { return fmt.Sprintf(`{"subscriptions": {"s": {"msgBacklog": %d}}}`, waits) }
		answer := map[string]string{
			"/admin/v2/persistent/n/s/a/partitioned-stats": `{"partitions": {"persistent://n/s/a-partition-0": ` + partition(1) + `, "persistent://n/s/a-partition-1": ` + partition(2) + `, "persistent://n/s/a-partition-2": ` + partition(9) + `}}`,
			"/admin/v2/persistent/n/s/b/stats":             partition(3),
			"/admin/v2/persistent/n/s/c/partitioned-stats": `{"partitions": {"persistent://n/s/c-partition-0": ` + partition(4) + `}}`,
		}[r.URL.Path]
		if answer == "" || strings.Contains(r.URL.Path, missing) && missing != "" {
			http.NotFound(w, r)
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer api.Close()
	s := &session{
		System: &System{namespace: "n/s"}, admin: newAdmin(api.URL, queue.Access{}), subscriptions: []string{"s"}, plan: &plan.Plan{Topic: plan.Topic{Name: "a,b,c"}, Read: plan.Read{Consumers: 1}},
		topics: queue.NewLayout(result.Topic{Name: "a", Partitions: 2}, result.Topic{Name: "b", Partitions: 1}, result.Topic{Name: "c", Partitions: 1}),
	}
	s.topics.All[1].Leaders = nil
	all, errs := s.stats(t.Context())
	must.True(t, len(all) == 5 && all[4].backlog("s") == 9 && cmp.Or(errs...) == nil, "%d partitions with the one that was added, %v", len(all), errs)
	must.Match(t, []int64{1, 2, 3, 4}, must.Have(s.backlog(t.Context()))(t), "what waits")
	missing = "/c/"
	_, errs = s.stats(t.Context())
	must.True(t, errs[0] == nil && errs[1] == nil && queue.Status(errs[2]) == http.StatusNotFound, "errors by topic: %v", errs)
}

func TestTopicsThatWereThereAreNotDeleted(t *testing.T) {
	for answer, want := range map[int]string{http.StatusNoContent: "a c", http.StatusConflict: "a c"} {
		var deleted []string
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			deleted = append(deleted, strings.Split(r.URL.Path, "/")[6])
			w.WriteHeader(answer)
		}))
		s := &session{System: &System{namespace: "n/s"}, admin: newAdmin(api.URL, queue.Access{}), topics: queue.Named([]string{"a", "b", "c"})}
		s.topics.All[0].Created, s.topics.All[2].Created = true, true
		err := s.Delete(t.Context())
		api.Close()
		must.True(t, strings.Join(deleted, " ") == want && (err != nil) == (answer == http.StatusConflict), "answer %d: %q are deleted: %v", answer, deleted, err)
		deleted = nil
		must.True(t, s.Delete(t.Context()) != nil && len(deleted) == 0, "no error without an answer")
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
		must.Hold(t, err == nil, "%v", err)
		err = s.DeleteTopic(t.Context(), "kt-study-a1-1")
		if want := "/admin/v2/persistent/a/b/kt-study-a1-1/partitions?force=true"; (err != nil) != fails || len(deleted) != 1 || deleted[0] != want {
			t.Errorf("with the answer %d: %v, deleted %q, want %s", answer, err, deleted, want)
		}
		api.Close()
	}
}

// kt's flags for reading set properties of Kafka's, which Pulsar has by other names.
func TestWhereReadingBeginsAndWhetherItAcknowledgesCanBeSet(t *testing.T) {
	reads := &plan.Plan{URL: "pulsar://h", Read: plan.Read{Consumers: 1}}
	if _, _, err := New(reads, nil, given("group.id=g", "auto.offset.reset=latest", "enable.auto.commit=false"), queue.Access{}); err != nil {
		t.Error(err)
	}
	if _, _, err := New(reads, nil, given("auto.offset.reset=none"), queue.Access{}); err == nil || !strings.Contains(err.Error(), "earliest or latest") {
		t.Errorf("auto.offset.reset=none: %v", err)
	}
}

func TestASubscriptionThatCannotBeDeletedIsTold(t *testing.T) {
	var told string
	s := &session{System: &System{}, plan: &plan.Plan{Topic: plan.Topic{Name: "t"}}, topics: queue.NewLayout(result.Topic{Name: "t"}), own: true, subscriptions: []string{"kt-1"}, seen: errors.New("no admin API"), options: run.Options{Notify: func(n run.Notice) { told = n.Text }}}
	s.Close()
	must.True(t, strings.Contains(told, "subscription kt-1"), "it says %q", told)
}
