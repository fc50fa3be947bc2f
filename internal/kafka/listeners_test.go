package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/secret"
)

// advertising starts a broker that answers, and names other addresses in its metadata.
func advertising(t *testing.T, addrs ...string) string {
	t.Helper()
	fake := startFake(t)
	fake.ControlKey((&kmsg.MetadataRequest{}).Key(), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		answer := r.ResponseKind().(*kmsg.MetadataResponse)
		for i, addr := range addrs {
			b := kmsg.NewMetadataResponseBroker()
			host, port, _ := net.SplitHostPort(addr)
			n, _ := strconv.Atoi(port)
			b.NodeID, b.Host, b.Port = int32(i), host, int32(n)
			answer.Brokers = append(answer.Brokers, b)
		}
		return answer, nil, true
	})
	return fake.ListenAddrs()[0]
}

func TestABrokerThatDoesNotAnswerWhereItSaysIsNamed(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	hung, nobody := must.Listen(t, silent), must.Nobody(t)
	bootstrap := advertising(t, "no-such-host.invalid:9092", nobody, web.Listener.Addr().String(), hung)
	c, err := Connect(t.Context(), Access{Bootstrap: []string{bootstrap}, Timeout: 500 * time.Millisecond})
	must.Hold(t, err == nil, "%v", err)
	t.Cleanup(c.Close)
	_, err = c.Reach(t.Context())
	must.Hold(t, err != nil, "all brokers are reached")
	wants := []string{
		"broker 0 advertises no-such-host.invalid:9092: the name does not resolve from here (",
		"broker 1 advertises " + nobody + ": connection refused: start the broker, open the way there",
		"broker 2 advertises " + web.Listener.Addr().String() + ": an HTTP server answers",
		"broker 3 advertises " + hung + ": it accepts connections but did not answer within 500ms",
	}
	lines := strings.Split(err.Error(), "\n")
	must.Hold(t, len(lines) == len(wants), "%d lines, want %d:\n%v", len(lines), len(wants), err)
	for i, want := range wants {
		must.True(t, strings.HasPrefix(lines[i], want) && strings.Contains(lines[i], "advertised.listeners of broker "+strconv.Itoa(i)),
			"%q, want %q", lines[i], want)
	}
}

// A broker that is down does not hinder a load that others serve.
func TestABrokerThatIsDownIsNoErrorWhileOthersAnswer(t *testing.T) {
	fake := startFake(t)
	nobody := must.Nobody(t)
	c := connect(t, []string{advertising(t, fake.ListenAddrs()[0], nobody)})
	unreached, err := c.Reach(t.Context())
	must.True(t, err == nil && len(unreached) == 1 && strings.HasPrefix(unreached[0].Error(), "broker 1 advertises "+nobody+": connection refused"),
		"%v, %v", unreached, err)
}

func TestEachBrokerIsAsked(t *testing.T) {
	fake := startFake(t, kfake.NumBrokers(9))
	c := connect(t, fake.ListenAddrs()[:1])
	all := c.Listeners(t.Context())
	must.Match(t, 9, len(all), "brokers are asked")
	for _, l := range all {
		must.True(t, l.Cause == nil && len(l.IPs) != 0, "broker %d: %v, addresses %q", l.Broker, l.Cause, l.IPs)
	}
}

func TestAskingBrokersEndsWhenItIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	hung := must.Listen(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1)) // the request is there
		interrupt()
		silent(c)
	})
	c := connect(t, []string{advertising(t, hung)})
	_, err := c.Reach(ctx)
	must.True(t, errors.Is(err, context.Canceled), "gives %v", err)
}

// A bootstrap server that did not answer is not waited for a second time.
func TestABootstrapServerIsAskedOnce(t *testing.T) {
	asked := make(chan struct{}, 9)
	hung := must.Listen(t, func(c net.Conn) {
		asked <- struct{}{}
		silent(c)
	})
	c := must.Have(Connect(t.Context(), Access{Bootstrap: []string{hung, advertising(t, hung)}, Timeout: 300 * time.Millisecond}))(t)
	t.Cleanup(c.Close)
	_, err := c.Reach(t.Context())
	must.True(t, err != nil && strings.Contains(err.Error(), "did not answer within 300ms"), "gives %v", err)
	must.Match(t, 1, len(asked), "questions")
}

func TestAnAddressThatMeansThisHostIsSaidToDoSo(t *testing.T) {
	c := &Cluster{access: Access{Bootstrap: []string{"kafka-1:9092"}}}
	got := c.mend(3, "127.0.0.1", errNoConnection)
	must.True(t, strings.HasPrefix(got, "that address is this host itself"), "from elsewhere: %q", got)
	c.access.Bootstrap = []string{"localhost:9092"}
	got = c.mend(3, "127.0.0.1", errNoConnection)
	must.True(t, strings.HasPrefix(got, "start the broker"), "from this host: %q", got)
}

func TestNeighboursOfBrokersAreNamed(t *testing.T) {
	zookeeper := must.Listen(t, func(c net.Conn) {
		command := make([]byte, 4)
		if _, err := c.Read(command); err == nil && string(command) == "srvr" {
			_, _ = c.Write([]byte("Zookeeper version: 3.8.4-9316c2a\nLatency min/avg/max: 0/0/0\n"))
		}
	})
	controller := startFake(t)
	controller.Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
		controller.KeepControl()
		if r.Key() != 18 {
			return nil, errors.New("a controller hangs up"), true
		}
		answer := r.ResponseKind().(*kmsg.ApiVersionsResponse)
		for _, key := range []int16{18, 55} { // ApiVersions, DescribeQuorum
			k := kmsg.NewApiVersionsResponseApiKey()
			k.ApiKey = key
			answer.ApiKeys = append(answer.ApiKeys, k)
		}
		return answer, nil, true
	})
	for addr, want := range map[string]string{
		zookeeper:                   "ZooKeeper answers, and no Kafka broker",
		controller.ListenAddrs()[0]: "a KRaft controller answers, and no broker",
	} {
		c, err := Connect(t.Context(), Access{Bootstrap: []string{addr}})
		if err == nil {
			c.Close()
		}
		must.True(t, err != nil && strings.HasPrefix(err.Error(), "no broker reached: "+addr+": "+want), "%v, want %q", err, want)
	}
}

func TestAnErrorBehindTheNamedOnesIsFoundByItsType(t *testing.T) {
	var all []error
	for i := range int32(maxNamed + 2) {
		all = append(all, &Listener{Broker: i, Cause: errors.New("refused")})
	}
	all[maxNamed+1] = &Listener{Cause: &secret.BindingError{Address: "b:9092"}}
	err := errors.Join(few(all)...)
	var foreign *secret.BindingError
	must.True(t, errors.As(err, &foreign) && strings.HasSuffix(err.Error(), "\nand 2 more brokers do not answer"), "%v", err)
}

func TestABrokerThatClosesAConnectionAtOnceHasALimitOfThem(t *testing.T) {
	refused := errors.New("refused")
	for _, err := range []error{io.EOF, fmt.Errorf("read: %w", syscall.ECONNRESET)} {
		got := Closed(err)
		must.True(t, strings.Contains(got.Error(), "max.connections.per.ip"), "%v: %v", err, got)
	}
	got := Closed(refused)
	must.True(t, errors.Is(got, refused), "%v, want it as it is", got)
}

// named returns the address of a broker whose metadata name n brokers, all but one at a port where nobody is, with a rack.
func named(t *testing.T, n int, host, rack string) string {
	t.Helper()
	fake := startFake(t)
	fake.ControlKey(int16(kmsg.Metadata), func(q kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		r := q.ResponseKind().(*kmsg.MetadataResponse)
		for i := range n {
			b := kmsg.NewMetadataResponseBroker()
			b.NodeID, b.Host, b.Port, b.Rack = int32(i), host, 1, &rack
			r.Brokers = append(r.Brokers, b)
		}
		return r, nil, true
	})
	return fake.ListenAddrs()[0]
}

func TestMoreBrokersThanAnyClusterHasAreRefused(t *testing.T) {
	_, err := Connect(t.Context(), Access{Bootstrap: []string{named(t, 5000, "127.0.0.1", "")}})
	must.True(t, err != nil && strings.Contains(err.Error(), "5000 brokers"), "error %v, want that there are 5000", err)
}

func TestAnAnswerThatIsTooLargeIsNamed(t *testing.T) {
	_, err := Connect(t.Context(), Access{Bootstrap: []string{named(t, 20, "127.0.0.1", strings.Repeat("r", 1_000_000))}})
	must.True(t, err != nil && strings.Contains(err.Error(), "more than 16 MiB"), "error %v, want that the answer is too large", err)
}

func TestOneLineStandsForManyBrokersThatDoNotAnswer(t *testing.T) {
	c, err := Connect(t.Context(), Access{Bootstrap: []string{named(t, 300, "127.0.0.1", strings.Repeat("r", 10_000))}})
	must.Hold(t, err == nil, "%v", err)
	defer c.Close()
	n := len(c.Info.Brokers[0].Rack)
	must.True(t, n <= 300, "a rack of %d bytes", n)
	_, err = c.Reach(t.Context())
	must.True(t, err != nil && strings.Count(err.Error(), "\n") == maxNamed && strings.HasSuffix(err.Error(), "and 290 more brokers do not answer"),
		"error %v, want %d lines and one for the rest", err, maxNamed)
}

// startFake starts brokers, one if nothing else is said.
func startFake(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	fake := must.Have(kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...))(t)
	t.Cleanup(fake.Close)
	return fake
}

// connect connects to brokers of a test.
func connect(t *testing.T, addrs []string) *Cluster {
	t.Helper()
	c := must.Have(Connect(t.Context(), Access{Bootstrap: addrs}))(t)
	t.Cleanup(c.Close)
	return c
}

// silent takes what comes and says nothing.
func silent(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func TestWhatAnswersAtAWrongPortIsNamed(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = nil
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for _, c := range []struct {
		what, addr string
		within     time.Duration
		want       string
	}{
		{"a web server", web.Listener.Addr().String(), time.Minute, "an HTTP server answers"},
		{"a web server of old", must.Listen(t, func(c net.Conn) { _, _ = c.Write([]byte("<!DOCTYPE HTML>\n<html lang=en>")) }), time.Minute, "an HTTP server answers"},
		{"a web server with TLS", secure.Listener.Addr().String(), time.Minute, "a TLS port answers"},
		{"TLS that says so", must.Listen(t, func(c net.Conn) { _, _ = c.Write([]byte{0x15, 3, 1, 0, 2, 2, 70}) }), time.Minute, "a TLS port answers"},
		{"a server of lines", must.Listen(t, func(c net.Conn) { _, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.6\r\n")) }), time.Minute, `it answers "SSH-2.0-OpenSSH_9.6\r"`},
		{"one that says nothing", must.Listen(t, silent), 500 * time.Millisecond, "it accepts connections but did not answer within 500ms"},
		{"one that begins an answer", must.Listen(t, func(c net.Conn) { _, _ = c.Write([]byte{0, 0}); silent(c) }), 500 * time.Millisecond, "did not answer within 500ms"},
		{"one that hangs up", must.Listen(t, func(net.Conn) {}), time.Minute, "it closes the connection"},
		{"nobody", must.Nobody(t), time.Minute, "connection refused"},
	} {
		_, err := Connect(t.Context(), Access{Bootstrap: []string{c.addr}, Timeout: c.within})
		must.True(t, err != nil && strings.HasPrefix(err.Error(), "no broker reached: "+c.addr+": ") && strings.Contains(err.Error(), c.want),
			"%s: %v, want %q", c.what, err, c.want)
	}
}

func TestAWrongPortAmongBrokersIsLeftOut(t *testing.T) {
	fake := startFake(t)
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	c := connect(t, []string{web.Listener.Addr().String(), fake.ListenAddrs()[0]})
	must.True(t, len(c.Unreached) == 1 && strings.Contains(c.Unreached[0].Error(), "an HTTP server answers"), "unreached: %v", c.Unreached)
}

// However long it may wait, it leaves when it is told to.
func TestConnectingEndsWhenItIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	addr := must.Listen(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1)) // the request is there
		interrupt()
		silent(c)
	})
	_, err := Connect(ctx, Access{Bootstrap: []string{addr}, Timeout: time.Hour})
	must.True(t, errors.Is(err, context.Canceled), "gives %v", err)
}
