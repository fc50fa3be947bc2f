//go:build integration

package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// The log directory of a broker is a disk of 200 MiB, which a load fills in seconds.
func TestALoadOnASmallDisk(t *testing.T) {
	t.Parallel()
	k := startCluster(t, 1, "--log-dirs", loopFolder(t, 200<<20))
	fill := []string{"--record-size", "10000", "--rate", "20MiB/s", "--acks", "1"}
	t.Run("it ends in good order", func(t *testing.T) {
		r, code := k.in(t).kt("produce", append(fill, "--topic", "small", "--stop-at-disk", "60%", "--duration", "5m")...).wait()
		if !ended(r, code, exitOK) || r.Ended != result.DiskFull || r.Records.Failed+r.Records.Unknown != 0 || !hasEvent(r, stats.LogDirFull) {
			t.Errorf("exit code %d, ended %q, records %+v, events %+v", code, r.Ended, r.Records, r.Events)
		}
	})
	// The topic of the first load stays, so that a slow machine fills the rest in time.
	t.Run("it goes on until the disk is full", func(t *testing.T) {
		r, code := k.in(t).kt("produce", append(fill, "--topic", "full", "--until-full", "--duration", "14s",
			"--command-property", "delivery.timeout.ms=5000", "--command-property", "request.timeout.ms=3000")...).wait()
		full := hasEvent(r, stats.LogDirFull) || hasEvent(r, stats.LogDirFailed)
		if !ended(r, code, exitFailed) || r.Ended != result.Completed || !full || r.Records.Failed == 0 || r.Records.Acknowledged == 0 {
			t.Errorf("exit code %d, ended %q, records %+v, errors %v, events %+v", code, r.Ended, r.Records, r.Errors, r.Events)
		}
		t.Logf("errors %v, brokers %+v, events %+v", r.Errors, r.Brokers, r.Events)
	})
}

// loopFolder returns a folder on an ext4 file system of that many bytes.
func loopFolder(t *testing.T, size int64) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: mounts a loop device")
	}
	image, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err == nil {
		err = image.Truncate(size)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = image.Close() // nothing was written
	dir := t.TempDir()
	for _, command := range []string{"mkfs.ext4 -q -m 0 " + image.Name(), "mount -o loop " + image.Name() + " " + dir} {
		words := strings.Fields(command)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%s: %v: %s", command, err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v: %s", dir, err, out)
		}
	})
	return dir
}

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
