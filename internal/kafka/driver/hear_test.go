package driver

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/stats"
)

func TestTheMessageOfABrokerIsInTheFirstError(t *testing.T) {
	s := newScene(t, 1)
	s.fake.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		resp := r.ResponseKind().(*kmsg.ProduceResponse)
		said, bad := "some records are bad.", "record\n0 has no key."
		topic := r.(*kmsg.ProduceRequest).Topics[0]
		resp.Topics = []kmsg.ProduceResponseTopic{{Topic: topic.Topic, TopicID: topic.TopicID, Partitions: []kmsg.ProduceResponseTopicPartition{{
			ErrorCode: kerr.InvalidRecord.Code, ErrorMessage: &said, ErrorRecords: []kmsg.ProduceResponseTopicPartitionErrorRecord{{ErrorMessage: &bad}},
		}}}}
		return resp, nil, true
	})
	d := s.sender(20)
	var sum total
	if _, err := engine.Run(t.Context(), d.Plan, engine.Drivers{Send: d}, engine.Options{}, &sum); err != nil {
		t.Fatal(err)
	}
	const want = "records fail: INVALID_RECORD: record 0 has no key"
	if !slices.ContainsFunc(sum.w.Events, func(e stats.Event) bool { return e.Text == want }) {
		t.Errorf("events %+v; want %q", sum.w.Events, want)
	}
}
