package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host/jvm"
	"github.com/kt-bench/kt/internal/theme"
)

func liveSettings() []*Setting {
	live := func(s *Setting) *Setting {
		s.Group, s.Roles, s.Reads = JVM, []Role{Broker, Controller}, []string{"/tmp/hsperfdata_USER/PID"}
		s.Check = ofJVM(ofPerf(s.Check))
		return s
	}
	return []*Setting{
		live(&Setting{
			ID: "jvm.gc_share", Title: "time spent in collections", Severity: Warning, Confidence: Folklore,
			Why:     "while a collection stops the broker, all of its clients wait",
			Detail:  "The share of the time since the JVM started in which a collection stopped it. LinkedIn's busiest cluster had less than one young collection a second with nine in ten below 21 ms, which is 2 %; the bounds are kt's proposal.",
			Sources: []string{"Kafka documentation, Operations: Java", "kt's proposal"},
			Check:   checkCollectionShare,
		}),
		live(&Setting{
			ID: "jvm.gc_pause", Title: "the mean pause of a collection", Severity: Warning, Confidence: Folklore,
			Why:     "each pause adds to the latency of everything that is under way",
			Detail:  "Of all collections since the JVM started. LinkedIn's ninth decile was 21 ms with the flags that Kafka's documentation shows; the bounds are kt's proposal. Long pauses hide in a mean: the log of collections has each.",
			Sources: []string{"Kafka documentation, Operations: Java", "kt's proposal"},
			Check:   checkCollectionPause,
		}),
		live(&Setting{
			ID: "jvm.full_gc", Title: "full collections", Severity: Warning, Confidence: Folklore, Want: "=0",
			Why:     "G1 falls back to cleaning the whole heap at once when it cannot keep up: the broker stands still for seconds",
			Detail:  "Since the JVM started. Tools that ask for a collection, such as jmap for a heap dump, count here too.",
			Sources: []string{"OpenJDK: G1 tuning guide", "kt's proposal"},
			Check:   checkFullCollections,
		}),
		live(&Setting{
			ID: "jvm.heap_live", Title: "how full the old part of the heap is", Severity: Warning, Confidence: Folklore, Want: "<=75",
			Why:     "when little of the heap is free, collections follow each other",
			Detail:  "Amazon MSK advises an alarm when more than 60 % of the heap is in use after a collection. What is read here is the old part at this moment, with what the next collection will free, so the bound is higher; that is kt's proposal.",
			Sources: []string{"Amazon MSK: best practices (HeapMemoryAfterGC)", "kt's proposal"},
			Check:   checkLiveHeap,
		}),
		live(&Setting{
			ID: "jvm.stopped", Title: "time in which the JVM stood still", Severity: Informational, Confidence: Folklore, Want: "<=5",
			Why:     "the JVM stops all threads for other reasons than collections too",
			Detail:  "The share of the time since the start in safepoints, those of collections among them. Much more than jvm.gc_share points at something else: heap dumps, thread dumps by agents, biased locks in old versions of Java.",
			Sources: []string{"kt's proposal"},
			Check:   checkStopped,
		}),
	}
}

// settled is how long a JVM must have run before its averages mean anything.
const settled = time.Minute

// ofPerf is a check that needs the figures of a JVM that has run for a while.
func ofPerf(check func(*Machine, Rule) Reading) func(*Machine, Rule) Reading {
	return func(m *Machine, want Rule) Reading {
		p := m.Process
		switch {
		case errors.Is(p.PerfErr, fs.ErrNotExist):
			return Reading{Verdict: Unknown, Note: "the JVM publishes no figures: -XX:-UsePerfData or -XX:+PerfDisableSharedMem"}
		case p.PerfErr != nil:
			return Denied(p.PerfErr)
		case p.Perf.Uptime <= 0:
			return Reading{Verdict: Unknown, Note: "the JVM does not tell for how long it has run"}
		}
		return check(m, want)
	}
}

// justStarted is the reading of a JVM that has not run for long enough.
func justStarted(p jvm.Perf) (Reading, bool) {
	if p.Uptime >= settled {
		return Reading{}, false
	}
	n, _ := collections(p)
	return Reading{Verdict: Unknown, Note: fmt.Sprintf("%d collections in the %.0f s since the JVM started: ask again after a minute", n, p.Uptime.Seconds())}, true
}

// collections are the collections since the JVM started.
func collections(p jvm.Perf) (n int64, stopped time.Duration) {
	for _, c := range p.Collections {
		n, stopped = n+c.Count, stopped+c.Time
	}
	return n, stopped
}

func checkCollectionShare(m *Machine, want Rule) Reading {
	p := m.Process.Perf
	if r, is := justStarted(p); is {
		return r
	}
	if len(p.Collections) == 0 {
		return Reading{Verdict: Unknown, Note: "the JVM names no collector"}
	}
	n, stopped := collections(p)
	r := measured(100*stopped.Seconds()/p.Uptime.Seconds(), 2, "%", want, Warn)
	r.Note = fmt.Sprintf("%d collections in %s", n, p.Uptime.Round(time.Second))
	return r
}

func checkCollectionPause(m *Machine, want Rule) Reading {
	n, stopped := collections(m.Process.Perf)
	if n <= 0 {
		return Absent("there was no collection yet")
	}
	return measured(float64(stopped)/float64(n)/float64(time.Millisecond), 1, "ms", want, Warn)
}

func checkFullCollections(m *Machine, want Rule) Reading {
	if name, _ := collector(m); name != "G1" {
		return Absent("only G1 means to do without")
	}
	for _, c := range m.Process.Perf.Collections {
		if !strings.Contains(strings.ToLower(c.Name), "full") {
			continue
		}
		r := Compare(strconv.FormatInt(c.Count, 10), want, Warn)
		if c.Count > 0 {
			r.Note = fmt.Sprintf("%s each on average", (c.Time / time.Duration(c.Count)).Round(time.Millisecond))
		}
		return r
	}
	return Reading{Verdict: Unknown, Note: "this version of Java does not count them apart"}
}

func checkLiveHeap(m *Machine, want Rule) Reading {
	p := m.Process.Perf
	used, most := p.OldUsed, p.OldMax
	if most <= 0 {
		used, most = p.HeapUsed, p.HeapMax
	}
	if most <= 0 {
		return Reading{Verdict: Unknown, Note: "the JVM does not tell how large its heap may grow"}
	}
	r := measured(100*float64(used)/float64(most), 0, "%", want, Warn)
	r.Note = fmt.Sprintf("%s of %s", theme.Bytes(used), theme.Bytes(most))
	return r
}

func checkStopped(m *Machine, want Rule) Reading {
	p := m.Process.Perf
	if r, is := justStarted(p); is {
		return r
	}
	return measured(100*p.SafepointTime.Seconds()/p.Uptime.Seconds(), 2, "%", want, Info)
}
