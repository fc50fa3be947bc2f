//go:build integration && linux

package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// Agents in pods join by the name of a headless Service, which has the addresses of all of them. Here
// it is a name with several lines in the hosts file of each host.
func TestAgentsJoinByANameWithManyAddresses(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("hosts are network namespaces, and making those needs root")
	}
	h := &hosts{kafkaCluster: &kafkaCluster{t: t}, set: "name", net: "83", dir: t.TempDir(), addr: make(map[string]string)}
	t.Cleanup(func() { h.hosts("down") })
	for line := range strings.Lines(h.hosts("up", "p1", "p2", "p3", "p4")) {
		name, addr, _ := strings.Cut(strings.TrimSpace(line), " ")
		h.addr[name] = addr
	}
	h.key = filepath.Join(h.dir, "key")
	h.run("p1", "keygen", h.key)
	h.addr["b1"] = "kt-agent" // which the agents join

	// Each starts when the name has its own address only.
	for _, p := range []string{"p1", "p2"} {
		h.means(p, p)
	}
	h.agent("p1", "client")
	second := h.agent("p2", "client")
	for _, p := range []string{"p1", "p2", "p3", "p4"} {
		h.means(p, "p1", "p2")
	}
	h.see("p3", "p1", "p2")

	// One goes, another comes. The address of p4 stands first, where nobody answers.
	must.Do(t, second.Process.Signal(syscall.SIGTERM))
	for _, p := range []string{"p1", "p2", "p3", "p4"} {
		h.means(p, "p4", "p1", "p3")
	}
	h.agent("p3", "client")
	h.see("p2", "p1", "p3")
}

// means says for one host which hosts the name of the agents means.
func (h *hosts) means(on string, targets ...string) {
	h.t.Helper()
	path := filepath.Join("/etc/netns", "kth-"+h.set+"."+on, "hosts")
	text := must.Have(os.ReadFile(path))(h.t)
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(text)), "\n"), func(line string) bool { return strings.HasSuffix(line, " kt-agent") })
	for _, target := range targets {
		lines = append(lines, h.addr[target]+" kt-agent")
	}
	// In place, for the file is mounted on hosts that run.
	must.Do(h.t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
}

// see waits until kt peers on a host lists the given agents, each at its own address.
func (h *hosts) see(from string, want ...string) {
	h.t.Helper()
	var got []string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		out, err := h.command(from, "peers", "--join", "kt-agent", "--key-file", h.key, "--output", "json").Output()
		var document struct {
			Peers []struct{ Name, Address, State string } `json:"peers"`
		}
		if err != nil || json.Unmarshal(out, &document) != nil {
			continue
		}
		got = nil
		for _, p := range document.Peers {
			if p.State == "alive" && p.Address == h.addr[p.Name]+":7946" {
				got = append(got, p.Name)
			}
		}
		if slices.Equal(got, want) {
			return
		}
	}
	h.t.Errorf("%s sees %q, want %q", from, got, want)
}
