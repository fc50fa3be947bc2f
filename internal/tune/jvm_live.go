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
			ID: "jvm.gc_share", Title: "time in collections", Severity: Warning, Confidence: Folklore,
			Why: "all clients wait while a collection stops the broker",
			Detail: "The share of the JVM's uptime in which a collection stopped it. LinkedIn's busiest cluster had less than one young " +
				"collection a second, nine in ten below 21 ms, which is 2 %. The limits are kt's proposal.",
			Sources: []string{"Kafka documentation, Operations: Java", "kt's proposal"},
			Check:   checkCollectionShare,
		}),
		live(&Setting{
			ID: "jvm.gc_pause", Title: "mean pause of a collection", Severity: Warning, Confidence: Folklore,
			Why: "each pause adds to the latency of all current requests",
			Detail: "The mean of all collections since the JVM started. LinkedIn's 90th percentile was 21 ms with the flags of Kafka's " +
				"documentation. The limits are kt's proposal. A mean hides long pauses: the log of collections has each.",
			Sources: []string{"Kafka documentation, Operations: Java", "kt's proposal"},
			Check:   checkCollectionPause,
		}),
		live(&Setting{
			ID: "jvm.full_gc", Title: "full collections", Severity: Warning, Confidence: Folklore, Want: "=0",
			Why:     "the broker stands still for seconds. G1 cleans the whole heap at once when it cannot keep up",
			Detail:  "Counted since the JVM started. Collections by tools, such as jmap for a heap dump, also count.",
			Sources: []string{"OpenJDK: G1 tuning guide", "kt's proposal"},
			Check:   checkFullCollections,
		}),
		live(&Setting{
			ID: "jvm.heap_live", Title: "use of the old generation", Severity: Warning, Confidence: Folklore, Want: "<=75",
			Why: "collections follow each other when little heap is free",
			Detail: "Amazon MSK advises an alarm when more than 60 % of the heap is in use after a collection. kt reads the present old " +
				"generation, including memory that the next collection will free. So the limit is higher, which is kt's proposal.",
			Sources: []string{"Amazon MSK: best practices (HeapMemoryAfterGC)", "kt's proposal"},
			Check:   checkLiveHeap,
		}),
		live(&Setting{
			ID: "jvm.stopped", Title: "time with all JVM threads stopped", Severity: Informational, Confidence: Folklore, Want: "<=5",
			Why: "the JVM stops all threads, also for reasons other than collections",
			Detail: "The share of the JVM's uptime in safepoints, including those of collections. Much more than jvm.gc_share has other " +
				"causes: heap dumps, thread dumps by agents, biased locks in old versions of Java.",
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
			return Reading{Verdict: Unknown, Note: "the JVM does not report its uptime"}
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
		return Absent("only G1 is meant to run without them")
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
	return Reading{Verdict: Unknown, Note: "this version of Java does not count them separately"}
}

func checkLiveHeap(m *Machine, want Rule) Reading {
	p := m.Process.Perf
	used, most := p.OldUsed, p.OldMax
	if most <= 0 {
		used, most = p.HeapUsed, p.HeapMax
	}
	if most <= 0 {
		return Reading{Verdict: Unknown, Note: "the JVM does not report its maximum heap"}
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
