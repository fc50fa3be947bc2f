package merge

import (
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

func TestTheCoresOfAMachineCountOnce(t *testing.T) {
	on := func(name, machine string) *mergedPart {
		p := &mergedPart{runFile: new(runFile)}
		p.header.Environment.Host.Hostname, p.header.Environment.Host.BootID = name, machine
		p.sample = host.Sample{At: time.Minute, Interval: time.Second, ProcessCPU: 1, HostCPU: 3, Cores: 4, HostCores: 4, NetSent: 10, NetSpeed: 100}
		return p
	}
	idle := on("d", "d")
	idle.sample = host.Sample{Cores: 4, HostCores: 4, NetSpeed: 100}
	got := busyTogether([]*mergedPart{on("a", "one"), on("a", "one"), on("b", "b"), on("c", "one"), idle})
	want := host.Sample{
		At: time.Minute, Interval: time.Second, ProcessCPU: 4, HostCPU: 6, Cores: 12, HostCores: 12, NetSent: 30, NetSpeed: 400,
	}
	if got != want {
		t.Errorf("all together are %+v, want %+v", got, want)
	}
}
