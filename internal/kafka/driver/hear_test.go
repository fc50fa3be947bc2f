package driver

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/stats"
)

func TestTheMessageOfABrokerIsInTheFirstError(t *testing.T) {
	said, bad := "some records are bad.", "record\n0 has no key."
	for want, answer := range map[string]kmsg.ProduceResponseTopicPartition{
		"records fail: INVALID_RECORD: record 0 has no key": {
			ErrorCode: kerr.InvalidRecord.Code, ErrorMessage: &said, ErrorRecords: []kmsg.ProduceResponseTopicPartitionErrorRecord{{ErrorMessage: &bad}},
		},
		"records fail: MESSAGE_TOO_LARGE: the topic takes smaller batches (max.message.bytes)": {ErrorCode: kerr.MessageTooLarge.Code},
	} {
		t.Run(want, func(t *testing.T) { refusal(t, want, answer) })
	}
}

// refusal checks how the first error begins when a broker refuses all batches.
func refusal(t *testing.T, want string, answer kmsg.ProduceResponseTopicPartition) {
	t.Helper()
	s := newScene(t, 1)
	s.fake.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		resp := r.ResponseKind().(*kmsg.ProduceResponse)
		topic := r.(*kmsg.ProduceRequest).Topics[0]
		resp.Topics = []kmsg.ProduceResponseTopic{{Topic: topic.Topic, TopicID: topic.TopicID, Partitions: []kmsg.ProduceResponseTopicPartition{answer}}}
		return resp, nil, true
	})
	d := s.sender(20)
	var sum total
	must.Have(engine.Run(t.Context(), d.Plan, engine.Drivers{Send: d}, engine.Options{}, &sum))(t)
	if !slices.ContainsFunc(sum.w.Events, func(e stats.Event) bool { return strings.HasPrefix(e.Text, want) }) {
		t.Errorf("events %+v; want %q", sum.w.Events, want)
	}
}
