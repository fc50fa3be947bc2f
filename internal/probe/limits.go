package probe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// near is how close to a known limit a rate must be for the limit to be named.
const near = 0.1

// nameLimit says which limit a rate of writes was at, as far as one is known; "":
// none. numbers are those of the device and of the disks below, as "8:0".
func nameLimit(rate float64, cgroup []string, numbers []string, disks []Disk) string {
	for _, line := range cgroup {
		if limit, ok := writeLimit(line, numbers); ok && math.Abs(rate/limit-1) <= near {
			return fmt.Sprintf("that is the limit of kt's cgroup, %s MiB/s (%s)", short(limit), line)
		}
	}
	for _, d := range disks {
		if !strings.Contains(d.Model, "Elastic Block Store") {
			continue
		}
		for _, known := range []struct {
			rate float64
			what string
		}{
			{125, "an EBS gp3 volume without extras"},
			{250, "an EBS gp2 volume of 334 GiB or more"},
		} {
			if math.Abs(rate/known.rate-1) <= near/2 {
				return fmt.Sprintf("that is the limit of %s, %.0f MiB/s", known.what, known.rate)
			}
		}
	}
	return ""
}

// writeLimit reads a line of io.max, "8:0 rbps=max wbps=1048576", or of version
// 1's throttle of writes, "8:0 1048576", in MiB/s.
func writeLimit(line string, numbers []string) (float64, bool) {
	fields := strings.Fields(line)
	for i, field := range fields {
		if slices.Contains(numbers, field) {
			return firstLimit(fields[i+1:])
		}
	}
	return 0, false
}

// firstLimit is the bytes a second of writes among what follows a device's number.
func firstLimit(fields []string) (float64, bool) {
	for _, field := range fields {
		name, value, named := strings.Cut(field, "=")
		switch {
		case !named:
			value = field
		case name != "wbps":
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		return n / mib, err == nil && n > 0
	}
	return 0, false
}
