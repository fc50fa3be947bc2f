package tune

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/theme"
)

const dirtyRule = "The rule is a list of amounts, of which the smallest counts: “5%” of the memory, “400MB”, and “5s”: the writes of the " +
	"slowest log directory in 5 seconds. Seconds count only after kt probe has measured that rate; with “min8GiB” they " +
	"are worth at least 8 GiB. "

func checkDirtyBackground(m *Machine, want Rule) Reading {
	return dirtyPair{"vm.dirty_background", AtMost}.check(m, want)
}

func checkDirtyLimit(m *Machine, want Rule) Reading {
	return dirtyPair{"vm.dirty_limit", AtLeast}.check(m, want)
}

// dirtyAmount is a rule for an amount of unwritten data: the least of what is set.
type dirtyAmount struct {
	percent int64   // of the memory; 0: not set
	bytes   int64   // 0: not set
	seconds float64 // of writing at the measured rate; 0: not set
	floor   int64   // bytes that the seconds are at least
}

// parseDirty reads "5% 400MB 1s" or "60% 30s min8GiB".
func parseDirty(text string) (dirtyAmount, error) {
	var a dirtyAmount
	seen := make(map[string]bool)
	for _, term := range strings.Fields(text) {
		kind, err := a.add(term)
		if err == nil && seen[kind] {
			err = fmt.Errorf("%q: there is a %s already", term, kind)
		}
		if err != nil {
			return dirtyAmount{}, err
		}
		seen[kind] = true
	}
	switch {
	case a.percent == 0 && a.bytes == 0:
		return dirtyAmount{}, errors.New(`there is no share of the memory ("5%") or size ("400MB"), which counts where no disk was measured`)
	case a.floor > 0 && a.seconds == 0:
		return dirtyAmount{}, errors.New(`"min" is for seconds ("30s"), of which there are none`)
	}
	return a, nil
}

// add takes one term and says of which kind it is.
func (a *dirtyAmount) add(term string) (kind string, err error) {
	if text, ok := strings.CutSuffix(term, "%"); ok {
		a.percent, err = strconv.ParseInt(text, 10, 64)
		if err != nil || a.percent < 1 || a.percent > 100 {
			return "", fmt.Errorf("%q: take a whole percent from 1%% to 100%%", term)
		}
		return "share", nil
	}
	if text, ok := strings.CutPrefix(term, "min"); ok {
		a.floor, err = parseDirtySize(text)
		return "min", err
	}
	if text, ok := strings.CutSuffix(term, "s"); ok {
		a.seconds, err = strconv.ParseFloat(text, 64)
		if err != nil || !(a.seconds > 0 && a.seconds <= 3600) {
			return "", fmt.Errorf("%q: take seconds from more than 0s to 3600s", term)
		}
		return "time", nil
	}
	a.bytes, err = parseDirtySize(term)
	return "size", err
}

func parseDirtySize(text string) (int64, error) {
	for _, u := range []struct {
		suffix string
		bytes  float64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"GB", 1e9}, {"MB", 1e6}} {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || !(n*u.bytes >= 1<<20 && n*u.bytes <= 1<<50) {
			break
		}
		return int64(n * u.bytes), nil
	}
	return 0, fmt.Errorf("%q: take a share as 5%%, a time as 5s, or a size of 1MiB or more as 400MB, 8GB, 400MiB or 8GiB", text)
}

func validDirty(r Rule) error {
	if r.Leave() {
		return nil
	}
	if r.Op != Equal {
		return fmt.Errorf("%q: name the amount only; whether more or less is as good follows from the setting", r)
	}
	_, err := parseDirty(r.Value)
	return err
}

// dirtyValue is what such a pair of files holds: bytes, or else a percentage.
type dirtyValue struct{ percent, bytes int64 }

// of is the amount in bytes.
func (v dirtyValue) of(memory int64) int64 {
	if v.bytes > 0 {
		return v.bytes
	}
	return int64(float64(memory) * float64(v.percent) / 100)
}

func (v dirtyValue) String() string {
	if v.bytes > 0 {
		return strconv.FormatInt(v.bytes, 10) + " bytes"
	}
	return strconv.FormatInt(v.percent, 10) + " %"
}

// on is the wanted value on a machine with so much memory and a disk of so many
// bytes a second, 0 for one that was not measured.
func (a dirtyAmount) on(memory, bandwidth int64) dirtyValue {
	v := dirtyValue{percent: a.percent}
	if a.bytes > 0 && (v == dirtyValue{} || a.bytes < v.of(memory)) {
		v = dirtyValue{bytes: a.bytes}
	}
	if a.seconds > 0 && bandwidth > 0 {
		// Whole MiB: no two measurements are the same to the byte.
		b := max(int64(a.seconds*float64(bandwidth))>>20<<20, a.floor, 1<<20)
		if b < v.of(memory) {
			v = dirtyValue{bytes: b}
		}
	}
	return v
}

// dirtyPair is one value of the kernel in two files, of which one holds 0. op tells
// which side of the wanted amount is as good.
type dirtyPair struct {
	id string
	op Op
}

func (p dirtyPair) keys() (ratio, bytes string) {
	prefix := "vm.dirty_"
	if p.id == "vm.dirty_background" {
		prefix = "vm.dirty_background_"
	}
	return prefix + "ratio", prefix + "bytes"
}

// holds allows for a tenth: measurements differ by as much.
func (p dirtyPair) holds(have, want dirtyValue, memory int64) bool {
	h, w := float64(have.of(memory)), float64(want.of(memory))
	if p.op == AtLeast {
		return h >= 0.9*w
	}
	return h > 0 && h <= 1.1*w
}

// now is what the kernel has.
func (p dirtyPair) now(m *Machine) (v dirtyValue, err error) {
	ratio, bytes := p.keys()
	if v.percent, err = m.Number(host.SysctlFile(ratio)); err != nil {
		return dirtyValue{}, err
	}
	v.bytes, err = m.Number(host.SysctlFile(bytes))
	return v, err
}

func (p dirtyPair) check(m *Machine, rule Rule) Reading {
	have, err := p.now(m)
	if err != nil {
		return Denied(err)
	}
	r := Reading{Verdict: Info, Current: have.String(), Wanted: rule.String()}
	persisted, file := p.persisted(m)
	if file != "" {
		r.Persisted, r.PersistedIn = persisted.String(), file
	}
	if rule.Leave() {
		return r
	}
	amount, err := parseDirty(rule.Value)
	switch {
	case err != nil: // loading the profile would have refused it
		r.Verdict, r.Note = Unknown, err.Error()
		return r
	case m.MemTotal <= 0:
		r.Verdict, r.Note = Unknown, "the size of the machine's memory is not known"
		return r
	}
	want := amount.on(m.MemTotal, m.Bandwidth)
	r.Wanted = string(p.op) + " " + want.String()
	change := p.change(have, want)
	blind := p.blind(m, amount, want)
	switch {
	case !p.holds(have, want, m.MemTotal):
		r.Verdict, r.Changes = Warn, []Change{change}
		if amount.seconds > 0 && m.Bandwidth <= 0 && !blind {
			r.Note = "kt tune --probe finds a value in bytes"
		}
	case file != "" && !p.holds(persisted, want, m.MemTotal):
		r.Verdict, r.Drifts = Warn, true
		r.addNote("%s after a reboot: %s", persisted, file)
		r.Changes = []Change{{
			Setting: p.id, Kind: KeepOnly, Path: file, Old: persisted.String(), New: want.String(), Keep: change.Keep,
		}}
	default:
		r.Verdict = OK
	}
	if len(r.Changes) > 0 && blind {
		r.Changes, r.Command = nil, "kt tune --probe --apply"+m.pick
		r.addNote("the rate of the disks is not known: %s of %s would be %s unwritten",
			want, theme.Bytes(m.MemTotal), theme.Bytes(want.of(m.MemTotal)))
	}
	if len(r.Changes) > 0 && file != "" && after(file, SysctlFile) {
		r.addNote("%s is read after %s and wins at the next boot: remove the line there", file, SysctlFile)
	}
	return r
}

// blind tells that the limit would be raised to a share of a large memory, because the
// disks were not measured.
func (p dirtyPair) blind(m *Machine, amount dirtyAmount, want dirtyValue) bool {
	const large = 64 << 30 // bytes, of which 60 % is two minutes of a disk with 300 MB/s
	return p.op == AtLeast && amount.seconds > 0 && m.Bandwidth <= 0 && want.bytes == 0 && m.MemTotal > large
}

// change writes the file that the wanted value belongs in. Writing it sets the other
// to 0, so what was there goes along.
func (p dirtyPair) change(have, want dirtyValue) Change {
	ratio, bytes := p.keys()
	percentText, bytesText := strconv.FormatInt(have.percent, 10), strconv.FormatInt(have.bytes, 10)
	if want.bytes > 0 {
		c := Sysctl(p.id, bytes, bytesText, strconv.FormatInt(want.bytes, 10))
		c.Pair, c.PairOld = "/"+host.SysctlFile(ratio), percentText
		return c
	}
	c := Sysctl(p.id, ratio, percentText, strconv.FormatInt(want.percent, 10))
	c.Pair, c.PairOld = "/"+host.SysctlFile(bytes), bytesText
	return c
}

// persisted is what the pair will be after the next boot, and the file that says so;
// "" when none does, or what it says is no number.
func (p dirtyPair) persisted(m *Machine) (v dirtyValue, file string) {
	ratio, bytes := p.keys()
	var last host.Sysctl
	for _, key := range []string{ratio, bytes} {
		all := m.Sysctls[key]
		if len(all) == 0 {
			continue
		}
		s := all[len(all)-1]
		if last.File == "" || after(s.File, last.File) || s.File == last.File && s.Line > last.Line {
			last = s
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(last.Value), 10, 64)
	if err != nil || n < 0 {
		return dirtyValue{}, ""
	}
	if last.Key == bytes {
		return dirtyValue{bytes: n}, last.File
	}
	return dirtyValue{percent: n}, last.File
}

func checkDirtyWriteback(m *Machine, want Rule) Reading {
	r := numberCheck("vm.dirty_writeback_centisecs", Info, false)(m, want)
	if r.Verdict == OK && r.Current == "0" && !want.Leave() {
		r.Verdict, r.Command = Info, "sysctl -w vm.dirty_writeback_centisecs="+want.Target("")
	}
	return r
}

func checkDirtyLive(m *Machine, want Rule) Reading {
	if m.After.VM == nil {
		return Reading{Verdict: Unknown, Note: "/proc/vmstat could not be read"}
	}
	dirty, seen := m.After.VM["nr_dirty"]
	limit, known := m.After.VM["nr_dirty_threshold"]
	if !seen || !known || limit <= 0 {
		return Absent("this kernel does not report its threshold")
	}
	return judge(100*float64(dirty+m.After.VM["nr_writeback"])/float64(limit), " %", want, Warn)
}
