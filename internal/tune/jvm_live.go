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

// settled is how long a JVM must have run before its averages mean anything.
const settled = time.Minute

// ofPerf is a check that needs the figures of a JVM that has run for a while.
func ofPerf(f check) check {
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
		return f(m, want)
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
