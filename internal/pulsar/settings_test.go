package pulsar

import (
	"strings"
	"testing"
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
