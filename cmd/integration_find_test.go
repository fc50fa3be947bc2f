//go:build integration

package cmd

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/study"
)

// A proxy holds the connections to a broker to a byte rate, so the highest rate that holds is known. Where others take the
// CPU from kt, it says so of the rate at which it was the limit itself, and never blames the connection for one that it carries.
func narrowConnectionIsFound(t *testing.T) {
	const (
		rate   = 2 << 20 // bytes a second
		record = 1024
		frame  = 16 // bytes beside each value: of its own and its part of those of batch and request
		truth  = rate / (record + frame)
	)
	port := nextPort()
	p := startProxy(t, "127.0.0.1:"+strconv.Itoa(port), rate)
	k := startClusterAt(t, 1, port, "--property", "advertised.listeners=CLIENT://"+p.Addr().String())
	var found study.Document
	for try := range 3 {
		found = k.find(t, "--trial-time", "1s", "--precision", "10%", "--rest", "0", "--",
			"produce", "--bootstrap-server", p.Addr().String(), "--record-size", strconv.Itoa(record), "--command-property", "buffer.memory=1048576")
		t.Logf("%s; the truth is %d", found.Sentence, truth)
		for _, one := range found.Trials {
			t.Logf("%-7s %6.0f %6.0f %s %q", one.Kind, one.Rate, one.Achieved, one.Outcome, one.Reasons)
		}
		peak := found.Peak
		if peak.Low > 1.1*truth {
			t.Fatalf("try %d: %.0f records/s hold, and the connection carries %d", try, peak.Low, truth)
		}
		if peak.High > 0.9*truth && peak.Low > 0.8*truth && !peak.ClientBound {
			return
		}
	}
	invalid, blamed := false, false
	for _, one := range found.Trials {
		invalid = invalid || one.Rate == found.Peak.High && one.Outcome == study.Invalid
		blamed = blamed || one.Rate < 0.9*truth && one.Outcome == study.Failed
	}
	if !found.Peak.ClientBound || !invalid || blamed {
		t.Errorf("never near the truth: %+v", found.Peak) // a busy machine may end one search too early
	}
}

// find makes a search on a cluster.
func (k *kafkaCluster) find(t *testing.T, args ...string) (d study.Document) {
	t.Helper()
	path := must.Have(binary())(t)
	c := exec.Command(path, append([]string{"find", "--output", "json"}, args...)...)
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() == exitUsage) {
		t.Fatalf("%v\n%s", err, exit.Stderr)
	}
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return d
}
