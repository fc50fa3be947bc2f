//go:build integration

package cmd

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/study"
)

const (
	triedSysctl = "vm.dirty_background_ratio"
	triedBroker = "num.io.threads"
)

// What a trial changes on brokers and on this host is put back when it ends, and by kt study restore after a kill -9.
func (k *kafkaCluster) changesArePutBack(t *testing.T) {
	if !host.SystemCalls("/").Root() {
		t.Skip("only root can change sysctls")
	}
	before := sysctlNow(t)
	state := t.TempDir()
	t.Cleanup(func() { tuneRun(t, "--rollback", "--force") })
	args := []string{
		"trial", "sysctl." + triedSysctl + "=7", "broker." + triedBroker + "=5", "--repeats", "5", "--run-time", "1s", "--rest", "0", "--discard", "0",
		"--quiet", "--output", "json", "--", "produce", "--bootstrap-server", k.brokers, "--rate", "1000",
	}
	c := k.ktIn(t, state, args...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait() // killed, or done
		close(ended)
	}()
	for k.dynamic(t) != "5" || sysctlNow(t) != "7" { // in every second pair of runs
		select {
		case <-ended:
			t.Fatal("the trial ended, and never changed anything")
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	if out, err := k.ktIn(t, state, "study", "restore").CombinedOutput(); err != nil || !strings.Contains(string(out), "as before") {
		t.Fatalf("kt study restore: %v\n%s", err, out)
	}
	if now := sysctlNow(t); now != before || k.dynamic(t) != "" {
		t.Fatalf("after a restore: %s = %s, want %s; %s = %q, want none", triedSysctl, now, before, triedBroker, k.dynamic(t))
	}
	out, err := k.ktIn(t, state, "study", "run", "sysctl-trial", "--bootstrap-server", k.brokers, "--set", "rate=1000", "--run-time", "1s", "--repeats", "1",
		"--discard", "0", "--rest", "0", "--quiet", "--output", "json").Output()
	var s study.Document
	if err != nil || json.Unmarshal(out, &s) != nil || s.Runs != 5 || len(s.Cells) != 5 {
		t.Errorf("kt study run sysctl-trial: %v, %d runs of %d cells, want 5 of 5", err, s.Runs, len(s.Cells))
	}
	if now := sysctlNow(t); now != before {
		t.Errorf("after the study: %s = %s, want %s", triedSysctl, now, before)
	}
	for _, bad := range []string{"broker.num.io.threads=many", "broker.num.oi.threads=5", "broker.log.dirs=/tmp"} {
		c := k.ktIn(t, state, "trial", bad, "--", "produce", "--bootstrap-server", k.brokers)
		if out, _ := c.CombinedOutput(); c.ProcessState.ExitCode() != exitUsage {
			t.Errorf("%s: exit code %d, want %d\n%s", bad, c.ProcessState.ExitCode(), exitUsage, out)
		}
	}
}

// ktIn is a command of kt that keeps its studies in a folder.
func (k *kafkaCluster) ktIn(t *testing.T, state string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, args...)
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+state)
	return c
}

func sysctlNow(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/", host.SysctlFile(triedSysctl)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// dynamic returns what the broker was given of a setting; "": nothing.
func (k *kafkaCluster) dynamic(t *testing.T) string {
	t.Helper()
	c, err := kafka.Connect(context.Background(), kafka.Access{Bootstrap: strings.Split(k.brokers, ","), Timeout: kafka.AdminTimeout})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	settings, err := c.BrokerSettings(context.Background(), []string{triedBroker})
	if err != nil {
		t.Fatal(err)
	}
	if settings[0].Value == nil {
		return ""
	}
	return *settings[0].Value
}
