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

	"github.com/kt-bench/kt/internal/must"
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

	client := must.Have(kgo.NewClient(kgo.SeedBrokers(k.brokers)))(t)
	defer client.Close()
	admin := kadm.NewClient(client)
	never, name := "2", "kt-producer"
	must.Have(admin.CreateTopic(t.Context(), 1, 1, map[string]*string{"min.insync.replicas": &never}, "unfit"))(t)
	quota := func(op kadm.AlterClientQuotaOp) {
		entity := kadm.ClientQuotaEntity{{Type: "client-id", Name: &name}}
		must.Have(admin.AlterClientQuotas(context.Background(), []kadm.AlterClientQuotaEntry{{Entity: entity, Ops: []kadm.AlterClientQuotaOp{op}}}))(t)
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

	topics := must.Have(admin.ListTopics(t.Context()))(t)
	groups := must.Have(admin.ListGroups(t.Context()))(t)
	for _, name := range append(topics.Names(), groups.Groups()...) {
		if strings.HasPrefix(name, "kt-doctor-") {
			t.Errorf("%s is left", name)
		}
	}
}

// doctor runs kt doctor on the cluster.
func (k *kafkaCluster) doctor(t *testing.T, args ...string) (doc report.DoctorDocument, code int) {
	t.Helper()
	path := must.Have(binary())(t)
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
