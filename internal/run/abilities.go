package run

import (
	"context"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// The interfaces below are what a System may be able to do beside runs. Each system has those that make sense on it.
type (
	// Acknowledging tells the acknowledgements that a load waits for: 0, 1 or all.
	Acknowledging interface{ Acks() string }

	// Delivering tells how long a record may wait for its outcome.
	Delivering interface{ DeliveryTimeout() time.Duration }

	// TopicLister lists topics, for a shell to complete. A failure gives none.
	TopicLister interface {
		Topics(ctx context.Context) []string
	}

	// GroupLister lists consumer groups in the same way.
	GroupLister interface {
		Groups(ctx context.Context) []string
	}

	// TopicDeleter deletes a topic. One that is not there is no error.
	TopicDeleter interface {
		DeleteTopic(ctx context.Context, name string) error
	}

	// Unreachable returns why the system cannot be reached now, where that explains records that failed with a code.
	Unreachable interface {
		WhyUnreachable(ctx context.Context, code string) error
	}

	// Partitioned reports whether each partition is read by one consumer of a group.
	Partitioned interface{ ReadsByPartition() bool }

	// Calibrated reports whether the load costs this host as much on the sink of kt calibrate as on the system.
	Calibrated interface{ LikeSink() bool }

	// Administered connects to the brokers of a system whose settings can be read and changed. A nil Admin means that
	// they are inside kt.
	Administered interface {
		Administer(ctx context.Context) (Admin, error)
	}
)

// Admin is a connection to brokers beside a run.
type Admin interface {
	Brokers() []result.Broker
	LogDirs(ctx context.Context) ([]result.LogDir, error)
	// Fits returns a *result.MisfitError if the brokers cannot carry a load that writes. What they may not be asked is no error.
	Fits(ctx context.Context, p plan.Plan) error
	CheckTopicSetting(ctx context.Context, name, value string) error
	BrokerSettings(ctx context.Context, names []string) ([]result.BrokerSetting, error)
	CheckBrokerSettings(ctx context.Context, settings []result.BrokerSetting) error
	SetBrokers(ctx context.Context, settings []result.BrokerSetting) error
	Close()
}
