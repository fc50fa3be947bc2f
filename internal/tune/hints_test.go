package tune

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/theme"
)

func TestTheHeapForAMachine(t *testing.T) {
	for _, row := range []struct {
		says       string
		memory     int64
		partitions int
		want       int64
	}{
		{"memory that is not known", 0, 0, 0},
		{"half of a tiny machine", 1 * gib, 0, 512 * mib},
		{"what Kafka's script takes, below 4 GiB", 3 * gib, 0, 1 * gib},
		{"half of a small machine, rounded", 7*gib + 512*mib, 0, 3*gib + 768*mib},
		{"no more than 4 GiB below 16 GiB", 15 * gib, 0, 4 * gib},
		{"a quarter of a machine of 20 GiB", 20 * gib, 0, 5 * gib},
		{"6 GiB on a machine of 31 GiB", 31 * gib, 0, 6 * gib},
		{"6 GiB on a large machine", 512 * gib, 0, 6 * gib},
		{"1 GiB for each 1000 partitions beyond 4000", 128 * gib, 7500, 9 * gib},
		{"no more than 12 GiB", 128 * gib, 30000, 12 * gib},
		{"partitions do not fill a small machine", 8 * gib, 30000, 4 * gib},
	} {
		if got := heapFor(row.memory, row.partitions); got != row.want {
			t.Errorf("%s: heapFor(%s, %d) = %s, want %s", row.says, theme.Bytes(row.memory), row.partitions, theme.Bytes(got), theme.Bytes(row.want))
		}
	}
}

// hintText is hints as lines, without their sources.
func hintText(hints []Hint) []string {
	var all []string
	for _, h := range hints {
		all = append(all, fmt.Sprintf("%s: %s = %s (%s)", h.Where, h.Name, h.Value, h.Formula))
	}
	return all
}

func TestHintsShowTheMachinesNumbers(t *testing.T) {
	m := set()
	m.Memory, m.Bandwidth = 125*gib, 200*mib
	m.FS = host.NewFS(fstest.MapFS{"proc/sys/net/core/somaxconn": {Data: []byte("4096\n")}})
	for range 7 {
		m.Dirs = append(m.Dirs, Dir{Partitions: 200, Segments: 10000, Storage: host.Storage{Disks: []host.Disk{{Rotational: true}}}})
	}
	want := []string{
		"environment: KAFKA_HEAP_OPTS = -Xms6g -Xmx6g (clamp(a quarter of 125 GiB, 4 GiB, 6 GiB) in steps of 256 MiB = 6 GiB)",
		"environment: KAFKA_JVM_PERFORMANCE_OPTS = -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent -XX:MetaspaceSize=96m -XX:MinMetaspaceFreeRatio=50 -XX:MaxMetaspaceFreeRatio=80 -XX:G1HeapRegionSize=16M (the flags that Kafka documents; they replace those of its script)",
		"server.properties: num.io.threads = 14 (clamp(2 × 7 log directories on hard disks, 8, 32) = 14)",
		"server.properties: num.network.threads = 8 (clamp(16 CPUs / 2, 3, 16) = 8)",
		"server.properties: num.recovery.threads.per.data.dir = 3 (16 CPUs shared by 7 log directories = 3)",
		"server.properties: socket.send.buffer.bytes = -1 (the kernel sizes them by itself, up to tcp_rmem and tcp_wmem; across a wide network set bandwidth × round trip)",
		"server.properties: socket.receive.buffer.bytes = -1 (the kernel sizes them by itself, up to tcp_rmem and tcp_wmem; across a wide network set bandwidth × round trip)",
		"server.properties: socket.listen.backlog.size = 1024 (min(1024, net.core.somaxconn 4096) = 1024)",
		"server.properties: num.replica.fetchers = 2 (clamp(1400 partitions / 1000, 2, 4) = 2)",
		"cluster: partitions of a topic = 21 (3 brokers × 7 log directories = 21)",
		"cluster: partitions of a broker, at most = 4000 (16 CPUs: 4000; there are 1400)",
		"system: nofile = 345000 (max(100000, 3 × 70000 segments × 1.5 + 2 × 10000 connections + 10000) = 345000)",
		"system: vm.max_map_count = 275530 (max(262144, 2 × 70000 segments × 1.5 + 65530) = 275530)",
		"system: page cache = 118 GiB (125 GiB − 6 GiB heap − 1.5 GiB; it holds 601 s of the 200 MiB/s that the slowest disk writes)",
	}
	must.Match(t, want, hintText(Hints(m, 3)), "Hints")
}

func TestTheExpressionsOfHintsAreKnown(t *testing.T) {
	for _, row := range hintRows() {
		for _, c := range row.Cases {
			must.Err(t, "", (Read{Cases: []Case{{If: c.If, Note: c.Value + c.Formula}}}).check(), "%s", row.Name)
		}
	}
}

func TestHintsOfAMachineThatIsNotKnown(t *testing.T) {
	for _, h := range Hints(&Machine{FS: host.NewFS(fstest.MapFS{})}, 0) {
		must.True(t, h.Name != "" && h.Value != "" && h.Formula != "" && h.Source != "" && !strings.Contains(h.Formula, "0 CPU"),
			"Hints of an empty machine hold %+v", h)
		switch h.Name {
		case "KAFKA_HEAP_OPTS", "num.io.threads", "num.network.threads", "page cache":
			t.Errorf("Hints of an empty machine hold %s = %s, which needs its size", h.Name, h.Value)
		}
	}
}

func TestHintsThatDependOnMore(t *testing.T) {
	hidden := withDirs(set(), Dir{ListErr: errors.New("hidden")})
	tls := set("listeners", "SSL://:9093")
	virtual := withDirs(set(), Dir{Storage: host.Storage{Disks: []host.Disk{{Rotational: true}}}})
	virtual.Virtual = "kvm"
	few := set()
	few.FS = host.NewFS(fstest.MapFS{"proc/sys/net/core/somaxconn": {Data: []byte("128\n")}})
	small := sized(set(), 2, 8*gib)
	small.Profile = &Profile{Name: "minimal"}
	quorum := controller(set())
	early := set()
	early.Profile = &Profile{Name: "latency"}
	for _, row := range []struct {
		says    string
		machine *Machine
		brokers int
		name    string
		want    string // "" for no such hint
	}{
		{"network threads: no fewer than 3", sized(set(), 2, 8*gib), 0, "num.network.threads", "3"},
		{"network threads: no more than 16", sized(set(), 96, 8*gib), 0, "num.network.threads", "16"},
		{"network threads: twice for TLS", tls, 0, "num.network.threads", "16"},
		{"network threads: TLS on few CPUs", sized(set("listeners", "SSL://:9093"), 2, 8*gib), 0, "num.network.threads", "3"},
		{"fetchers: two for few partitions", withDirs(set(), Dir{Partitions: 10}), 3, "num.replica.fetchers", "2"},
		{"fetchers: no more than 4", withDirs(set(), Dir{Partitions: 90000}), 3, "num.replica.fetchers", "4"},
		{"recovery: part of a CPU is one", sized(withDirs(set(), Dir{}), 0.5, 8*gib), 0, "num.recovery.threads.per.data.dir", "1"},
		{"partitions of a small broker", sized(set(), 4, 8*gib), 0, "partitions of a broker, at most", "1000"},
		{"partitions of a middling broker", sized(set(), 15, 8*gib), 0, "partitions of a broker, at most", "2000"},
		{"partitions of a large broker", sized(set(), 16, 8*gib), 0, "partitions of a broker, at most", "4000"},
		{"request threads: no fewer than 8", sized(withDirs(set(), Dir{}), 2, 8*gib), 0, "num.io.threads", "8"},
		{"request threads: as many as CPUs", withDirs(set(), make([]Dir, 7)...), 0, "num.io.threads", "16"},
		{"request threads: no more than 32", sized(withDirs(set(), make([]Dir, 4)...), 96, 64*gib), 0, "num.io.threads", "32"},
		{"a virtual machine's disk is no hard disk", virtual, 0, "num.io.threads", "16"},
		{"the backlog fits the kernel's", few, 0, "socket.listen.backlog.size", "128"},
		{"a laptop's heap starts small", small, 0, "KAFKA_HEAP_OPTS", "-Xms256m -Xmx4g"},
		{"a controller needs less heap", quorum, 0, "KAFKA_HEAP_OPTS", "-Xms4g -Xmx4g"},
		{"a controller has no records to serve", quorum, 0, "num.io.threads", ""},
		{"two brokers need one fetcher", set(), 2, "num.replica.fetchers", "1"},
		{"fetchers of a cluster of unknown size", set(), 0, "num.replica.fetchers", ""},
		{"partitions of a cluster of unknown size", withDirs(set(), make([]Dir, 7)...), 0, "partitions of a topic, per broker", "7"},
		{"segments that cannot be counted", hidden, 0, "nofile", ""},
	} {
		got := ""
		for _, h := range Hints(row.machine, row.brokers) {
			if h.Name == row.name {
				got = h.Value
			}
		}
		must.Match(t, row.want, got, "%s: %s", row.says, row.name)
	}
	flags := Hints(early, 0)[1].Value
	must.True(t, strings.Contains(flags, "AlwaysPreTouch"), "the flags with the profile latency are %q, want AlwaysPreTouch among them", flags)
}

func TestTheFragmentHoldsOnlyWhatServerPropertiesTakes(t *testing.T) {
	got := Fragment([]Hint{
		{Name: "KAFKA_HEAP_OPTS", Value: "-Xmx6g", Where: Environment, Formula: "x"},
		{Name: "num.io.threads", Value: "8", Where: Properties, Formula: "clamp(…) = 8"},
	})
	must.Match(t, "# clamp(…) = 8\nnum.io.threads=8\n", got, "Fragment")
}
