package tune

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// filesWanted is the limit of open files that a broker needs here: what the profile
// says, or more for its segments and connections.
func (m *Machine) filesWanted() int64 {
	var n int64
	if m.Profile != nil {
		v, _ := strconv.ParseFloat(m.Profile.Rule(rowOf("limits.nofile")).Value, 64) // a rule that leaves it alone wants nothing
		n = int64(v)
	}
	connections, err := strconv.ParseInt(strings.TrimSpace(m.Config.Get("max.connections", "0")), 10, 64)
	if err != nil || connections < 0 || connections >= math.MaxInt32 { // Kafka's word for unlimited
		connections = 0
	}
	if need := m.segments()*9/2 + 2*connections + 10000; m.segments()+connections > 0 {
		n = max(n, need)
	}
	return n
}

// limitOf is a resource limit of the broker, or a reading that says why there is none.
func (m *Machine) limitOf(name string) (host.Limit, *Reading) {
	if m.Process == nil {
		r := Absent("no broker runs here")
		return host.Limit{}, &r
	}
	all, err := m.Limits(m.Process.PID)
	if err == nil {
		l, ok := all[name]
		if ok {
			return l, nil
		}
		err = fmt.Errorf("/proc/%d/limits has no %q", m.Process.PID, name)
	}
	r := Denied(err)
	return host.Limit{}, &r
}

// countable is a limit as a number to compare: unlimited is the largest.
func countable(limit int64) int64 {
	if limit < 0 {
		return math.MaxInt64
	}
	return limit
}

// compareLimit is the reading of a limit.
func compareLimit(limit int64, want Rule, bad Verdict) Reading {
	r := Compare(strconv.FormatInt(countable(limit), 10), want, bad)
	r.Current = limitText(limit)
	return r
}

func checkNofile(m *Machine, want Rule) Reading {
	if !want.Leave() {
		want = want.Floor(m.filesWanted())
	}
	if m.Process == nil {
		return m.unitNofile(want)
	}
	l, missing := m.limitOf(openFilesLimit)
	if missing != nil {
		return *missing
	}
	soft := countable(l.Soft)
	r := nofileVerdict(m, l.Soft, want)
	m.persistNofile(&r, want)
	target, err := strconv.ParseInt(want.Target(strconv.FormatInt(soft, 10)), 10, 64)
	if want.Leave() || r.Verdict == OK || err != nil || want.Holds(strconv.FormatInt(soft, 10)) {
		return r
	}
	c := Change{
		Setting: "limits.nofile", Kind: Prlimit, Path: fmt.Sprintf("/proc/%d/limits", m.Process.PID),
		Old: limitText(l.Soft) + " " + limitText(l.Hard),
		New: limitText(target) + " " + limitText(l.Hard),
		PID: m.Process.PID, Start: m.Process.Start,
	}
	if target > countable(l.Hard) {
		c.New = limitText(target) + " " + limitText(target)
	}
	c.Keep, c.Advice = m.keepNofile(target, soft)
	r.Changes = []Change{c}
	return r
}

// nofileVerdict judges a limit of open files.
func nofileVerdict(m *Machine, limit int64, want Rule) Reading {
	n := countable(limit)
	r := compareLimit(limit, want, Info)
	switch need := 3 * m.segments(); {
	case n < need:
		r.Verdict = Fail
		r.Note = fmt.Sprintf("%d segments in the log directories need %d", m.segments(), need)
	case n < 16384:
		r.Verdict = Fail
	case r.Verdict == Info && n < 100000 && !want.Leave():
		r.Verdict = Warn
	}
	return r
}

// brokerContained reports whether the broker runs in a container, whose runtime sets its
// limits.
func (m *Machine) brokerContained() bool {
	if m.Container != "" {
		return true
	}
	for _, group := range m.Cgroup.Paths {
		for _, mark := range []string{"docker", "libpod", "kubepods", "containerd", "/lxc"} {
			if strings.Contains(group, mark) {
				return true
			}
		}
	}
	return false
}

// keepNofile is where the broker will find its limit of n when it starts the next time,
// as far as fs.nr_open allows it; nothing where that is no more than it has.
func (m *Machine) keepNofile(n, has int64) (keep []Line, advice string) {
	if m.brokerContained() {
		return nil, fmt.Sprintf("the broker runs in a container: start it with --ulimit nofile=%d, or set the limit in the runtime's own configuration", n)
	}
	allowed := m.allowedNofile(n)
	unit := m.Process.Unit
	if isService(unit) {
		advice = "systemctl daemon-reload, for it to count at the next start of " + unit
		keep = []Line{unitLine(unit, allowed)}
		text, _ := m.unitLimit(unit)
		if later, ok := limitOption(text); ok {
			has = later
		}
	} else {
		advice = "it counts from the next login of the user that starts the broker; a service of systemd does not read it"
		who := m.userName(m.Process.UID)
		for _, kind := range []string{"soft", "hard"} {
			keep = append(keep, Line{File: LimitsFile, Text: fmt.Sprintf("%s %s nofile %d", who, kind, allowed)})
		}
	}
	if allowed < n && allowed <= has {
		return nil, m.capAdvice(n, "nothing is kept")
	}
	return keep, m.capAdvice(n, advice)
}

// userName is a user as limits.conf(5) names one: by name, or as the range of
// a single ID.
func (m *Machine) userName(uid int) string {
	text, _ := m.Text("etc/passwd") // without it there is the number
	id := strconv.Itoa(uid)
	for line := range strings.Lines(text) {
		f := strings.Split(line, ":")
		// A name that could be read as something else in that file is not taken.
		if len(f) >= 3 && f[2] == id && f[0] != "" && !strings.ContainsAny(f[0], " \t#*%@:\"") {
			return f[0]
		}
	}
	return id + ":" + id
}

func checkNofileClient(m *Machine, want Rule) Reading {
	all, err := m.Limits(0)
	if err != nil {
		return Denied(err)
	}
	l, ok := all[openFilesLimit]
	if !ok {
		return Reading{Verdict: Unknown, Note: "/proc/self/limits does not report it"}
	}
	r := compareLimit(l.Hard, want, Warn)
	if r.Verdict == Warn {
		r.Command = "ulimit -Hn " + want.Target(r.Current) + " as root, in the shell that starts kt"
	}
	return r
}
