package tune

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/profiles"
)

func TestOneReadingOfSeveral(t *testing.T) {
	of := func(name string, v Verdict, current, note string) part {
		return part{name, Reading{Verdict: v, Current: current, Note: note}}
	}
	root := func(name string) part { return of(name, Unknown, "", needsRoot) }
	shown := func(r Reading) string {
		return strings.TrimSuffix(fmt.Sprintf("%s %s | %s", r.Verdict, r.Current, r.Note), " | ")
	}
	for _, row := range []struct {
		says  string
		parts []part
		want  string
	}{
		{"all alike", []part{of("sda", OK, "0", ""), of("sdb", OK, "0", "")}, "ok 0"},
		{"the worst counts", []part{of("sda", OK, "0", "good"), of("sdb", Warn, "2", "bad")}, "warn sdb: 2 | bad"},
		{"what is not known is said once, with those it is not known of", []part{root("/a"), of("/b", OK, "xfs", ""), root("/c")}, "unknown  | /a,/c: needs root"},
		{"of many the first are named", []part{root("/a"), root("/b"), root("/c"), root("/d"), root("/e")}, "unknown  | /a,/b,/c and 2 more: needs root"},
		{"two reasons", []part{root("/a"), of("/b", Unknown, "", "no size")}, "unknown  | /a: needs root; /b: no size"},
		{"a reason that has the name in it", []part{of("eth0", Unknown, "", "eth0: no counters")}, "unknown  | eth0: no counters"},
	} {
		must.Match(t, row.want, shown(together(row.parts)), "%s: together(…)\n got …", row.says)
	}
}

// Whoever can read nothing, or reads nonsense, may neither praise nor blame.
func TestMachinesThatTellNothingOrNonsenseAreNotJudged(t *testing.T) {
	garbage, refused := make(map[string]string), make(map[string]string)
	names := strings.NewReplacer("DISK", "sda", "CARD", "eth0", "BOND", "bond0", "DEVICE", "sda", "mdN", "md0", "-N", "-0", "PID", "7", "cpu*", "cpu0", "state*", "state1", "node*", "node0")
	for _, s := range Catalogue() {
		for _, name := range s.Reads {
			if name = names.Replace(name); strings.HasPrefix(name, "/") && !strings.ContainsAny(name, "*…:") {
				garbage[strings.TrimPrefix(name, "/")], refused[strings.TrimPrefix(name, "/")] = "\x00[] ] 12x -", denied
			}
		}
	}
	for _, folder := range []string{"sys/class/net/eth0/statistics", "etc/systemd/system/timers.target.wants"} {
		delete(garbage, folder)
		delete(refused, folder)
	}
	disks := []Dir{{Path: "/x", Mount: host.Mount{Type: "ext4"}, Storage: host.Storage{Device: "sda", Disks: []host.Disk{hard("sda")}}}}
	for _, profile := range ProfileNames(profiles.Of("tune")) {
		p := shipped(t, profile)
		for says, m := range map[string]*Machine{
			"an empty machine":                {FS: treeOfFiles(nil), Calls: silent{}, Profile: p},
			"an empty machine with a process": {FS: treeOfFiles(nil), Calls: silent{}, Profile: p, Process: &Process{Process: host.Process{OptionsErr: fs.ErrPermission}, PerfErr: fs.ErrPermission}, Config: Config{Err: fs.ErrPermission}, Dirs: []Dir{{Err: fs.ErrNotExist}}},
			"garbage":                         {FS: treeOfFiles(garbage), Calls: silent{}, Profile: p, Kernel: "5.x", MemTotal: -5, Memory: -5, CPUs: -1},
			"garbage and disks":               {FS: treeOfFiles(garbage), Calls: silent{}, Profile: p, Role: Broker, Dirs: disks, NICs: []NIC{{Name: "eth0"}}, Logical: 4},
			"files that may not be read":      {FS: treeOfFiles(refused), Calls: silent{}, Profile: p, Role: Broker, Dirs: disks, NICs: []NIC{{Name: "eth0"}}, Logical: 4},
		} {
			for _, s := range Catalogue() {
				r := s.Check(m, p.Rule(s))
				if slices.Contains([]Verdict{OK, Warn, Fail}, r.Verdict) && !knownWithoutFiles[s.ID] {
					t.Errorf("%s, %s on %s: %+v, want neither good nor bad", profile, s.ID, says, r)
				}
				if r.Note == "" && r.Verdict != Info && !knownWithoutFiles[s.ID] || len(r.Changes) > 0 {
					t.Errorf("%s, %s on %s: %+v, want a reason and no change", profile, s.ID, says, r)
				}
			}
		}
	}
}

// knownWithoutFiles are the settings that need no file for their verdict on the machines of
// the test above: what its log directory is on is known, and nothing tells of a container.
var knownWithoutFiles = map[string]bool{
	"context.container": true, "disk.shared": true, "disk.raid": true, "disk.network_fs": true, "disk.overlay_tmpfs": true, "fs.type": true,
}

// Under the governor performance a driver refuses every other preference, so that undoing from the end has to come to
// the governor first. A limit above fs.nr_open cannot be set.
func TestChangesAreMadeInOrder(t *testing.T) {
	ids := IDs()
	for first, then := range map[string]string{"cpu.epp": "cpu.governor", "fs.nr_open": "limits.nofile"} {
		if slices.Index(ids, first) >= slices.Index(ids, then) {
			t.Errorf("%s is set after %s: it has to come first", first, then)
		}
	}
}
