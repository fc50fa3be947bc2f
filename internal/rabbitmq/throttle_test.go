package rabbitmq

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

func (discard) LocalAddr() net.Addr { return &net.TCPAddr{Port: 4711} }

func TestAServerThatThrottlesAPublisherIsTold(t *testing.T) {
	alarm := "low on disk"
	for _, tc := range []struct {
		name string
		does func(o *outlet)
		want string // "": nothing throttles it
	}{
		{"nothing", func(o *outlet) { o.worker.flow.Store(map[string]bool{"4712": true}) }, ""},
		{"an alarm", func(o *outlet) { o.worker.blocked.Store(&alarm) }, "RabbitMQ blocks publishers: low on disk"},
		{"credit flow", func(o *outlet) { o.worker.flow.Store(map[string]bool{"4711": true}) }, "credit flow"},
		{"full queues", func(o *outlet) { o.worker.limit.Store("x-max-length=5"); o.confirm(2, false, false) }, "x-max-length=5"},
		{"a message that was refused for another reason", func(o *outlet) { o.confirm(2, false, false) }, ""},
		{"full queues that refuse nothing", func(o *outlet) { o.worker.limit.Store("x-max-length=5") }, ""},
	} {
		p := plan.Plan{
			Command: plan.Produce, Engine: plan.Client, URL: "amqp://localhost", Topic: plan.Topic{Name: "t"}, Producers: 1,
			Load:    plan.Load{Rate: plan.Unlimited, Records: 5, Arrivals: plan.Uniform},
			Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(10), Keys: plan.NoKeys},
		}
		values := must.Have(payload.MakeValues(&p))(t)
		s := &session{System: &System{hosts: []string{"h"}, values: values, settings: settings{confirms: true}}, plan: &p, queues: []string{"t-0"}, gone: make(map[string]bool)}
		s.topic = result.Topic{Name: "t", Partitions: 1}
		d := &settling{producer: &producer{session: s, Accounts: queue.NewAccounts(&p, 0, 1)}, confirms: func(o *outlet) {
			o.worker.at.Store(o)
			tc.does(o)
			o.worker.settings.deliveryTimeout = time.Hour
			o.worker.lookAround()
		}}
		var total adding
		must.Have(engine.Run(t.Context(), p, engine.Drivers{Send: d}, engine.Options{}, &total))(t)
		text := ""
		for _, e := range total.Events {
			if e.Kind == stats.AlarmOn {
				text = e.Text
			}
		}
		if throttled := total.Brokers[0].Throttle > 0; throttled != (tc.want != "") || throttled && !strings.Contains(text, stats.KtIsThrottled+tc.want) && !strings.Contains(text, tc.want) {
			t.Errorf("%s: throttled for %v, %q; want %q", tc.name, total.Brokers[0].Throttle, text, tc.want)
		}
	}
}

func TestCreditFlowIsOfAConnectionOrOfItsChannels(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, map[string]string{
			"/api/vhosts/v/connections": `[{"state": "flow", "peer_port": 1}, {"state": "running", "peer_port": 2}, {"state": "blocked", "peer_port": 3}]`,
			"/api/vhosts/v/channels":    `[{"state": "running", "connection_details": {"peer_port": 1}}, {"state": "flow", "connection_details": {"peer_port": 2}}, {"connection_details": {}}]`,
		}[r.URL.Path])
	}))
	got := (&System{admin: api.URL, vhost: "v"}).newManagement().flowing(t.Context())
	must.Match(t, map[string]bool{"1": true, "2": true}, got, "the value")
	api.Close()
	if got := (&System{admin: api.URL, vhost: "v"}).newManagement().flowing(t.Context()); len(got) > 0 {
		t.Errorf("without an answer: %v", got)
	}
}

func TestALimitOfQueuesIsOfTheirArgumentsOrAPolicy(t *testing.T) {
	for about, want := range map[string]string{
		`"arguments": {"x-max-length": 1000000, "x-overflow": "reject-publish"}`:                                                      "(max-length=1000000, overflow=reject-publish)",
		`"arguments": {}, "effective_policy_definition": {"max-length-bytes": 5000, "overflow": "reject-publish-dlx"}`:                "(max-length-bytes=5000, overflow=reject-publish-dlx)",
		`"arguments": {"x-max-length": 10}, "effective_policy_definition": []`:                                                        "",
		`"arguments": {"x-max-length": 10, "x-overflow": "drop-head"}, "effective_policy_definition": {"overflow": "reject-publish"}`: "",
	} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"page_count": 1, "items": [{"name": "t-0", `+about+`}]}`)
		}))
		topic := result.Topic{Name: "t", Partitions: 1, Leaders: map[int32]int32{}, Configs: map[string]string{}}
		_, err := (&System{admin: api.URL}).newManagement().describeQueues(t.Context(), &topic, nil)
		if _, drops := queueLimit(map[string]string{"x-message-ttl": "500"}); !strings.Contains(drops, "after 500 ms") {
			t.Errorf("a time to live: %q", drops)
		}
		if got, _ := queueLimit(topic.Configs); err != nil || !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %v, %q, want %q", about, err, got, want)
		}
		api.Close()
	}
}
