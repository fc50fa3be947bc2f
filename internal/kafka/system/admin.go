package system

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/doctor"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

// What Kafka can do beside runs.
var _ interface {
	run.System
	run.Acknowledging
	run.Delivering
	run.TopicLister
	run.GroupLister
	run.TopicDeleter
	run.Unreachable
	run.Calibrated
	run.Administered
} = (*System)(nil)

// Acks returns the acknowledgements that the producer waits for.
func (s *System) Acks() string { return s.Producer.Acks() }

// DeliveryTimeout returns how long a record may wait for its outcome.
func (s *System) DeliveryTimeout() time.Duration { return s.Producer.DeliveryTimeout() }

// LikeSink reports whether the connections have neither TLS nor SASL, as those to a sink.
func (s *System) LikeSink() bool { return s.Security.Protocol() == security.Plaintext }

// Sink returns the sink for a load of so many clients at most. Each has a partition, for a consumer without one reads nothing.
func (s *System) Sink(p *plan.Plan, clients int) kafka.Sink {
	const usual = 12 // partitions of a topic
	k := kafka.Sink{Partitions: int32(max(usual, clients)), RecordBytes: plan.DefaultRecordSize}
	if s.writes {
		k.RecordBytes = p.Payload.MaxBytes()
	}
	return k
}

func (s *System) access(within time.Duration) kafka.Access {
	return kafka.Access{Bootstrap: s.bootstrap, ClientID: "kt-admin", Timeout: within, Security: s.Security}
}

// Examine examines the cluster from this host, as kt doctor does.
func (s *System) Examine(ctx context.Context, o doctor.Options) (*doctor.Report, error) {
	if o.Access = s.access(0); o.ClientIDs == nil {
		producer, _, _ := javaconf.ParseProducer(nil, 0, false) // the defaults fit together
		consumer, _, _ := javaconf.ParseConsumer(nil, false)
		for _, p := range append(producer.All(), consumer.All()...) {
			if p.Name == "client.id" {
				o.ClientIDs = append(o.ClientIDs, p.Value)
			}
		}
	}
	return doctor.Examine(ctx, o)
}

// WhyUnreachable returns why the brokers cannot be reached now, if records failed because the client gave up on them or could
// not log in. That is the reason as a rule, as when a password was changed.
func (s *System) WhyUnreachable(ctx context.Context, code string) error {
	if len(s.bootstrap) == 0 || !strings.HasPrefix(code, "client:") && code != "SASL_AUTHENTICATION_FAILED" {
		return nil
	}
	const within = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	c, err := kafka.Connect(ctx, s.access(within))
	if err == nil {
		c.Close()
	} else if errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// admin is a connection to a cluster beside a run.
type admin struct {
	*kafka.Cluster
	compressed bool // by the producer
}

// Administer connects to the cluster; nil: the broker is inside kt.
func (s *System) Administer(ctx context.Context) (run.Admin, error) {
	a, err := s.administer(ctx)
	if a == nil {
		return nil, err
	}
	return a, nil
}

func (s *System) administer(ctx context.Context) (*admin, error) {
	if len(s.bootstrap) == 0 {
		return nil, nil
	}
	c, err := kafka.Connect(ctx, s.access(kafka.AdminTimeout))
	if err != nil {
		return nil, err
	}
	return &admin{c, s.writes && s.Producer.Compression() != "none"}, nil
}

// Brokers returns the brokers of the cluster.
func (a *admin) Brokers() []result.Broker { return a.Info.Brokers }

// Fits returns an error if the cluster cannot carry a load that writes.
func (a *admin) Fits(ctx context.Context, p plan.Plan) error {
	_, err := a.CheckTopic(ctx, p, a.compressed)
	if unfit := new(result.MisfitError); errors.As(err, &unfit) {
		return err
	}
	return nil // it may not be asked, which a run tells
}

// Topics returns the topics of the cluster.
func (s *System) Topics(ctx context.Context) []string { return s.names(ctx, (*kafka.Cluster).Topics) }

// Groups returns the consumer groups of the cluster.
func (s *System) Groups(ctx context.Context) []string { return s.names(ctx, (*kafka.Cluster).Groups) }

func (s *System) names(ctx context.Context, of func(*kafka.Cluster, context.Context) []string) []string {
	a, err := s.administer(ctx)
	if a == nil || err != nil {
		return nil
	}
	defer a.Close()
	return of(a.Cluster, ctx)
}

// DeleteTopic deletes a topic. With a broker inside kt it went already.
func (s *System) DeleteTopic(ctx context.Context, name string) error {
	a, err := s.administer(ctx)
	if err != nil {
		return fmt.Errorf("delete topic %s: %w", name, err)
	}
	if a == nil {
		return nil
	}
	defer a.Close()
	return a.DeleteTopic(ctx, name)
}
