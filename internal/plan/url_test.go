package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestAURLNamesASystemAndHoldsNoPassword(t *testing.T) {
	for text, want := range map[string]string{
		"amqp://guest@localhost":              "amqp://guest@localhost:5672",
		"amqps://kt@rabbit:7000/orders":       "amqps://kt@rabbit:7000/orders",
		"pulsar://broker/public/default":      "pulsar://broker:6650/public/default",
		"pulsar+ssl://broker/a/b":             "pulsar+ssl://broker:6651/a/b",
		"amqp://[::1]/":                       "amqp://[::1]:5672/",
		"amqp://guest:s3cret@localhost":       "url.password",
		"kafka:9092":                          "--bootstrap-server",
		"http://localhost":                    "amqp://",
		"amqp:///vhost":                       "no host",
		"amqp://localhost/?heartbeat=1":       "--command-property",
		"amqps://h/?admin=http://h:15672":     "https://",
		"amqp://h/?admin=http://u:p@h:15672":  "http://HOST:PORT",
		"amqp://h/?admin=h:15672":             "http://HOST:PORT",
		"amqp://h/?admin=http://h:15672":      "amqp://h:5672/?admin=http://h:15672",
		"amqp://localhost:s3cret":             "invalid port",
		"pulsar://guest:s3cret@localhost:abc": "invalid port",
	} {
		u, err := ParseURL(text)
		switch {
		case err == nil && u.String() != want:
			t.Errorf("%s: %s, want %s", text, u, want)
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v", text, err)
		case err != nil && strings.Contains(err.Error(), "guest:s3cret"):
			t.Errorf("%s: the error has the password: %v", text, err)
		}
	}
}

func TestTheAdminAPIIsAtTheURLOrWhereItUsuallyIs(t *testing.T) {
	for text, want := range map[string]string{
		"amqp://h/":                          "http://h:15672",
		"amqps://h/":                         "https://h:15671",
		"amqp://h:1/?admin=https://other:2/": "https://other:2",
	} {
		u := must.Have(ParseURL(text))(t)
		if got := Admin(u, "15672", "15671"); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestAPlanOfAnotherSystemHasNothingThatOnlyKafkaHas(t *testing.T) {
	p := Plan{
		Command: Produce, Engine: Wire, URL: "amqp://localhost:5672", Bootstrap: []string{"kafka:9092"}, Topic: Topic{Name: "t"}, Producers: 1,
		Load:    Load{Rate: Unlimited, Arrivals: Uniform, Records: 1, Transaction: 1},
		Read:    Read{Groups: 2},
		Payload: Payload{Kind: Letters, Size: FixedSize(100), Keys: NoKeys, Headers: []Header{{Key: "a", Value: "b"}}},
	}
	err := p.Validate()
	for _, flag := range []string{"--bootstrap-server", "--engine wire", "--transaction-duration-ms", "--header", "--groups 2"} {
		if err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s is not refused: %v", flag, err)
		}
	}
	if p.System() != RabbitMQ || p.Encrypts() || p.Embedded() {
		t.Errorf("the system is %s", p.System())
	}
	if p := (&Plan{URL: "pulsar+ssl://b:6651"}); p.System() != Pulsar || !p.Encrypts() {
		t.Errorf("the system is %s", p.System())
	}
	if p := (&Plan{}); p.System() != Kafka || !p.Embedded() {
		t.Errorf("the system is %s", p.System())
	}
}

func TestAPlanSaysWhereItsClientsConnect(t *testing.T) {
	for _, r := range []struct {
		p    Plan
		want []string
	}{
		{Plan{Bootstrap: []string{"a:1", "b:2"}}, []string{"a:1", "b:2"}},
		{Plan{URL: "amqp://kt@a/v"}, []string{"a:5672"}},
		{Plan{URL: "pulsar+ssl://a?admin=https://b"}, []string{"a:6651", "b:443"}},
		{Plan{URL: "pulsar://a:1?admin=http://[::1]:8080"}, []string{"a:1", "[::1]:8080"}},
		{Plan{URL: "kafka://a:1,b:2/"}, []string{"a:1", "b:2"}},
		{Plan{URL: "kafka://a:1", Bootstrap: []string{"b:2"}}, []string{"b:2", "a:1"}},
		{Plan{URL: "nonsense", Bootstrap: []string{"b:2"}}, []string{"b:2"}},
		{Plan{}, nil},
	} {
		if got := r.p.Addresses(); !slices.Equal(got, r.want) {
			t.Errorf("%+v: %q, want %q", r.p, got, r.want)
		}
	}
}
