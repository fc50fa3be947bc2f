package pulsar

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
)

// kt's flags for reading set properties of Kafka's, which Pulsar has by other names.
func TestWhereReadingBeginsAndWhetherItAcknowledgesCanBeSet(t *testing.T) {
	if _, err := parse(consumerProperties, given("group.id=g", "auto.offset.reset=latest", "enable.auto.commit=false")); err != nil {
		t.Error(err)
	}
	if _, err := parse(consumerProperties, given("auto.offset.reset=none")); err == nil || !strings.Contains(err.Error(), "earliest or latest") {
		t.Errorf("auto.offset.reset=none: %v", err)
	}
}

func TestAWayToCommitThatPulsarDoesNotHaveSaysWhatComesNearest(t *testing.T) {
	p := plan.Plan{URL: "pulsar://localhost", Read: plan.Read{Consumers: 1, Group: "g", Commit: plan.CommitSync}}
	if _, _, err := New(&p, nil, nil, queue.Access{}); err == nil || !strings.Contains(err.Error(), "--commit sync: ") || !strings.Contains(err.Error(), "async comes nearest") {
		t.Error(err)
	}
	p.Read.Commit = plan.CommitAsync
	if _, _, err := New(&p, nil, nil, queue.Access{}); err != nil {
		t.Error(err)
	}
}
