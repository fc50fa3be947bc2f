package watch

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/jvm"
)

// mostPerf is the size in bytes up to which a JVM's file is read: the JVM's own default
// is 32 KiB, and anybody may leave a file in /tmp.
const mostPerf = 1 << 20

// broker is a process of Kafka's.
type broker struct {
	host.Process
	maps host.Maps // when it was looked for
	perf string    // the file in which its JVM publishes figures; "" for none that may be read
}

// IsBroker reports whether a Kafka broker, or a controller, runs on a machine.
func IsBroker(tree host.FS) bool { return len(findBrokers(tree)) > 0 }

// findBrokers finds Kafka's processes. Of all others it reads the command line only.
func findBrokers(tree host.FS) []broker {
	var all []broker
	names, _ := tree.Names("proc") // none: no broker is seen, which is what the caller tells
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid <= 0 {
			continue
		}
		line, err := tree.Text(path.Join("proc", name, "cmdline"))
		if err != nil || !tree.RunsKafka(pid, strings.Split(line, "\x00")) {
			continue
		}
		if p, err := tree.Process(pid); err == nil {
			all = append(all, broker{Process: p, perf: perfFile(tree, p)})
		}
	}
	return all
}

// BrokerMaps returns the memory mappings of the Kafka processes of a machine.
func BrokerMaps(tree host.FS) (all []host.Maps) {
	for _, b := range findBrokers(tree) {
		all = append(all, tree.Maps(b.PID))
	}
	return all
}

// perfFile returns the file in which a JVM publishes its figures; "" for none that may be read.
func perfFile(tree host.FS, p host.Process) string {
	for _, name := range tree.PerfFiles(p.PID) {
		if _, err := readPerf(tree, name, p.UID); err == nil {
			return name
		}
	}
	return ""
}

func readPerf(tree host.FS, name string, uid int) (jvm.Perf, error) {
	b, owner, err := tree.ReadRegular(name, mostPerf)
	if err != nil {
		return jvm.Perf{}, err
	}
	if owner >= 0 && owner != uid {
		return jvm.Perf{}, fmt.Errorf("%s: it belongs to user %d, and the process to user %d", name, owner, uid)
	}
	return jvm.ParsePerf(b)
}

func (w *Watcher) readBrokers(v *host.Vitals, g *growth) {
	for _, b := range w.brokers {
		vitals := host.BrokerVitals{PID: b.PID, Maps: b.maps.Used, MapsLimit: b.maps.Limit}
		if perf, err := readPerf(w.tree, b.perf, b.UID); err == nil {
			vitals.HeapUsed, vitals.HeapMax = perf.HeapUsed, perf.HeapMax
			var count, stopped int64
			for _, c := range perf.Collections {
				count, stopped = count+c.Count, stopped+int64(c.Time)
			}
			// With its start a process's number names it for good.
			grown, _ := g.of(fmt.Sprintf("broker %d %d", b.PID, b.Start), count, stopped)
			vitals.Collections, vitals.GCTime = grown[0], time.Duration(grown[1])
		} else {
			g.note(false)
		}
		v.Brokers = append(v.Brokers, vitals)
	}
}
