package merge

import (
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

func TestTheCoresOfAMachineCountOnce(t *testing.T) {
	on := func(name, machine string) Usage {
		return Usage{Host: name, Machine: machine, Sample: host.Sample{
			Interval: time.Second, ProcessCPU: 1, HostCPU: 3, Cores: 4, HostCores: 4, NetSent: 10, NetSpeed: 100,
		}}
	}
	got := busyTogether(time.Minute, []Usage{on("a", "one"), on("a", "one"), on("b", "b"), on("c", "one"), on("d", "d").idle()})
	want := host.Sample{
		At: time.Minute, Interval: time.Second, ProcessCPU: 4, HostCPU: 6, Cores: 12, HostCores: 12, NetSent: 30, NetSpeed: 400,
	}
	if got != want {
		t.Errorf("all together are %+v, want %+v", got, want)
	}
}
