package kafka

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// Of many topics, those that are there count as they are, and the others are made in a few requests. Only those that a call has
// made are marked as created, and when one cannot be made, all of these go again.
func TestManyTopicsAreMadeTogetherOrNotAtAll(t *testing.T) {
	for _, tc := range []struct {
		name, theirs, topics string
		refuse               string // the brokers make no request with such a topic
		created              int
		left                 int // topics behind it
	}{
		{"none is there", "", "t-{000..249}", "", 250, 250},
		{"one is there", "t-007", "t-{000..249}", "", 249, 250},
		{"another one is there", "u", "t-{000..249}", "", 250, 251},
		{"the last cannot be made", "", "t-{000..249}", "t-249", 0, 0},
		{"the last cannot be made, and another one is there", "t-003", "t-{000..249}", "t-249", 0, 1},
		{"one alone", "", "t", "", 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fake := startFake(t, kfake.NumBrokers(3))
			c := connect(t, fake.ListenAddrs())
			if tc.theirs != "" {
				must.Have(c.admin.CreateTopics(t.Context(), 3, 1, nil, tc.theirs))(t)
			}
			var asked atomic.Int32
			fake.ControlKey(int16(kmsg.CreateTopics), func(req kmsg.Request) (kmsg.Response, error, bool) {
				fake.KeepControl()
				asked.Add(1)
				create := req.(*kmsg.CreateTopicsRequest)
				for _, topic := range create.Topics {
					if topic.Topic == tc.refuse && !create.ValidateOnly {
						answer := create.ResponseKind().(*kmsg.CreateTopicsResponse)
						for _, topic := range create.Topics {
							no := kmsg.NewCreateTopicsResponseTopic()
							no.Topic, no.ErrorCode = topic.Topic, kerr.PolicyViolation.Code
							answer.Topics = append(answer.Topics, no)
						}
						return answer, nil, true
					}
				}
				return nil, nil, false
			})
			topics, err := c.EnsureTopics(t.Context(), plan.Plan{Topic: plan.Topic{Name: tc.topics, Partitions: 3}}, false)
			want := ""
			if tc.refuse != "" {
				want = "create topic t-20" // the first of the request
			}
			must.Err(t, want, err, "it")
			created := 0
			for i, topic := range topics {
				if topic.Created {
					created++
				}
				must.Hold(t, topic.Partitions == 3 && (len(topics) == 1 || topic.Name == fmt.Sprintf("t-%03d", i)) && topic.Created == (topic.Name != tc.theirs), "topic %d is %+v", i, topic)
			}
			must.Match(t, tc.created, created, "topics created")
			must.True(t, asked.Load() <= 6, "%d requests made %d topics", asked.Load(), created)
			must.Match(t, tc.left, len(c.Topics(t.Context())), "topics there")
			must.Do(t, c.DeleteTopics(t.Context(), append(names(topics), "nowhere")...))
		})
	}
}

func names(topics []result.Topic) []string { return NewLayout(topics).Names() }

// What does not fit is named before anything is made.
func TestATopicAmongManyThatDoesNotFitIsNamed(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    plan.Plan
		want string
	}{
		{"other partitions", plan.Plan{Topic: plan.Topic{Name: "t-{0..9}", Partitions: 3}}, "topic t-4 exists with 7 partitions, not --partitions 3"},
		{"settings", plan.Plan{Topic: plan.Topic{Name: "t-{0..9}", Configs: map[string]string{"retention.ms": "1"}}}, "topic t-4 exists, and kt changes no topic"},
		{"large records", plan.Plan{Topic: plan.Topic{Name: "t-{0..9}"}, Payload: plan.Payload{Size: plan.FixedSize(2000)}}, "above max.message.bytes=1000 (topic t-4)"},
		{"replicas", plan.Plan{Topic: plan.Topic{Name: "t-{0..9}", ReplicationFactor: 4}}, "--replication-factor 4: the cluster has 3 brokers"},
		{"topics to read", plan.Plan{Topic: plan.Topic{Name: "t-4,t-5"}, Read: plan.Read{Consumers: 1}}, "topic t-5 does not exist; did you mean t-4?"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fake := startFake(t, kfake.NumBrokers(3))
			c := connect(t, fake.ListenAddrs())
			most := "1000"
			must.Have(c.admin.CreateTopics(t.Context(), 7, 1, map[string]*string{"max.message.bytes": &most}, "t-4"))(t)
			var err error
			if tc.p.Read.Consumers > 0 {
				_, err = c.ReadTopics(t.Context(), tc.p)
			} else {
				_, err = c.EnsureTopics(t.Context(), tc.p, false)
			}
			must.Err(t, tc.want, err, "it")
			must.Match(t, []string{"t-4"}, connect(t, fake.ListenAddrs()).Topics(t.Context()), "topics there")
		})
	}
}
