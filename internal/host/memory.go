package host

import (
	"fmt"
	"strconv"
	"strings"
)

// Memory returns the numbers of proc/meminfo, in bytes: "MemTotal", "MemAvailable", "SwapFree" …
func (f FS) Memory() (map[string]int64, error) {
	text, err := f.Text("proc/meminfo")
	if err != nil {
		return nil, err
	}
	return parseMemory(text)
}

func parseMemory(text string) (map[string]int64, error) {
	all := make(map[string]int64)
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, ":")
		fields := strings.Fields(value)
		if !ok || len(fields) == 0 {
			continue
		}
		n, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("proc/meminfo: %s: %q is no size", name, fields[0])
		}
		if len(fields) > 1 { // "kB", which are KiB; counts have no unit
			n *= 1024
		}
		all[name] = n
	}
	return all, nil
}
