package probe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
)

// near is how close to a known limit a rate must be for the limit to be named.
const near = 0.1

// rated is a figure that a limit may have held down.
type rated struct {
	limit string  // as io.max calls it: "wbps", "wiops", "rbps", "riops"
	value float64 // bytes or operations a second
}

// limited are the figures of a result that a limit of a group or a cloud would hold
// down.
func (r *Result) limited() []rated {
	operations := 0.0
	if r.Seconds > 0 {
		operations = float64(r.Operations) / r.Seconds
	}
	switch {
	case r.Test == testWrite:
		return []rated{{"wbps", r.MiBPerSecond * mib}, {"wiops", operations}}
	case r.Append != nil && r.Append.Limited:
		return []rated{{"wbps", r.Append.SustainedMiBPerSecond * mib}}
	case r.Test == testRead, r.Test == partReadInterleaved:
		return []rated{{"rbps", r.MiBPerSecond * mib}, {"riops", operations}}
	}
	return nil
}

// nameLimit says which limit a figure was at, as far as one is known; "": none.
// numbers are those of the device and of the disks below, as "8:0".
func nameLimit(f rated, cgroup []string, numbers []string, disks []Disk) string {
	for _, line := range cgroup {
		limit, ok := limitIn(line, f.limit, numbers)
		if !ok || math.Abs(f.value/limit-1) > near {
			continue
		}
		text := theme.Amount(limit/mib) + " MiB/s"
		if strings.HasSuffix(f.limit, "iops") {
			text = theme.Amount(limit) + " operations a second"
		}
		return fmt.Sprintf("this is the limit of kt's control group, %s (%s)", text, line)
	}
	if f.limit != "wbps" {
		return ""
	}
	for _, d := range disks {
		if !strings.Contains(d.Model, "Elastic Block Store") {
			continue
		}
		for _, known := range []struct {
			rate float64 // MiB/s
			what string
		}{
			{125, "an EBS gp3 volume at its base rate"},
			{250, "an EBS gp2 volume of 334 GiB or more"},
		} {
			if math.Abs(f.value/mib/known.rate-1) <= near/2 {
				return fmt.Sprintf("this is the limit of %s, %.0f MiB/s", known.what, known.rate)
			}
		}
	}
	return ""
}

// limitIn finds a limit by its name in a line of io.max: the number of a device,
// then its limits, "8:0 rbps=max wbps=1048576". It is not ok when the line is about
// another device or sets no such limit.
func limitIn(line, name string, numbers []string) (float64, bool) {
	fields := strings.Fields(line)
	if len(fields) == 0 || !slices.Contains(numbers, fields[0]) {
		return 0, false
	}
	for _, field := range fields[1:] {
		if value, ok := strings.CutPrefix(field, name+"="); ok {
			n, err := strconv.ParseFloat(value, 64) // not of "max"
			return n, err == nil && n > 0
		}
	}
	return 0, false
}

// limitsOn are the lines of io.max that are about a device which is probed.
func limitsOn(places []*place, lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		number, _, _ := strings.Cut(line, " ")
		return !slices.ContainsFunc(places, func(p *place) bool { return slices.Contains(p.numbers, number) })
	})
}
