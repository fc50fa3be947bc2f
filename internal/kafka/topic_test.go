package kafka

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

func TestOfManyProcessesThatMakeOneTopicOneHasMadeItAndAllUseIt(t *testing.T) {
	broker := must.Have(StartEmbedded(false))(t)
	defer broker.Close()
	p := plan.Plan{Topic: plan.Topic{Name: "shared", Partitions: 4}}
	var all sync.WaitGroup
	var made atomic.Int32
	start := make(chan struct{})
	for range 8 {
		cluster := connect(t, broker.Addrs())
		all.Go(func() {
			<-start
			topic, err := cluster.EnsureTopic(context.Background(), p, false)
			if err != nil {
				t.Error(err)
			}
			must.Match(t, 4, topic.Partitions, "partitions")
			if topic.Created {
				made.Add(1)
			}
		})
	}
	close(start)
	all.Wait()
	must.Match(t, 1, made.Load(), "processes that say they made it")
}

func TestAMissingRightIsToldFromOtherErrors(t *testing.T) {
	if !Denied(fmt.Errorf("look up topic x: %w", kerr.TopicAuthorizationFailed)) || Denied(kerr.UnknownTopicOrPartition) || Denied(nil) {
		t.Error("not the errors of missing rights")
	}
}
