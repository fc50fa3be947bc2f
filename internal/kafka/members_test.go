package kafka

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

func TestOtherMembersOfAGroupAreNamedWithTheirPartitions(t *testing.T) {
	fake := must.Have(kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "t")))(t)
	defer fake.Close()
	c := must.Have(Connect(t.Context(), Access{Bootstrap: fake.ListenAddrs()}))(t)
	defer c.Close()
	other := must.Have(c.Client(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.ClientID("their-app")))(t)
	defer other.Close()
	l := NewLayout([]result.Topic{{Name: "t", Partitions: 2}})
	g := &NewPositions(l, []string{"g"}, []int64{0, 0}, []int64{0, 0}).Groups[0]
	g.At(0).Owner.Store(1)
	text := ""
	for end := time.Now().Add(30 * time.Second); text == "" && time.Now().Before(end); {
		text = c.OtherMembers(t.Context(), l, g)
	}
	if !strings.HasPrefix(text, "group g has other members: client id their-app at 127.0.0.1") || !strings.HasSuffix(text, " has t-1") {
		t.Errorf("it says %q", text)
	}
	g.At(1).Owner.Store(1)
	must.Match(t, "", c.OtherMembers(t.Context(), l, g), "of partitions that are all read here it says")
}
