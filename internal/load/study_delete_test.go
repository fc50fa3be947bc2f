package load

import (
	"net"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/study"
)

func TestATopicThatCannotBeDeletedIsNotSaidToBe(t *testing.T) {
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	nobody := l.Addr().String()
	must.Do(t, l.Close())
	for _, url := range []string{"amqp://" + nobody, "pulsar://" + nobody + "?admin=http://" + nobody} {
		at := study.Load{Command: "produce", Flags: []study.Flag{{Name: "url", Value: url}}}
		for topic, want := range map[string]string{"kt-study-a1-1": "refused", "orders": "only topics of studies"} {
			must.Err(t, want, NewRunner(quietMaker()).DeleteTopic(t.Context(), at, topic), "%s at %s", topic, url)
		}
	}
}
