package study

import (
	"strings"
	"testing"
)

func TestAStudyOfSeveralSystemsSaysWhatIsNotEqual(t *testing.T) {
	s := &Study{
		Loads:   []Load{{Command: "produce"}},
		Factors: []Factor{{Name: "url", Values: []string{"kafka://a:9092", "amqp://b:5672", "pulsar://c:6650/public/default"}}},
	}
	got := strings.Join(s.unequal(), "\n")
	for _, system := range []string{"Kafka acknowledges", "RabbitMQ confirms", "Pulsar acknowledges"} {
		if !strings.Contains(got, system) {
			t.Errorf("nothing is said of how %s: %s", system, got)
		}
	}
	s.Factors[0].Values = s.Factors[0].Values[:1]
	if got := s.unequal(); got != nil {
		t.Errorf("of one system it says %q", got)
	}
}
