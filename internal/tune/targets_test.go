package tune

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// A peer of an agent with --allow-tune may ask for any value, so each target bounds what kt sets.
func TestEveryTargetHasARangeOfSaneValues(t *testing.T) {
	far := fmt.Sprint(uint64(math.MaxInt64))
	for _, target := range targets() {
		n := 1
		for _, three := range []string{"1 1 1", "1 1"} {
			if target.Holds.accept(three, "") == nil {
				n = len(strings.Fields(three))
				break
			}
		}
		bad := strings.TrimSpace(strings.Repeat(far+" ", n))
		if target.Holds.accept("schedutil", "") == nil {
			bad = "userspace"
		}
		if err := target.Sane.accept(bad, ""); err == nil {
			t.Errorf("%s: kt would set %s", target.Path, bad)
		}
		if err := target.Sane.accept(bad, bad); err != nil { // as a journal puts it back
			t.Errorf("%s: the value that is there is refused: %v", target.Path, err)
		}
	}
}

func TestSysctlToRefusesWhatIsOutOfRange(t *testing.T) {
	for _, r := range []struct{ key, old, value, want string }{
		{"vm.max_map_count", "65530", "1", `"1" is out of range, which is 65530 to 16777216`},
		{"vm.max_map_count", "65530", "262144", ""},
		{"vm.max_map_count", "65530", "0262144", ""},
		{"vm.swappiness", "60", "010", ""},
		{"vm.swappiness", "60", "0x10", "out of range"},
		{"net.core.rmem_max", "212992", "0", "65536 to 1073741824"},
		{"net.core.somaxconn", "4096", "0", "128 to 65535"},
		{"fs.nr_open", "1048576", "1024", "1048576 to 1073741824"},
		{"fs.nr_open", "65536", "100000", ""}, // nearer to the range than before
		{"vm.swappiness", "180", "180", ""},   // the machine's own
		{"vm.swappiness", "180", "190", "0 to 180"},
		{"net.ipv4.tcp_rmem", "4096 131072 6291456", "4096 131072 0", "65536 to 1073741824"},
		{"net.ipv4.tcp_rmem", "4096 131072 6291456", "4096", "is not 3 whole numbers"},
		{"net.ipv4.tcp_rmem", "512 131072 6291456", "512 131072 16777216", ""},
		{"vm.dirty_bytes", "0", "8192", "8388608 to"}, // the ratio is in force, so 0 is no old value
		{"vm.dirty_background_ratio", "10", "100", "1 to 50"},
		{"net.ipv4.tcp_slow_start_after_idle", "1", "255", "0 to 1"},
	} {
		tree := NewTree(t.TempDir(), "kt-test")
		putText(t, tree.root, "/proc/sys/"+sysctlPath(r.key), r.old+"\n")
		if other := otherOfPair("/proc/sys/" + sysctlPath(r.key)); other != "" {
			putText(t, tree.root, other, "20\n")
		}
		c, err := tree.SysctlTo(r.key, r.value)
		if err == nil && c.New != strings.TrimLeft(r.value, "0") {
			t.Errorf("%s to %s writes %q, which the kernel takes for octal", r.key, r.value, c.New)
		}
		if (r.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s from %s to %s: %v, want %q", r.key, r.old, r.value, err, r.want)
		}
	}
}

func TestAChangeOutOfRangeIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	unit := DropIn("kafka.service")
	for want, c := range map[string]Change{
		"1024 to 1073741824": {Setting: "limits.nofile", Kind: Prlimit, Path: "/proc/7/limits", PID: 7, Old: "100000 100000", New: "10 10"},
		"LimitNOFILE=10":     {Setting: "limits.nofile", Kind: KeepOnly, Path: unit, New: "10", Keep: []Line{{File: unit, Head: "[Service]", Text: "LimitNOFILE=10"}}},
		"vm.swappiness":      {Setting: "vm.swappiness", Kind: KeepOnly, Path: SysctlFile, New: "150", Keep: []Line{{File: SysctlFile, Text: "vm.swappiness = 150"}}},
		"none of the words":  {Setting: "cpu.governor", Kind: WriteFile, Path: "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", Old: "performance", New: "userspace"},
	} {
		must.Err(t, want, checkChanges([]Change{c}), "%s", c.Describe())
	}
}
