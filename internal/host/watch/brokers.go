package watch

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

// broker is a process of Kafka's.
type broker struct {
	host.Process
	maps host.Maps // when it was found
}

// IsBroker reports whether a Kafka broker, or a controller, runs on a machine.
func IsBroker(tree host.FS) bool { return len(findBrokers(tree)) > 0 }

// findBrokers finds Kafka's processes. Of programs other than java it reads the command line only.
func findBrokers(tree host.FS) []broker {
	var all []broker
	names, _ := tree.Names("proc") // none: no broker is seen, which is what the caller tells
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid <= 0 {
			continue
		}
		line, err := tree.Text(path.Join("proc", name, "cmdline"))
		if program, _, _ := strings.Cut(line, "\x00"); err != nil || path.Base(program) != "java" {
			continue
		}
		if p, err := tree.Process(pid); err == nil && tree.RunsKafka(pid, p.Args) {
			all = append(all, broker{Process: p})
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

func (w *Watcher) readBrokers(v *host.Vitals, g *growth) {
	for _, b := range w.brokers {
		vitals := host.BrokerVitals{PID: b.PID, Maps: b.maps.Used, MapsLimit: b.maps.Limit}
		if perf, err := w.tree.Perf(b.Process); err == nil {
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
