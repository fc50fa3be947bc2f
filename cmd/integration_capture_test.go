//go:build integration

package cmd

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/must"
)

// isCaptured captures loads that kt makes meanwhile: what was asked for is what is found.
func (k *kafkaCluster) isCaptured(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.yaml")
	must.Do(t, os.WriteFile(file, []byte(`
loads:
  - {name: cap-keys, command: produce, topic: cap-keys, partitions: 4, rate: 1000, record-size: 120, compression: zstd, compressibility: 0.4, record-key-range: 50, key-distribution: "zipf:1.1", producers: 3, duration: 5m}
  - {name: cap-tx, command: produce, topic: cap-tx, partitions: 2, rate: 200, record-size: 300, transactional-id: cap, transaction-duration-ms: 500, duration: 5m}
  - {name: cap-classic, command: consume, topic: cap-keys, group: cap-classic, consumers: 2, duration: 5m}
  - {name: cap-newer, command: consume, topic: cap-keys, group: cap-newer, group-protocol: consumer, consumers: 3, duration: 5m}
  - {name: cap-share, command: consume, topic: cap-tx, group: cap-share, group-protocol: share, consumers: 2, duration: 5m}
`), 0o644))
	load := k.kt("run", file)
	defer func() {
		load.interrupt()
		_ = load.cmd.Wait() // it was interrupted
	}()
	admin := k.admin()
	k.await("the loads", func() bool {
		share, err := admin.DescribeShareGroupOffsets(t.Context(), "cap-share")
		settled := false
		share["cap-share"].Offsets.Each(func(o kadm.ShareOffset) { settled = settled || o.StartOffset > 300 })
		return err == nil && settled
	})
	out, stderr, code := ran(t, exec.Command(must.Have(binary())(t), "capture", "--bootstrap-server", k.brokers, "--names", "--each", "--last", "1h"))
	must.Match(t, 0, code, "exit code: %s", stderr)
	var got struct{ Loads []map[string]any }
	must.Do(t, yaml.Unmarshal(out, &got))
	loads := make(map[string]map[string]any)
	for _, l := range got.Loads {
		of := l["topic"]
		if l["group"] != nil {
			of = l["group"]
		}
		loads[fmt.Sprint(of)] = l
	}
	for name, want := range map[string]map[string]any{
		"cap-keys":    {"partitions": 4, "rate": 1000.0, "record-size": "120", "compression": "zstd", "producers": 3, "record-key-range": 50},
		"cap-tx":      {"partitions": 2, "rate": 200.0, "record-size": "300", "producers": 1, "compression": "none"},
		"cap-classic": {"consumers": 2, "group-protocol": "classic", "topic": "cap-keys"},
		"cap-newer":   {"consumers": 3, "group-protocol": "consumer", "topic": "cap-keys"},
		"cap-share":   {"consumers": 2, "group-protocol": "share", "topic": "cap-tx"},
	} {
		for key, value := range want {
			found := loads[name][key]
			if rate, ok := value.(float64); ok {
				n := must.Have(strconv.ParseFloat(fmt.Sprint(found), 64))(t)
				must.True(t, math.Abs(n/rate-1) < 0.03, "%s: %s is %v, want %v within 3 %%", name, key, found, rate)
				continue
			}
			must.Match(t, fmt.Sprint(value), fmt.Sprint(found), "%s: %s", name, key)
		}
	}
	open := must.Have(strconv.ParseFloat(fmt.Sprint(loads["cap-tx"]["transaction-duration-ms"]), 64))(t)
	must.True(t, loads["cap-tx"]["transactional-id"] != nil && open > 400 && open < 700, "transactions of 500 ms take %v:\n%s", open, out)
	must.True(t, strings.HasPrefix(loads["cap-keys"]["key-distribution"].(string), "zipf:1.1"), "%v", loads["cap-keys"]["key-distribution"])
}
