package rabbitmq

import (
	"context"
	"errors"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

// ProducerProperties and ConsumerProperties are the settings that go with --command-property.
var ProducerProperties, ConsumerProperties []string

// System is RabbitMQ, with the settings of the clients of one plan. New makes it.
type System struct{}

// New checks the settings of the clients of a plan.
func New(_ *plan.Plan, _, _ map[string]plan.Given, _ queue.Access) (*System, []string, error) {
	return nil, nil, errors.New("--url: RabbitMQ is not there yet")
}

// Describe completes a header with the settings of the clients.
func (s *System) Describe(*result.Header) {}

// Connect reaches the system.
func (s *System) Connect(context.Context, *plan.Plan, run.Options) (run.Session, error) {
	return nil, errors.New("--url: RabbitMQ is not there yet")
}
