//go:build integration

package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/report"
)

// isExamined checks what kt doctor finds on a real broker, and that it leaves nothing.
func (k *kafkaCluster) isExamined(t *testing.T) {
	doc, code := k.doctor(t)
	for _, c := range doc.Checks {
		if c.State != "pass" && c.Name != "round trip" { // this machine may be busy
			t.Errorf("%+v", c)
		}
	}
	if !doc.Healthy || code != exitOK || len(doc.Checks) < 17 {
		t.Errorf("exit code %d: %+v", code, doc)
	}

	client, err := kgo.NewClient(kgo.SeedBrokers(k.brokers))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	never, name := "2", "kt-producer"
	if _, err := admin.CreateTopic(t.Context(), 1, 1, map[string]*string{"min.insync.replicas": &never}, "unfit"); err != nil {
		t.Fatal(err)
	}
	quota := func(op kadm.AlterClientQuotaOp) {
		entity := kadm.ClientQuotaEntity{{Type: "client-id", Name: &name}}
		if _, err := admin.AlterClientQuotas(context.Background(), []kadm.AlterClientQuotaEntry{{Entity: entity, Ops: []kadm.AlterClientQuotaOp{op}}}); err != nil {
			t.Fatal(err)
		}
	}
	quota(kadm.AlterClientQuotaOp{Key: "producer_byte_rate", Value: 1 << 30})
	defer quota(kadm.AlterClientQuotaOp{Key: "producer_byte_rate", Remove: true})
	doc, code = k.doctor(t, "--topic", "unfit", "--read-only")
	found := make(map[string]string)
	for _, c := range doc.Checks {
		found[c.Name] = c.State + ": " + c.Text
	}
	if code != exitOK || !strings.HasPrefix(found["settings"], "pass: min.insync.replicas 2 with 1 replica") || !strings.HasPrefix(found["quotas"], "warning: producer_byte_rate") {
		t.Errorf("exit code %d: %v", code, found)
	}

	topics, err := admin.ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	groups, err := admin.ListGroups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(topics.Names(), groups.Groups()...) {
		if strings.HasPrefix(name, "kt-doctor-") {
			t.Errorf("%s is left", name)
		}
	}
}

// doctor runs kt doctor on the cluster.
func (k *kafkaCluster) doctor(t *testing.T, args ...string) (doc report.DoctorDocument, code int) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, append([]string{"doctor", "--bootstrap-server", k.brokers, "--output", "json"}, args...)...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return doc, code
}
