//go:build integration

package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

// securedKafka is a real Kafka with a listener that is not for everybody.
type securedKafka struct {
	*kafkaCluster
	plain *kafkaCluster // the same brokers by the listener that asks for nothing
}

func startSecured(t *testing.T, kind string, args ...string) securedKafka {
	t.Helper()
	port := nextPort()
	k := startClusterAt(t, 1, port, append([]string{"--security", kind}, args...)...)
	return securedKafka{k, &kafkaCluster{k.server, "127.0.0.1:" + strconv.Itoa(port+2)}}
}

// file is one of the files for clients that scripts/kafka wrote; "" is the right one.
func (k securedKafka) file(which string) string {
	k.t.Helper()
	return strings.TrimSpace(k.script("client-config", strings.Fields(which)...))
}

// admin does something as one who may do all.
func (k securedKafka) admin(do func(*kadm.Client) error) {
	k.t.Helper()
	client := must.Have(kgo.NewClient(kgo.SeedBrokers(k.plain.brokers)))(k.t)
	defer client.Close()
	must.Do(k.t, do(kadm.NewClient(client)))
}

func (k securedKafka) createTopic(name string) {
	k.t.Helper()
	k.admin(func(a *kadm.Client) error {
		_, err := a.CreateTopic(context.Background(), 3, 1, nil, name)
		return err
	})
}

// allow lets reader do something with a topic, a group or a transactional id.
func (k securedKafka) allow(on func(*kadm.ACLBuilder) *kadm.ACLBuilder, operations ...kadm.ACLOperation) {
	k.t.Helper()
	acl := on(kadm.NewACLs()).ResourcePatternType(kadm.ACLPatternLiteral).Operations(operations...).Allow("User:reader").AllowHosts("*")
	k.admin(func(a *kadm.Client) error {
		made, err := a.CreateACLs(context.Background(), acl)
		for _, m := range made {
			err = errors.Join(err, m.Err)
		}
		return err
	})
	k.await("the broker to hear of the right", func() (all bool) {
		k.admin(func(a *kadm.Client) error {
			found, err := a.DescribeACLs(context.Background(), acl)
			all = len(found) > 0
			for _, f := range found {
				err, all = errors.Join(err, f.Err), all && len(f.Described) > 0
			}
			return err
		})
		return all
	})
}

// said is what became of a kt.
type said struct {
	doc    result.Result
	stderr string
	code   int
	took   time.Duration
}

// ktWith runs kt with one of the files for clients, and nothing else that tells it of the brokers.
func (k securedKafka) ktWith(which, command string, args ...string) said {
	k.t.Helper()
	file := k.file(which)
	c := ktIn(k.t, k.t.TempDir(), append([]string{command, "--command-config", file, "--result", "none", "--output", "json"}, args...)...)
	if conf := filepath.Join(filepath.Dir(file), "krb5.conf"); isThere(conf) {
		c.Env = append(c.Env, "KRB5_CONFIG="+conf)
	}
	began := time.Now()
	stdout, stderr, code := ran(k.t, c)
	s := said{stderr: strings.TrimSpace(stderr), code: code, took: time.Since(began)}
	if len(stdout) > 0 || code == exitOK { // a load that failed has a result as well
		s.doc = decoded[result.Result](k.t, stdout, stderr)
	}
	return s
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// causes are what kt has to say of each file that is wrong: the cause, or what to change.
var causes = map[string]string{
	"expired":              `expired`,
	"wrong-host":           `elsewhere\.invalid`,
	"unknown-ca":           `ssl\.truststore`,
	"plaintext":            `security\.protocol`,
	"tls-on-plaintext":     `security\.protocol`,
	"wrong-store-password": `ssl\.truststore\..*password`,
	"wrong-password":       `password|secret|keytab`,
	"wrong-mechanism":      `sasl\.mechanism|security\.protocol`,
	"wrong-service":        `sasl\.kerberos\.service\.name`,
	"no-key":               `ssl\.keystore`,
	"expired-key":          `ssl\.keystore|expired`,
	"foreign-key":          `ssl\.keystore`,
	"reader":               `ACL|authori[sz]`,
}

// formsOf are the files of each kind of security that are right.
var formsOf = map[string][]string{
	"tls":      {"", "p12", "pem", "any-host"},
	"mtls":     {"", "p12", "pem", "jks", "encrypted", "inline"},
	"scram":    {"", "scram-256"},
	"sasl-ssl": {"", "p12", "pem", "scram-512"},
	"oauth":    {"", "p12", "pem", "new-names", "brief"},
	"kerberos": {"", "ticket"},
}

// kt and Kafka's own tool work with the very same files; with those that are wrong kt says why.
func TestTheClientFilesOfKafkasToolsAreThoseOfKt(t *testing.T) {
	t.Parallel()
	for kind, forms := range formsOf {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if kind == "kerberos" && runtime.GOOS != "linux" {
				t.Skip("MIT's KDC is tried on Linux only")
			}
			k := startSecured(t, kind, "--property", "listener.name.client.scram-sha-512.connections.max.reauth.ms=3000")
			k.createTopic("both")
			const records = 500
			for _, form := range forms {
				s := k.ktWith(form, "produce", "--topic", "both", "--num-records", strconv.Itoa(records))
				must.True(t, ended(s.doc, s.code, exitOK) && s.doc.Records.Acknowledged == records,
					"client %q: exit code %d, %d records acknowledged\n%s", form, s.code, s.doc.Records.Acknowledged, s.stderr)
			}
			total := int64(len(forms) * records)
			k.producerPerformance("both", records)
			end := k.plain.endOffsets("both")
			must.True(t, end == total+records, "%d records are in the topic, want %d of kt and %d of Kafka's tool", end, total, records)
			s := k.ktWith("", "consume", "--topic", "both", "--num-records", strconv.FormatInt(total+records, 10))
			must.True(t, ended(s.doc, s.code, exitOK) && s.doc.Records.Consumed == total+records,
				"consume: exit code %d, %d records\n%s", s.code, s.doc.Records.Consumed, s.stderr)
			k.refusalsAreExplained(forms)
			switch kind {
			case "oauth":
				k.tokenIsRenewed()
			case "scram":
				k.missingACLIsNamed()
				k.changedPasswordIsNamed()
			}
		})
	}
}

// producerPerformance writes with Kafka's own tool and the file that is right.
func (k securedKafka) producerPerformance(topic string, records int) {
	k.t.Helper()
	out, stderr, _ := ran(k.t, exec.Command("../scripts/kafka", "tool", "--name", k.name, "ProducerPerformance", "--bootstrap-server", k.brokers,
		"--command-config", k.file(""), "--topic", topic, "--num-records", strconv.Itoa(records), "--record-size", "100", "--throughput", "-1"))
	must.True(k.t, strings.Contains(string(out), fmt.Sprint(records, " records sent")), "ProducerPerformance:\n%s%s", out, stderr)
}

// refusalsAreExplained tries each file that is not right: one line with the cause, in seconds.
func (k securedKafka) refusalsAreExplained(right []string) {
	k.t.Helper()
	files := must.Have(filepath.Glob(filepath.Join(filepath.Dir(k.file("")), "client-*.properties")))(k.t)
	tried := 0
	for _, file := range files {
		which := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "client-"), ".properties")
		if slices.Contains(right, which) {
			continue
		}
		cause, known := causes[which]
		if !known {
			k.t.Errorf("%s is neither right nor wrong", file)
			continue
		}
		tried++
		k.refused(which, cause, "produce", "--topic", "both", "--num-records", "1")
	}
	must.True(k.t, tried != 0, "there is no wrong file")
}

// refused runs kt with something that cannot work, and wants one line that names the cause, beside progress.
func (k securedKafka) refused(which, cause, command string, args ...string) {
	k.t.Helper()
	s := k.ktWith(which, command, args...)
	if s.code != exitFailed && s.code != exitUsage || !regexp.MustCompile(cause).MatchString(s.stderr) ||
		strings.Count("\n"+s.stderr, "\nkt: ") != 1 || s.took > 45*time.Second {
		k.t.Errorf("client %q, kt %s: exit code %d after %s, want one line on %s:\n%s",
			which, command, s.code, s.took.Round(time.Millisecond), cause, s.stderr)
	}
}

// missingACLIsNamed tries what a user may not do: kt names the topic, the group, the transactional id.
func (k securedKafka) missingACLIsNamed() {
	k.t.Helper()
	k.createTopic("read-only")
	k.refused("reader", `read-only`, "produce", "--topic", "read-only", "--num-records", "1")
	k.refused("reader", `not-there`, "produce", "--topic", "not-there", "--partitions", "3", "--num-records", "1")
	k.allow(func(b *kadm.ACLBuilder) *kadm.ACLBuilder { return b.Topics("read-only") }, kadm.OpRead, kadm.OpDescribe)
	// To write idempotently is a right on the cluster, unless there is a topic to write to.
	k.refused("reader", `(?i)cluster`, "produce", "--topic", "read-only", "--num-records", "1")
	k.refused("reader", `read-only`, "produce", "--topic", "read-only", "--num-records", "1", "--idempotence", "false")
	k.refused("reader", `their-group`, "consume", "--topic", "read-only", "--group", "their-group", "--num-records", "1")
	k.createTopic("writable")
	k.allow(func(b *kadm.ACLBuilder) *kadm.ACLBuilder { return b.Topics("writable") }, kadm.OpWrite, kadm.OpDescribe)
	k.refused("reader", `their-id`, "produce", "--topic", "writable", "--num-records", "1", "--transactional-id", "their-id")
	s := k.ktWith("reader", "produce", "--topic", "writable", "--num-records", "100")
	must.True(k.t, ended(s.doc, s.code, exitOK) && s.doc.Records.Acknowledged == 100,
		"with the right: exit code %d, %d records\n%s", s.code, s.doc.Records.Acknowledged, s.stderr)
}

// changedPasswordIsNamed changes a password while a load runs, which ends with the reason: the broker
// asks for the password again every few seconds.
func (k securedKafka) changedPasswordIsNamed() {
	k.t.Helper()
	k.createTopic("changed")
	changed := make(chan error, 1)
	go func() {
		for n := int64(0); n == 0; time.Sleep(100 * time.Millisecond) { // until the load has begun
			n, _ = k.plain.tryEndOffsets("changed")
		}
		changed <- k.changePassword("admin", "another")
	}()
	s := k.ktWith("", "produce", "--topic", "changed", "--rate", "500", "--duration", "9s", "--command-property", "delivery.timeout.ms=4000",
		"--command-property", "request.timeout.ms=2000")
	must.Do(k.t, <-changed)
	must.True(k.t, ended(s.doc, s.code, exitFailed) && regexp.MustCompile(`password|sasl\.jaas\.config`).MatchString(s.stderr),
		"exit code %d, no word of the password:\n%s", s.code, s.stderr)
}

func (k securedKafka) changePassword(user, password string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(k.plain.brokers))
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = kadm.NewClient(client).AlterUserSCRAMs(context.Background(), nil, []kadm.UpsertSCRAM{
		{User: user, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: password},
	})
	return err
}

// tokenIsRenewed runs a load for longer than a token lasts: no record fails.
func (k securedKafka) tokenIsRenewed() {
	k.t.Helper()
	k.createTopic("renewed")
	const rate, seconds = 500, 11 // the tokens of "brief" last 8
	s := k.ktWith("brief", "produce", "--topic", "renewed", "--rate", strconv.Itoa(rate), "--duration", fmt.Sprint(seconds, "s"))
	r := s.doc.Records
	must.True(k.t, ended(s.doc, s.code, exitOK) && r.Failed+r.Unknown == 0 && r.Acknowledged != 0, "exit code %d, %+v\n%s", s.code, r, s.stderr)
	log := must.Have(os.ReadFile(filepath.Join(filepath.Dir(k.file("")), "helper.log")))(k.t)
	n := strings.Count(string(log), "token for brief")
	must.True(k.t, n >= 2, "%d tokens were asked for, want 2 at least\n%s", n, log)
}
