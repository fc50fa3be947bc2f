package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

func TestAURLTakesThePlaceOfBrokers(t *testing.T) {
	r := must.Have(loadArgs(t, "--topic", "t", "--num-records", "10", "--url", "amqp://guest@rabbit", "--acks", "0"))(t)
	if r.Plan.URL != "amqp://guest@rabbit:5672" || len(r.Plan.Bootstrap) > 0 || r.Plan.Load.StopAtDisk != 0 {
		t.Errorf("the plan is %+v", r.Plan)
	}
	if len(r.Properties) != 1 || r.Properties["acks"].Value != "0" {
		t.Errorf("the properties are %v, and only one was given", r.Properties)
	}
	if r := mustLoad(t, given{command: plan.Consume, args: []string{"--topic", "t", "--url", "pulsar://broker"}}); r.Plan.Read.Group != "" || len(r.ConsumerProperties) > 0 {
		t.Errorf("without --group there is group %q, and %v", r.Plan.Read.Group, r.ConsumerProperties)
	}
	if _, err := loadArgs(t, "--topic", "t", "--url", "amqp://rabbit", "--stop-at-disk", "80%"); err == nil || !strings.Contains(err.Error(), "--stop-at-disk: kt does not see the disks of RabbitMQ: --num-records or --duration") {
		t.Errorf("the limit of disks is taken: %v", err)
	}
	must.Match(t, 0, mustLoad(t, given{args: []string{"--topic", "t", "--url", "amqp://rabbit", "--stop-at-disk", "never"}}).Plan.Load.StopAtDisk, "never")
	if _, err := loadArgs(t, "--topic", "t", "--url", "amqp://rabbit", "--bootstrap-server", "b:9092"); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("both are taken: %v", err)
	}
}

func TestAURLOfKafkaNamesBrokers(t *testing.T) {
	r, err := loadArgs(t, "--topic", "t", "--num-records", "10", "--url", "kafka://a:9092,b:9092")
	if err != nil || r.Plan.URL != "" || !slices.Equal(r.Plan.Bootstrap, []string{"a:9092", "b:9092"}) {
		t.Errorf("the brokers are %v, the URL is %q: %v", r.Plan.Bootstrap, r.Plan.URL, err)
	}
}
