package watch

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

// FuzzDisks: whatever the kernel writes, no counter is below 0, no name has a slash in
// it, as none of a folder has, and there are no more disks than lines.
func FuzzDisks(f *testing.F) {
	f.Add("   8       0 sda 100 0 8200 10 100 0 84000 10 0 2500 20 0 0 0 0 0 0\n")
	f.Add("104 0 cciss/c0d0 1 0 8 10 1 0 180 10 0 5 20")
	f.Add("1 2 x 9223372036854775807 1 9223372036854775807 1 1 1 9223372036854775807 1 1 9007199254740992 1\n\n8 0 sda -1")
	f.Fuzz(func(t *testing.T, text string) {
		all := parseDisks(text)
		must.True(t, len(all) <= strings.Count(text, "\n")+1, "%d disks in %q", len(all), text)
		for name, d := range all {
			must.True(t, !strings.Contains(name, "/") && slices.Min(d) >= 0, "%q: %+v in %q", name, d, text)
		}
	})
}

// FuzzLinks: whatever the kernel writes, no counter is below 0, and there are no more
// interfaces than lines.
func FuzzLinks(f *testing.F) {
	f.Add("  eth0:1000000 900 0 1 0 0 0 0 2000000 800 0 2 0 0 0 0\n lo: 1\n")
	f.Add("Inter-|   Receive | Transmit\n face |bytes packets errs\nx: 9223372036854775807 1 1 1 1 1 1 1 9007199254740992 1 1 9007199254740992 1")
	f.Fuzz(func(t *testing.T, text string) {
		all := parseLinks(text)
		must.True(t, len(all) <= strings.Count(text, "\n")+1, "%d interfaces in %q", len(all), text)
		for name, l := range all {
			must.True(t, slices.Min(l) >= 0, "%q: %+v in %q", name, l, text)
		}
	})
}

// FuzzSample: whatever a machine's files say, at one moment and the next, shares are from
// 0 to 1, nothing is below 0, and no more bytes went than were counted.
func FuzzSample(f *testing.F) {
	f.Add("cpu 1 2 3 4 5 6 7 8", "cpu 2 2 4 9 4 6 7 9", "8 0 sda 1 0 8 1 1 0 8 1 0 5 1", "8 0 sda 1 0 9 1 1 0 9 1 0 90005 1", uint32(1000))
	f.Add("cpu 9223372036854775807 9223372036854775807 3", "cpu -1 -2 -3 -4", "", "8 0 sda", uint32(0))
	f.Fuzz(func(t *testing.T, stat, laterStat, disks, laterDisks string, ms uint32) {
		m := &machine{files: fstest.MapFS{}}
		m.put("sys/devices/system/cpu/online", "0-7")
		m.put("sys/block/sda/size", "8")
		m.put("proc/stat", stat)
		m.put("proc/diskstats", disks)
		w := newWatcher(host.NewFS(m.files), func() time.Duration { return m.now }, func() (float64, error) { return 0, nil })
		m.put("proc/stat", laterStat)
		m.put("proc/diskstats", laterDisks)
		m.now = time.Duration(ms) * time.Millisecond
		v := w.Sample(m.now)
		for name, cores := range map[string]float64{"CPU": v.CPU, "steal": v.Steal, "iowait": v.IOWait} {
			must.True(t, cores >= 0 && cores <= v.Cores, "%s: %v of %v cores", name, cores, v.Cores)
		}
		for _, d := range v.Disks {
			must.True(t, d.Busy >= 0 && d.Busy <= 1 && d.Read >= 0 && d.Written >= 0 && d.Read <= sector*append(parseDisks(laterDisks)["sda"], 0)[0],
				"disk %+v", d)
		}
	})
}
