//go:build integration

package cmd

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/study"
)

// isOffered reports whether a shell offers a topic of a system. A busy machine may need several tries.
func isOffered(t *testing.T, topic, url, clientConfig string) bool {
	t.Helper()
	path := must.Have(binary())(t)
	for range 20 {
		out, err := exec.Command(path, "__complete", "consume", "--url", url, "--command-config", clientConfig, "--topic", "").Output()
		if err == nil && slices.Contains(strings.Split(string(out), "\n"), topic) {
			return true
		}
	}
	return false
}

func TestLoadsOnThreeSystems(t *testing.T) {
	t.Parallel()
	r := startRabbit(t, "--tls")
	p := startPulsar(t, "--token", "--tls", "--property", "backlogQuotaCheckIntervalInSeconds=1")
	t.Run("they are compared", func(t *testing.T) { areCompared(t, r, p) })
	t.Run("on RabbitMQ", func(t *testing.T) {
		t.Parallel()
		r.carriesLoads(t)
	})
	t.Run("on Pulsar", func(t *testing.T) {
		t.Parallel()
		p.carriesLoads(t)
	})
}

// areCompared makes one load on Kafka, RabbitMQ and Pulsar, by the named study in its shortest form: the searches walk a
// ladder of one rate.
func areCompared(t *testing.T, r *rabbit, p *pulsarServer) {
	k := startCluster(t, 1)
	text := must.Have(studyText("three-systems"))(t)
	file := filepath.Join(t.TempDir(), "short.yaml")
	text = regexp.MustCompile(`find: \{.*\}`).ReplaceAll(text, []byte("find: {ladder: [300]}"))
	must.Do(t, os.WriteFile(file, text, 0o600))
	state := t.TempDir()
	out, err := k.ktIn(t, state, "study", "run", file, "--quiet", "--output", "json",
		"--set", "kafka=kafka://"+k.brokers, "--set", "rabbitmq="+r.url, "--set", "pulsar="+p.url, "--set", "pulsar-unflushed="+p.url,
		"--set", "replicas=1", "--set", "stop=true", "--set", "start=true", "--set", "kafka-config=default", "--set", "rabbitmq-config="+r.config, "--set", "pulsar-config="+p.config, "--set", "partitions=4",
		"--set", "flush.rate=200", "--set", "peak=300", "--run-time", "1s", "--repeats", "1", "--discard", "0", "--rest", "0").Output()
	var d study.Document
	if err != nil || json.Unmarshal(out, &d) != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(d.NotEqual) != 3 || !slices.Equal(d.Systems, []plan.System{plan.Kafka, plan.Pulsar, plan.RabbitMQ}) {
		t.Errorf("systems %v, and what is not equal is %q", d.Systems, d.NotEqual)
	}
	if want := 3 + 3 + 1 + 1 + 1; len(d.Parts) != want {
		t.Fatalf("%d parts, want %d", len(d.Parts), want)
	}
	for _, part := range d.Parts {
		if part.Find != nil {
			if len(part.Find.Trials) == 0 || part.Find.Trials[0].Achieved < 100 { // a busy machine may keep no schedule
				t.Errorf("%s: %+v", part.Name, part.Find.Trials)
			}
			continue
		}
		for _, c := range part.Study.Cells {
			if c.Of("rate").N != 1 || c.Of("rate").Median < 100 || c.Failed.Median > 0 || c.Lost.Median > 0 {
				t.Errorf("%s: cell %v: %+v, left out %q", part.Name, c.At, c.CellFigures, c.LeftOut)
			}
		}
	}
	must.Match(t, 5*3, len(d.SideBySide), "standings: %+v", d.SideBySide)
	page, err := k.ktIn(t, state, "study", "report", "--output", "html").Output()
	if err != nil || !strings.Contains(string(page), "605 MB/s") || !strings.Contains(string(page), "Side by side") {
		t.Errorf("the page: %v", err)
	}
	rows, err := k.ktIn(t, state, "study", "report", d.ID+"/flush", "--output", "csv").Output()
	if err != nil || strings.Count(string(rows), "\n") != 1+11 {
		t.Errorf("the runs of a part: %v\n%s", err, rows)
	}
}
