package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

// nobody are the calls of a machine that tells a user nothing but its files.
type nobody struct{ root bool }

func (nobody) Space(string) (host.Space, error)       { return host.Space{}, errors.ErrUnsupported }
func (nobody) Clock() *host.Clock                     { return nil }
func (nobody) Ethernet(string) (host.Ethernet, error) { return host.Ethernet{}, errors.ErrUnsupported }
func (n nobody) Root() bool                           { return n.root }

// tree is a file tree of "name: content"; `\0` stands for NUL.
func tree(files map[string]string) fstest.MapFS {
	all := make(fstest.MapFS)
	for name, content := range files {
		all[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(content, `\0`, "\x00"))}
	}
	return all
}

// process are the files of a process.
func process(pid, cmdline string) map[string]string {
	return map[string]string{
		"proc/" + pid + "/cmdline": cmdline,
		"proc/" + pid + "/stat":    pid + " (java) S 1 1 1 0 -1 4194304 1 1 1 1 1 1 1 1 20 0 50 0 12345 1 1",
		"proc/" + pid + "/status":  "Name:\tjava\nUid:\t1001\t1001\t1001\t1001\n",
		"proc/" + pid + "/cgroup":  "0::/system.slice/kafka.service\n",
	}
}

func allOf(maps ...map[string]string) map[string]string {
	all := make(map[string]string)
	for _, m := range maps {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

const (
	broker1 = `/usr/bin/java\0-Xmx6g\0kafka.Kafka\0/etc/kafka/server.properties\0`
	ownRoot = "25 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n30 25 8:2 / /data rw - xfs /dev/sdb rw\n"
	itsRoot = "80 1 0:55 / / rw,relatime - overlay overlay rw\n81 80 8:17 / /data rw - xfs /dev/sdc1 rw\n"
)

func lookAtTree(t *testing.T, files map[string]string, o Options) (*Machine, error) {
	t.Helper()
	o.Profile = shipped(t, "throughput")
	return Look(context.Background(), host.NewFS(tree(files)), nobody{root: true}, o)
}

func TestWhatIsTakenForTheBroker(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		o     Options
		pid   int
		from  string
		err   string
	}{
		{"a broker", process("7", broker1), Options{}, 7, "process 7", ""},
		{"somebody who looks for one", process("7", `grep\0kafka.Kafka\0/etc/passwd\0`), Options{}, 0, "no broker runs here", ""},
		{"a tool of Kafka's", process("7", `java\0kafka.admin.TopicCommand\0`), Options{}, 0, "no broker runs here", ""},
		{"two brokers", allOf(process("7", broker1), process("8", broker1)), Options{}, 7, "process 7, the first of 2 brokers here: --pid chooses", ""},
		{"the second of two", allOf(process("7", broker1), process("8", broker1)), Options{PID: 8}, 8, "process 8", ""},
		{"a process that is none", process("7", `sh\0`), Options{PID: 7}, 0, "", "--pid 7: it is no Kafka broker or controller"},
		{"no such process", nil, Options{PID: 9}, 0, "", "--pid 9: there is no such process"},
		{"a unit", process("7", broker1), Options{Unit: "kafka"}, 7, "process 7", ""},
		{"a unit that does not run yet", nil, Options{Unit: "kafka"}, 0, "--unit", ""},
		{"directories alone", map[string]string{"data/x": ""}, Options{Dirs: []string{"/data"}}, 0, "--dirs", ""},
	} {
		m, err := lookAtTree(t, tc.files, tc.o)
		if tc.err != "" {
			must.Match(t, tc.err, fmt.Sprint(err), "%s", tc.name)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		pid := 0
		if m.Process != nil {
			pid = m.Process.PID
		}
		must.True(t, pid == tc.pid && m.RoleFrom == tc.from, "%s: process %d, role from %q; want %d, %q", tc.name, pid, m.RoleFrom, tc.pid, tc.from)
	}
}

func TestABrokerInAContainerIsLookedAtThroughItsOwnRoot(t *testing.T) {
	files := allOf(process("7", broker1), map[string]string{
		"proc/self/mountinfo":                        ownRoot,
		"proc/7/mountinfo":                           itsRoot,
		"etc/kafka/server.properties":                "log.dirs=/wrong\nnum.io.threads=1\n",
		"proc/7/root/etc/kafka/server.properties":    "log.dirs=/data/kafka\nnum.io.threads=64\n",
		"proc/7/root/data/kafka/orders-0/0.log":      "",
		"proc/7/root/data/kafka/orders-0/0.index":    "",
		"proc/7/root/data/kafka/orders-1/0.log":      "",
		"proc/7/root/data/kafka/not-a-partition/x":   "",
		"proc/7/root/data/kafka/meta.properties":     "",
		"proc/7/root/data/kafka/with-dash-12/10.log": "",
	})
	m := must.Have(lookAtTree(t, files, Options{}))(t)
	got := m.Config.Get("num.io.threads", "")
	must.True(t, got == "64", "num.io.threads is %q, want the container's 64", got)
	must.True(t, len(m.Dirs) == 1 && m.Dirs[0].Mount.Source == "/dev/sdc1" && m.Dirs[0].Partitions == 3 && m.Dirs[0].Segments == 3,
		"directories %+v, want the container's /data/kafka on sdc1, with 3 partitions and segments", m.Dirs)
	must.True(t, m.ownMounts(), "the broker's mounts are taken for kt's")
	dirs, err := DirsInUse(host.NewFS(tree(files)), nobody{root: true})
	want := []string{"/proc/7/root/data/kafka"}
	must.True(t, err == nil && slices.Equal(dirs, want), "DirsInUse = %v, %v; want %v", dirs, err, want)
}

func TestDirectoriesOfEveryBrokerAreInUse(t *testing.T) {
	files := allOf(process("7", broker1), process("8", `java\0kafka.Kafka\0b.properties\0--override\0log.dirs=/d3\0--override=metadata.log.dir=meta\0`), process("9", `java\0kafka.Kafka\0/gone\0`), map[string]string{
		"etc/kafka/server.properties": "log.dirs = /d1, /d2\n",
		"b.properties":                "log.dirs=/none\n",
	})
	dirs, err := DirsInUse(host.NewFS(tree(files)), nobody{root: true})
	must.Match(t, []string{"/d1", "/d2", "/d3", "/meta"}, dirs, "DirsInUse")
	must.True(t, err != nil && strings.Contains(err.Error(), "process 9") && errors.Is(err, fs.ErrNotExist),
		"DirsInUse: %v, want that the settings of process 9 are not known", err)
}

func TestWhatAContainerCannotChangeIsNotOffered(t *testing.T) {
	const slowStartFile = "proc/sys/net/ipv4/tcp_slow_start_after_idle"
	files := map[string]string{
		".dockerenv":             "",
		"proc/self/mountinfo":    "25 1 0:50 / / rw - overlay overlay rw\n26 25 0:51 / /proc rw - proc proc rw\n",
		"proc/sys/vm/swappiness": "60\n",
		slowStartFile:            "1\n",
	}
	check := func() (swappiness, slowStart Finding) {
		m := must.Have(lookAtTree(t, files, Options{Role: Broker}))(t)
		for _, f := range Check(m, Catalogue()).Findings {
			switch f.ID {
			case "vm.swappiness":
				swappiness = f
			case "net.ipv4.tcp_slow_start_after_idle":
				slowStart = f
			}
		}
		return swappiness, slowStart
	}
	host, own := check()
	must.True(t, len(host.Changes) == 0 && strings.Contains(host.Note, "belongs to the node"),
		"vm.swappiness: changes %v, note %q; want none, and whose it is", host.Changes, host.Note)
	must.True(t, len(own.Changes) == 1 && len(own.Changes[0].Keep) == 0 && strings.Contains(own.Changes[0].Advice, "--sysctl"),
		"tcp_slow_start_after_idle: %+v, want a change that no file keeps", own.Changes)
	files["proc/self/mountinfo"] += "27 26 0:51 /sys /proc/sys ro - proc proc rw\n"
	if _, own = check(); len(own.Changes) != 0 || !strings.Contains(own.Note, "read-only") {
		t.Errorf("tcp_slow_start_after_idle below a read-only mount: changes %v, note %q; want none", own.Changes, own.Note)
	}
}

func TestLinksOnTheWayToALogDirectoryAreFollowed(t *testing.T) {
	dir := t.TempDir()
	for name, content := range allOf(process("7", broker1), map[string]string{
		"proc/self/mountinfo":         ownRoot,
		"etc/kafka/server.properties": "log.dirs=/var/lib/kafka\n",
		"data/kafka/orders-0/0.log":   "x",
	}) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Do(t, os.WriteFile(file, []byte(strings.ReplaceAll(content, `\0`, "\x00")), 0o644))
	}
	for from, to := range map[string]string{"var/lib": "../usr/lib", "usr/lib/kafka": "/data/kafka", "data/loop": "loop"} {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, from)), 0o755))
		must.Do(t, os.Symlink(to, filepath.Join(dir, from)))
	}
	m := must.Have(Look(context.Background(), host.Rooted(dir), nobody{root: true}, Options{Profile: shipped(t, "throughput")}))(t)
	must.True(t, len(m.Dirs) == 1 && m.Dirs[0].File == "/data/kafka" && m.Dirs[0].Mount.Source == "/dev/sdb" && m.Dirs[0].Segments == 1,
		"directories %+v, want /data/kafka on sdb with a segment", m.Dirs)
	got := m.follow("", "/data/loop/x")
	must.True(t, got == "/data/loop/x", "follow of a link to itself = %s, want it as it was", got)
	if _, err := Look(context.Background(), host.Rooted(dir), nobody{root: true}, Options{Profile: shipped(t, "throughput"), Dirs: []string{"/data/kafka/orders-0/0.log"}}); err == nil {
		t.Error("a file is taken for a log directory")
	}
}
