package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/theme"
)

func checkSwappiness(m place) Reading {
	r := m.judge(m.kernel())
	group, found := m.Cgroup.Paths["memory"]
	file := path.Join("sys/fs/cgroup/memory", path.Clean("/"+group), "memory.swappiness")
	own, err := m.Number(file)
	if !found || m.Cgroup.Layout == "v2" || r.Current == "" || err != nil || m.want.Holds(strconv.FormatInt(own, 10)) {
		return r
	}
	r.addNote("the control group's own memory.swappiness, %d, counts instead", own)
	r.Command = fmt.Sprintf("echo %s > /%s", m.want.Target(r.Current), file)
	if r.Verdict == OK {
		r.Verdict = Warn
	}
	return r
}

func checkMaxMapCount(m place) Reading {
	segments := m.segments()
	if segments > 0 {
		m.want = m.want.Floor(3*segments + 65530)
	}
	r := m.kernel()
	r.bad = Warn
	r = m.judge(r)
	limit, err := strconv.ParseFloat(r.Current, 64)
	if err != nil { // it is not known
		return r
	}
	need, how := 2*segments, fmt.Sprintf("%d segments need %d", segments, 2*segments)
	if m.Process != nil {
		if n, err := m.MappedAreas(m.Process.PID); err == nil && int64(n) >= need {
			need, how = int64(n), fmt.Sprintf("%d are in use", n)
		}
	}
	if need > 0 {
		r.addNote("%s", how)
	}
	if float64(need) > 0.8*limit {
		r.Verdict = Fail
		if len(r.Changes) == 0 { // the rule leaves the value alone, or is too low
			r.Command = fmt.Sprintf("sysctl -w vm.max_map_count=%d", max(262144, 3*need/2+65530))
		}
	}
	return r
}

// segments are the log segments in all log directories that could be listed.
func (m *Machine) segments() int64 {
	var n int64
	for _, d := range m.Dirs {
		n += int64(d.Segments)
	}
	return n
}

func checkPageCache(m place) Reading {
	heap := cmp.Or(heapLimit(m.Machine), m.Memory/4) // what a JVM takes that was told nothing
	room := m.Memory - heap - 3<<29
	rate, known := m.writeRate()
	r := Reading{Current: strconv.FormatFloat(float64(room)/rate, 'f', 2, 64), shown: theme.Bytes(max(0, room))}
	switch {
	case m.Memory <= 0:
		return Unreadable("the size of the memory is not known")
	case room < 1<<30:
		if r.rule = m.want; m.want.Leave() { // so little is bad for everyone
			r.rule = Rule{AtLeast, "30"}
		}
		r.Current, r.Note = "0", fmt.Sprintf("the heap may grow to %s of %s", theme.Bytes(heap), theme.Bytes(m.Memory))
	case !known:
		return Reading{Verdict: Unknown, Current: r.shown, Note: "the write rate is not known"}
	case rate < 1:
		r.Note = "nothing is being written"
	default:
		r.Note = fmt.Sprintf("%.0f s at %s/s", float64(room)/rate, theme.Bytes(int64(rate)))
	}
	return r
}

// writeRate is what is written to all disks, in bytes a second: over the interval, or since the machine started.
func (m *Machine) writeRate() (float64, bool) {
	c := countOf(m.Before.VM, m.After.VM, "pgpgout") // KiB
	written, over := c.in(m.Interval > 0), m.Interval.Seconds()
	if over <= 0 {
		text, _ := m.Text("proc/uptime") // "seconds seconds-idle"
		if _, err := fmt.Sscan(text, &over); err != nil {
			return 0, false
		}
	}
	_, before := m.Before.VM["pgpgout"]
	return float64(written) * 1024 / over, c.seen && (before || m.Interval == 0) && written >= 0 && over > 0 && !math.IsInf(over, 0)
}

// dirtyAmount is a rule for an amount of unwritten data, the least of what is set: a "share" of the memory in percent, a
// "size" in bytes, and a "time" of writing at the measured rate in seconds, which is worth at least "min" bytes.
type dirtyAmount map[string]float64

var dirtyTerm = regexp.MustCompile(`^(min)?([0-9.]+)(%|s|GiB|MiB|GB|MB)$`)

// dirtyUnits are the units of a term: what such a term is, and its range.
var dirtyUnits = map[string]struct {
	kind               string
	times, least, most float64
}{
	"%": {"share", 1, 1, 100}, "s": {"time", 1, 1e-3, 3600},
	"MB": {"size", 1e6, 1 << 20, 1 << 50}, "MiB": {"size", 1 << 20, 1 << 20, 1 << 50},
	"GB": {"size", 1e9, 1 << 20, 1 << 50}, "GiB": {"size", 1 << 30, 1 << 20, 1 << 50},
}

// parseDirty reads "5% 400MB 1s" or "60% 30s min8GiB".
func parseDirty(text string) (dirtyAmount, error) {
	a := make(dirtyAmount)
	for term := range strings.FieldsSeq(text) {
		f := append(dirtyTerm.FindStringSubmatch(term), "", "", "", "")
		unit := dirtyUnits[f[3]]
		n, err := strconv.ParseFloat(f[2], 64)
		n *= unit.times
		kind := cmp.Or(f[1], unit.kind)
		switch {
		case err != nil || n < unit.least || n > unit.most || kind == "share" && n != math.Trunc(n) || f[1] != "" && unit.kind != "size":
			return nil, fmt.Errorf("%q: take a whole percent from 1%% to 100%%, seconds up to 3600s, or a size of 1MiB or more as 400MB, 8GB, 400MiB or 8GiB", term)
		case a[kind] > 0:
			return nil, fmt.Errorf("%q: there is a %s already", term, kind)
		}
		a[kind] = n
	}
	switch {
	case a["share"] == 0 && a["size"] == 0:
		return nil, errors.New(`there is no share of the memory ("5%") or size ("400MB"), which counts where no disk was measured`)
	case a["min"] > 0 && a["time"] == 0:
		return nil, errors.New(`"min" is for seconds ("30s"), of which there are none`)
	}
	return a, nil
}

func validDirty(r Rule) error {
	switch _, err := parseDirty(r.Value); {
	case r.Leave():
		return nil
	case r.Op != Equal:
		return fmt.Errorf("%q: name the amount only; whether more or less is as good follows from the setting", r)
	default:
		return err
	}
}

// on is the wanted value with so much memory and a disk of so many bytes a second, 0 for one that was not measured.
func (a dirtyAmount) on(memory, bandwidth int64) dirtyValue {
	v := dirtyValue{int64(a["share"]), "ratio"}
	if size := int64(a["size"]); size > 0 && (v.n == 0 || size < v.of(memory)) {
		v = dirtyValue{size, "bytes"}
	}
	if a["time"] > 0 && bandwidth > 0 {
		// Whole MiB: no two measurements are the same to the byte.
		if b := max(int64(a["time"]*float64(bandwidth))>>20<<20, int64(a["min"]), 1<<20); b < v.of(memory) {
			v = dirtyValue{b, "bytes"}
		}
	}
	return v
}

// dirtyValue is what a pair of files holds: "bytes", or a "ratio" in percent.
type dirtyValue struct {
	n    int64
	unit string
}

// of is the amount in bytes.
func (v dirtyValue) of(memory int64) int64 {
	if v.unit == "bytes" {
		return v.n
	}
	return int64(float64(memory) * float64(v.n) / 100)
}

func (v dirtyValue) String() string {
	return strconv.FormatInt(v.n, 10) + " " + strings.Replace(v.unit, "ratio", "%", 1)
}

// dirtyPair is one value of the kernel in two files, NAME_ratio and NAME_bytes, of which one holds 0. op tells which side of the
// wanted amount is as good.
type dirtyPair struct {
	name string
	op   Op
}

// holds allows for a tenth: measurements differ by as much.
func (p dirtyPair) holds(have, want dirtyValue, memory int64) bool {
	h, w := float64(have.of(memory)), float64(want.of(memory))
	if p.op == AtLeast {
		return h >= 0.9*w
	}
	return h > 0 && h <= 1.1*w
}

func (p dirtyPair) check(m place) Reading {
	percent, err := m.Number(host.SysctlFile(p.name + "_ratio"))
	bytes, missing := m.Number(host.SysctlFile(p.name + "_bytes"))
	if err = cmp.Or(err, missing); err != nil {
		return Denied(err)
	}
	have := dirtyValue{percent, "ratio"}
	if bytes > 0 {
		have = dirtyValue{bytes, "bytes"}
	}
	r := Reading{Verdict: Info, Current: have.String(), Wanted: m.want.String()}
	boot, file := p.persisted(m.Machine)
	if file != "" {
		r.Persisted, r.PersistedIn = boot.String(), file
	}
	if !m.want.Leave() {
		p.judge(m, &r, have, boot)
	}
	return r
}

// judge compares what the pair has now, and after the next boot, with what is wanted.
func (p dirtyPair) judge(m place, r *Reading, have, boot dirtyValue) {
	amount, err := parseDirty(m.want.Value) // loading the profile would have refused a wrong one
	if m.MemTotal <= 0 {
		err = errors.New("the size of the machine's memory is not known")
	}
	if err != nil {
		r.Verdict, r.Note = Unknown, err.Error()
		return
	}
	want := amount.on(m.MemTotal, m.Bandwidth)
	r.Verdict, r.Wanted = Warn, string(p.op)+" "+want.String()
	key := p.name + "_" + want.unit          // writing it sets the other of the pair to 0
	old, _ := m.Number(host.SysctlFile(key)) // check has read both
	change := Sysctl(m.row.ID, key, strconv.FormatInt(old, 10), strconv.FormatInt(want.n, 10))
	change.Pair = otherOfPair(change.Path)
	change.PairOld, _ = m.Text(host.Rel(change.Pair))
	switch {
	case !p.holds(have, want, m.MemTotal):
	case r.PersistedIn != "" && !p.holds(boot, want, m.MemTotal):
		r.Drifts = true
		r.addNote("%s after a reboot: %s", boot, r.PersistedIn)
		change = Change{Setting: m.row.ID, Kind: KeepOnly, Path: r.PersistedIn, Old: boot.String(), New: want.String(), Keep: change.Keep}
	default:
		r.Verdict = OK
		return
	}
	r.Changes = []Change{change}
	p.advise(m, r, want, amount["time"] > 0 && m.Bandwidth <= 0)
}

// advise says what else is to be known of a change.
func (p dirtyPair) advise(m place, r *Reading, want dirtyValue, unmeasured bool) {
	switch {
	case unmeasured && p.op == AtLeast && want.unit == "ratio" && m.MemTotal > 64<<30: // 60 % of it are two minutes of a disk with 300 MB/s
		r.Changes, r.Command = nil, "kt tune --probe --apply"+m.pick
		r.addNote("the rate of the disks is not known: %s of %s would be %s unwritten",
			want, theme.Bytes(m.MemTotal), theme.Bytes(want.of(m.MemTotal)))
		return
	case unmeasured && !r.Drifts:
		r.addNote("kt tune --probe finds a value in bytes")
	}
	if file := r.PersistedIn; file != "" && after(file, SysctlFile) {
		r.addNote("%s is read after %s and wins at the next boot: remove the line there", file, SysctlFile)
	}
}

// persisted is what the pair will be after the next boot, and the file that says so; "" for none.
func (p dirtyPair) persisted(m *Machine) (v dirtyValue, file string) {
	var last host.Sysctl
	for _, s := range slices.Concat(m.Sysctls[p.name+"_ratio"], m.Sysctls[p.name+"_bytes"]) {
		if s.Key == last.Key || last.File == "" || after(s.File, last.File) || s.File == last.File && s.Line > last.Line {
			last = s
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(last.Value), 10, 64)
	if err != nil || n < 0 {
		return v, ""
	}
	return dirtyValue{n, last.Key[len(p.name)+1:]}, last.File
}
