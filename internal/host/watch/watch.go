// Package watch measures how busy a whole machine is, second by second.
//
//	w := watch.New(host.System())
//	...
//	v := w.Sample(time.Since(start))
//	fmt.Printf("%.1f of %.0f cores, of which the hypervisor stole %.1f\n", v.CPU, v.Cores, v.Steal)
//
// It reads the kernel's files and those that Kafka's JVMs publish, so it disturbs no process. A
// source that cannot be read is 0 and counted in Unread; on other systems than Linux that is
// nearly every source.
package watch

import (
	"fmt"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

// findEvery is the time after which a Watcher looks again for disks, interfaces and brokers, by a file of every process.
const findEvery = 10 * time.Second

// Watcher measures how busy a machine is from one Sample to the next. It is not safe for
// concurrent use.
type Watcher struct {
	Light bool // leaves out what JVMs say of themselves, which takes most of the time of a Sample

	tree  host.FS
	clock func() time.Duration
	own   func() (float64, error) // CPU time of this process, in seconds

	found  time.Duration // when it looked for them
	growth host.Growth

	cores   int
	disks   []string
	links   []link
	brokers []broker
}

// New begins to watch the machine whose files are in tree.
func New(tree host.FS) *Watcher {
	begun := time.Now()
	return newWatcher(tree, func() time.Duration { return time.Since(begun) }, host.ProcessCPU)
}

func newWatcher(tree host.FS, clock func() time.Duration, own func() (float64, error)) *Watcher {
	w := &Watcher{tree: tree, clock: clock, own: own}
	now := clock()
	w.find(now)
	w.read(now) // the first Sample is compared with it
	return w
}

// Sample returns the use of the machine since the Sample before, or since New. at, from the start
// of the run, is its label; its rates are over the time that really passed.
func (w *Watcher) Sample(at time.Duration) host.Vitals {
	now := w.clock()
	if now-w.found >= findEvery {
		w.find(now)
	}
	v := w.read(now)
	v.At = at
	return v
}

// find finds the devices and processes to watch.
func (w *Watcher) find(now time.Duration) {
	w.found = now
	w.cores, _ = w.tree.OnlineCPUs() // 0 counts as unread in each Sample
	w.disks = wholeDisks(w.tree)
	w.links = findLinks(w.tree)
	all, _ := w.tree.Brokers()
	w.brokers = nil
	for _, p := range all {
		version := w.tree.KafkaVersion(p.Args, func(folder string) string {
			if w.tree.OtherMounts(p.PID) {
				folder = fmt.Sprintf("proc/%d/root%s", p.PID, folder)
			}
			return host.Rel(folder)
		})
		w.brokers = append(w.brokers, broker{p, w.tree.Maps(p.PID), version, w.tree.LogSystems(p.PID)})
	}
}

// read makes a Sample of an interval that ends now.
func (w *Watcher) read(now time.Duration) host.Vitals {
	v := host.Vitals{Interval: w.growth.Next(now)}
	w.readCPU(&v)
	memory, _ := w.tree.Memory() // none on an error
	w.growth.Note(memory["MemTotal"] > 0)
	v.Memory, v.Free, v.Cache, v.Dirty = memory["MemTotal"], memory["MemAvailable"], memory["Cached"], memory["Dirty"]+memory["Writeback"]
	v.DirtyLimit, v.FlushAge = w.tree.Flushing()
	w.readHeat(&v)
	w.readDisks(&v)
	w.readLinks(&v)
	w.readBrokers(&v)
	v.Unread = w.growth.Unread
	return v
}

func (w *Watcher) readCPU(v *host.Vitals) {
	v.Cores = float64(w.cores)
	w.growth.Note(w.cores > 0)
	if seconds, err := w.own(); err != nil {
		w.growth.Note(false)
	} else if used, _ := w.growth.Of("agent", int64(seconds*float64(time.Second))); w.growth.Interval > 0 {
		v.Agent = float64(used[0]) / float64(w.growth.Interval)
	}

	times := w.tree.CPUTimes()
	if times == nil {
		w.growth.Note(false)
		return
	}
	grown, ok := w.growth.Of("cpu", times["total"], times["total"]-times["idle"]-times["iowait"], times["steal"])
	// By itself, for the kernel says of it that it may fall.
	waited, _ := w.growth.Of("iowait", times["iowait"])
	total, busy, steal := grown[0], grown[1], grown[2]
	if total == 0 {
		w.growth.Note(!ok) // CPUs whose time does not advance are not idle ones
		return
	}
	// The kernel's time is the measure, not the clock's: so no share is above 1, and
	// nobody has to know how long a jiffy is.
	cores := func(jiffies int64) float64 { return min(1, float64(jiffies)/float64(total)) * v.Cores }
	v.CPU, v.Steal, v.IOWait = cores(busy), cores(steal), cores(waited[0])
}

// readHeat counts on where CPUs report that they were too hot: those of Intel, but for virtual ones.
func (w *Watcher) readHeat(v *host.Vitals) {
	for _, file := range w.tree.Glob("sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count") {
		if n, err := w.tree.Number(file); err == nil {
			grown, _ := w.growth.Of(file, n)
			v.Hot += grown[0]
		}
	}
}

// broker is a process of Kafka's.
type broker struct {
	host.Process
	maps    host.Maps // when it was found, as the rest
	version string
	systems string
}

// IsBroker reports whether a Kafka broker, or a controller, runs on a machine.
func IsBroker(tree host.FS) bool {
	all, _ := tree.Brokers() // none: no broker is seen, which is what the caller tells
	return len(all) > 0
}

func (w *Watcher) readBrokers(v *host.Vitals) {
	for _, b := range w.brokers {
		vitals := host.BrokerVitals{PID: b.PID, Version: b.version, FileSystems: b.systems, Maps: b.maps.Used, MapsLimit: b.maps.Limit}
		if w.Light {
			v.Brokers = append(v.Brokers, vitals)
			continue
		}
		if perf, err := w.tree.Perf(b.Process); err == nil {
			vitals.HeapUsed, vitals.HeapMax = perf.HeapUsed, perf.HeapMax
			var count, stopped int64
			for _, c := range perf.Collections {
				count, stopped = count+c.Count, stopped+int64(c.Time)
			}
			// With its start a process's number names it for good.
			grown, _ := w.growth.Of(fmt.Sprintf("broker %d %d", b.PID, b.Start), count, stopped)
			vitals.Collections, vitals.GCTime = grown[0], time.Duration(grown[1])
		} else {
			w.growth.Note(false)
		}
		v.Brokers = append(v.Brokers, vitals)
	}
}
