package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/theme"
)

type target struct {
	about            string // "topic orders", "new topics"
	replicas, inSync int    // of the partition that has fewest
	configs          map[string]string
}

// settings checks the settings of the load's topic, and without one those that the brokers give a new topic.
func (e *examination) settings(ctx context.Context) {
	t, right, err := e.lookUp(ctx)
	if err != nil {
		e.unread("settings", t.about, right, err)
		return
	}
	before := len(e.Checks)
	e.minInSync(t)
	if kept, limited := t.retention(); limited && kept < e.Duration {
		e.warn("settings", t.about, "raise retention.ms, or make a shorter load (--duration)",
			"records are kept for %s, and the load takes %s: readers and --verify miss the first ones", theme.Duration(kept), theme.Duration(e.Duration))
	}
	if how := t.configs["compression.type"]; how != "" && how != "producer" {
		e.warn("settings", t.about, fmt.Sprintf("set compression.type=producer, or make the load with --compression %s", strings.Replace(how, "uncompressed", "none", 1)),
			"compression.type is %s: brokers compress batches of another type again, and their CPU becomes the limit", how)
	}
	if n, err := strconv.ParseInt(t.configs["flush.messages"], 10, 64); err == nil && n != math.MaxInt64 {
		e.warn("settings", t.about, "leave it out, unless this is what you test",
			"flush.messages is %d: brokers wait for the disk each time that this many records came", n)
	}
	if len(e.Checks) > before {
		return
	}
	text := fmt.Sprintf("min.insync.replicas %s with %s", t.configs["min.insync.replicas"], theme.Plural(t.replicas, "replica", "replicas"))
	if kept, known := t.retention(); known {
		text += ", kept for " + theme.Duration(kept)
	}
	e.pass("settings", t.about, "%s, compression.type %s", text, t.configs["compression.type"])
}

func (e *examination) lookUp(ctx context.Context) (t target, right string, err error) {
	t = target{about: "topic " + e.Topic, replicas: math.MaxInt, inSync: math.MaxInt}
	right = "Describe and DescribeConfigs on " + t.about
	m, err := e.admin.Metadata(ctx, e.Topic)
	if err != nil {
		return t, right, err
	}
	found := m.Topics[e.Topic]
	if errors.Is(found.Err, kerr.UnknownTopicOrPartition) {
		return e.forNew(ctx)
	}
	if found.Err != nil {
		return t, right, found.Err
	}
	for _, p := range found.Partitions {
		t.replicas, t.inSync = min(t.replicas, len(p.Replicas)), min(t.inSync, len(p.ISR))
	}
	t.configs, err = kafka.Values(e.admin.DescribeTopicConfigs(ctx, e.Topic))
	return t, right, err
}

func (e *examination) forNew(ctx context.Context) (t target, right string, err error) {
	t, right = target{about: "new topics"}, "DescribeConfigs on the cluster"
	broker, err := kafka.Values(e.admin.DescribeBrokerConfigs(ctx, e.answering[0].ID))
	if err != nil {
		return t, right, err
	}
	t.configs = map[string]string{
		"min.insync.replicas": broker["min.insync.replicas"], "compression.type": broker["compression.type"],
		"flush.messages": broker["log.flush.interval.messages"], "cleanup.policy": broker["log.cleanup.policy"],
		"retention.ms": broker["log.retention.ms"],
	}
	for _, unit := range []struct {
		name string
		ms   int64
	}{{"log.retention.minutes", 60_000}, {"log.retention.hours", 3_600_000}} { // the finer one counts
		if n, err := strconv.ParseInt(broker[unit.name], 10, 64); err == nil && t.configs["retention.ms"] == "" {
			t.configs["retention.ms"] = strconv.FormatInt(n*unit.ms, 10)
		}
	}
	t.replicas, _ = strconv.Atoi(broker["default.replication.factor"])
	t.inSync = t.replicas
	return t, right, nil
}

// minInSync checks that as many replicas are in sync as acks=all takes. From Kafka 3.7 on, all replicas are enough.
func (e *examination) minInSync(t target) {
	n, err := strconv.Atoi(t.configs["min.insync.replicas"])
	var major, minor int
	if _, bad := fmt.Sscanf(strings.TrimPrefix(e.Cluster.Version, "at least "), "v%d.%d", &major, &minor); bad == nil && (major > 3 || major == 3 && minor >= 7) {
		n = min(n, t.replicas)
	}
	switch {
	case err != nil:
	case n > t.replicas:
		e.fail("settings", t.about, fmt.Sprintf("set min.insync.replicas to %d at most, or use more replicas", t.replicas),
			"min.insync.replicas %d is above the %s: no record is acknowledged with acks=all", n, theme.Plural(t.replicas, "replica", "replicas"))
	case n > t.inSync:
		e.fail("settings", t.about, "start the brokers that have its other replicas",
			"min.insync.replicas is %d, and of a partition only %s: no record of it is acknowledged with acks=all", n, theme.Plural(t.inSync, "replica is in sync", "replicas are in sync"))
	}
}

// retention returns how long records are kept; false: for ever.
func (t *target) retention() (time.Duration, bool) {
	ms, err := strconv.ParseInt(t.configs["retention.ms"], 10, 64)
	if err != nil || ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) || !strings.Contains(t.configs["cleanup.policy"], "delete") {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}

// security says how this client connects, and checks the certificate of each broker.
func (e *examination) security(ctx context.Context) {
	s := e.Access.Security
	switch {
	case s.Encrypts() && s.Mechanism() == "":
		e.pass("security", "", "%s: TLS, and no SASL", s.Protocol())
	case s.Mechanism() == "":
		e.pass("security", "", "%s: no TLS and no SASL", s.Protocol())
	case !s.Encrypts():
		e.warn("security", "", "set security.protocol=SASL_SSL if others may be on the way to the brokers", "%s: authenticated by %s without TLS, "+
			"so whoever answers at these addresses is taken for a broker, can name others, and sees what is sent", s.Protocol(), s.Mechanism())
	default:
		e.pass("security", "", "%s: authenticated by %s", s.Protocol(), s.Mechanism())
	}
	for _, b := range e.answering {
		about := aboutBroker(b.ID)
		state, err := e.cluster.Handshake(ctx, b.Addr)
		switch {
		case err != nil:
			e.fail("tls", about, "", "%v", err) // which says what to do
		case state != nil:
			host, _, _ := net.SplitHostPort(b.Addr) // kt joined it
			c := e.certificate(state, host)
			c.Name, c.About = "tls", about
			e.add(c)
		}
	}
}

const soon = 30 * 24 * time.Hour

func (e *examination) certificate(state *tls.ConnectionState, host string) Check {
	leaf := state.PeerCertificates[0]
	left := leaf.NotAfter.Sub(e.Now)
	c := Check{
		State: Pass, Figures: map[string]int64{"certificate_days": int64(left.Hours() / 24)},
		Text: fmt.Sprintf("%s, certificate of %s by %s until %s", tls.VersionName(state.Version), cmp.Or(leaf.Subject.String(), "no subject"), leaf.Issuer, leaf.NotAfter.UTC().Format(time.DateOnly)),
	}
	switch err := leaf.VerifyHostname(host); {
	case err != nil: // ssl.endpoint.identification.algorithm is empty, or its common name counts
		c.State, c.Advice = Warn, "anybody with a certificate of this authority can pose as the broker: give it one for the name that it advertises"
		c.Text += fmt.Sprintf(", which does not fit %s", host)
	case left < e.Duration:
		c.State, c.Advice = Warn, "renew it at the broker: it ends before the load does"
	case left < soon:
		c.State, c.Advice = Warn, "renew it at the broker soon"
	default:
		c.Text += fmt.Sprintf(", which fits %s", host)
	}
	return c
}
