package tune

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// count is what the kernel counted: over the interval, and since the machine started.
type count struct {
	grew, total int64
	seen        bool
}

// countOf adds up those of some counters that are there.
func countOf(before, after map[string]int64, names ...string) count {
	var c count
	for _, name := range names {
		if total, ok := after[name]; ok {
			c.seen = true
			c.total += total
		}
		if grew, ok := Delta(before, after, name); ok {
			c.grew += grew
		}
	}
	return c
}

// say is "3 connections were dropped in 5s", or since the machine started when the
// interval has seen none.
func (c count) say(m *Machine, what string) string {
	if c.grew > 0 {
		return fmt.Sprintf("%d %s in %s", c.grew, what, m.Interval)
	}
	return fmt.Sprintf("%d %s since boot", c.total, what)
}

// verdict is a warning for what grew over the interval, and a note for what was counted before.
func (c count) verdict() Verdict {
	switch {
	case c.grew > 0:
		return Warn
	case c.total > 0:
		return Info
	}
	return OK
}

// share is what one counter is of another.
type share struct {
	n, of   int64
	seen    bool
	recent  bool // over the interval, not since boot
	percent float64
	when    string
}

// shareOf looks at the interval, or since boot where the second counter grew by less than least.
func (m *Machine) shareOf(before, after map[string]int64, part, whole string, least int64) share {
	a, b := countOf(before, after, part), countOf(before, after, whole)
	s := share{n: a.grew, of: b.grew, seen: a.seen && b.seen, recent: true, when: fmt.Sprintf("in %s", m.Interval)}
	if s.of < least || m.Interval == 0 {
		s = share{n: a.total, of: b.total, seen: s.seen, when: "since boot"}
	}
	s.percent = 100 * float64(s.n) / float64(max(1, s.of))
	return s
}

// sockstat is a figure of all TCP connections in /proc/net/sockstat: "mem".
func sockstat(m *Machine, name string) (int64, error) {
	text, err := m.Text("proc/net/sockstat")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line) // "TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 46"
		if i := slices.Index(f, name); i > 0 && i+1 < len(f) && f[0] == "TCP:" {
			if n, err := strconv.ParseInt(f[i+1], 10, 64); err == nil {
				return n, nil
			}
		}
	}
	return 0, fmt.Errorf("/proc/net/sockstat does not report %s of TCP", name)
}
