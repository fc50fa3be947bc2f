package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
)

// Comparison is two probes of the same directories, say before and after tuning.
type Comparison struct {
	Changes  []Change     `json:"changes"`
	Settings []Difference `json:"settings,omitempty"` // that were not the same
	Missing  []string     `json:"missing,omitempty"`  // what only one of the two has
	Notes    []string     `json:"notes,omitempty"`    // why the two may not be fit to be compared
}

// Change is one figure in both probes.
type Change struct {
	Dir    string  `json:"dir"`
	Test   string  `json:"test"`   // or the rows of dd: "dd 8k direct"
	Metric string  `json:"metric"` // "rate", "p99" …
	Unit   string  `json:"unit"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Change float64 `json:"change"` // a share of before; 0 when that is 0
	Effect Effect  `json:"effect"`
}

// Effect is the meaning of a change.
type Effect string

// The effects. A change that one repetition may show as well is Unchanged: a
// tenth of a rate, or twice its variation where that is more, and a quarter of a
// percentile.
const (
	Better    Effect = "better"
	Worse     Effect = "worse"
	Unchanged Effect = "unchanged"
)

// Difference is a setting that was another in the second probe.
type Difference struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Compare returns the changes from one probe to another. Directories belong
// together by their paths; where both have just one, those do. Earlier has refused a report of
// another schema.
func Compare(before, after *Report) (Comparison, error) {
	var c Comparison
	if before.Interrupted {
		c.note("the earlier probe was interrupted: its tests are not complete")
	}
	if before.Mode != after.Mode {
		c.note("before was mode %s, after is %s", before.Mode, after.Mode)
	}
	if before.Machine.Hostname != after.Machine.Hostname {
		c.note("before was on %s, after is on %s", before.Machine.Hostname, after.Machine.Hostname)
	}
	c.differ("kernel", before.Machine.Kernel, after.Machine.Kernel)
	c.differAll("", before.Machine.Writeback, after.Machine.Writeback)
	c.differ("cgroup io", strings.Join(before.Machine.CgroupIO, "; "), strings.Join(after.Machine.CgroupIO, "; "))
	path := func(d Directory) string { return d.Path }
	key := path
	if len(before.Directories) == 1 && len(after.Directories) == 1 { // those two belong together
		if a, b := path(before.Directories[0]), path(after.Directories[0]); a != b {
			c.note("before was %s, after is %s", a, b)
		}
		key = func(Directory) string { return "" }
	}
	pairs := match(&c, before.Directories, after.Directories, key, path)
	for _, p := range pairs {
		c.directory(p[0], p[1])
	}
	if len(pairs) == 0 {
		return c, errors.New("compare: the probes have no directory in common: probe the same directories")
	}
	return c, nil
}

// Earlier reads a report that kt wrote as JSON. It refuses other texts, other schemas, and reports
// that lack something that Compare needs.
func Earlier(text []byte) (*Report, error) {
	var r Report
	refuse := func(format string, a ...any) (*Report, error) {
		return nil, fmt.Errorf("read an earlier probe: %w: give a file from kt probe --output json", fmt.Errorf(format, a...))
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return refuse("%w", err)
	}
	if r.Schema != Schema {
		return refuse("its schema is %d, this kt knows %d", r.Schema, Schema)
	}
	if _, ok := timings(r.Mode); !ok || r.Mode == "" {
		return refuse("its mode %q is none of quick, standard, soak and live", r.Mode)
	}
	if len(r.Directories) == 0 {
		return refuse("it has no directories")
	}
	if i := slices.IndexFunc(r.Directories, func(d Directory) bool { return d.Path == "" }); i >= 0 {
		return refuse("directory %d has no path", i+1)
	}
	return &r, nil
}

// Comparable checks, before anything is measured, that a probe of these directories can be
// compared with an earlier one. Its error is that of Compare.
func Comparable(before *Report, dirs []string) error {
	after := new(Report)
	for _, dir := range dirs {
		after.Directories = append(after.Directories, Directory{Path: dir})
	}
	_, err := Compare(before, after)
	return err
}

// match returns what has the same key in both, and notes by name what only one of them has.
func match[T any](c *Comparison, before, after []T, key, name func(T) string) (pairs [][2]T) {
	find := func(all []T, one T) int { return slices.IndexFunc(all, func(o T) bool { return key(o) == key(one) }) }
	miss := func(what string) {
		if !slices.Contains(c.Missing, what) {
			c.Missing = append(c.Missing, what)
		}
	}
	for _, a := range after {
		if i := find(before, a); i >= 0 {
			pairs = append(pairs, [2]T{before[i], a})
		} else {
			miss(name(a) + ": only after")
		}
	}
	for _, b := range before {
		if find(after, b) < 0 {
			miss(name(b) + ": only before")
		}
	}
	return pairs
}

func (c *Comparison) note(format string, a ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, a...))
}

func (c *Comparison) directory(before, after Directory) {
	c.differAll(after.Path+" ", settings(before), settings(after))
	if before.SizeBytes != after.SizeBytes {
		c.note("%s: before filled %s, after %s", after.Path, theme.Bytes(before.SizeBytes), theme.Bytes(after.SizeBytes))
	}
	for _, f := range match(c, figures(before), figures(after),
		func(f figure) string { return f.test + " " + f.metric }, func(f figure) string { return after.Path + " " + f.test }) {
		c.Changes = append(c.Changes, f[0].to(after.Path, f[1]))
	}
}

// settings returns the settings that a directory's figures depend on.
func settings(d Directory) map[string]string {
	options := slices.Sorted(slices.Values(d.Options))
	out := map[string]string{"file system": d.FileSystem, "mount options": strings.Join(options, ","), "device": d.Device}
	for _, disk := range d.Disks {
		out[disk.Name+" scheduler"] = disk.Scheduler
		out[disk.Name+" read_ahead_kb"] = fmt.Sprint(disk.ReadAheadKB)
		out[disk.Name+" nr_requests"] = fmt.Sprint(disk.Requests)
		out[disk.Name+" write_cache"] = disk.WriteCache
	}
	return out
}

func (c *Comparison) differAll(prefix string, before, after map[string]string) {
	names := slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		c.differ(prefix+name, before[name], after[name])
	}
}

func (c *Comparison) differ(name, before, after string) {
	if before != after {
		c.Settings = append(c.Settings, Difference{name, before, after})
	}
}

// figure is one number of a probe that can be compared.
type figure struct {
	test, metric, unit string
	value              float64
	higher             bool    // is better
	tolerance          float64 // the share by which it may change for no reason
}

const (
	rateTolerance    = 0.10
	latencyTolerance = 0.25
)

// figures returns the figures of a directory, in the order of its report.
func figures(d Directory) []figure {
	var out []figure
	for _, r := range d.Results {
		tolerance := max(rateTolerance, 2*r.Spread.CV)
		switch {
		case r.Append != nil:
			out = append(out,
				figure{r.Test, "sustained", "MiB/s", r.Append.SustainedMiBPerSecond, true, tolerance},
				figure{r.Test, "burst", "MiB/s", r.Append.BurstMiBPerSecond, true, latencyTolerance})
		case r.Test == testSync || r.Test == partSyncEtcd || r.Test == testCommit || r.Test == testMixed:
		default:
			out = append(out, figure{r.Test, "rate", "MiB/s", r.MiBPerSecond, true, tolerance})
		}
		if r.Read != nil {
			out = append(out, figure{r.Test, "read", "MiB/s", *r.Read, true, latencyTolerance})
		}
		out = append(out,
			figure{r.Test, "p50", "us", r.Latency.P50, false, latencyTolerance},
			figure{r.Test, "p99", "us", r.Latency.P99, false, latencyTolerance},
			figure{r.Test, "p99.9", "us", r.Latency.P999, false, latencyTolerance})
	}
	for _, row := range d.DD {
		name := "dd " + ddSize(row.Block)
		if row.Direct {
			name += " direct"
		}
		out = append(out, figure{name, "rate", "MB/s", row.MBPerSecond, true, rateTolerance})
	}
	return out
}

// to returns the change from one figure to a later one.
func (f figure) to(dir string, later figure) Change {
	c := Change{Dir: dir, Test: f.test, Metric: f.metric, Unit: f.unit, Before: f.value, After: later.value, Effect: Unchanged}
	if f.value == 0 {
		return c
	}
	c.Change = later.value/f.value - 1
	switch {
	case math.Abs(c.Change) <= max(f.tolerance, later.tolerance):
	case c.Change > 0 == f.higher:
		c.Effect = Better
	default:
		c.Effect = Worse
	}
	return c
}
