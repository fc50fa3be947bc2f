package jvm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/must"
)

func captured(t testing.TB, name string) []byte {
	t.Helper()
	return must.Have(os.ReadFile(filepath.Join("testdata", name+".hsperfdata")))(t)
}

// The figures of jstat -gc are in KiB with one decimal: those wanted here are exact,
// and were compared with its own. -Xmx was 64m.
func TestTheFiguresAreThoseOfJstat(t *testing.T) {
	for name, want := range must.Rows[map[string]Perf](t, "perf") {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePerf(captured(t, name))
			must.Hold(t, err == nil, "ParsePerf(%s) = %v", name, err)
			about := cmpopts.EquateApprox(0, 1) // ticks are converted as floating point
			ignore := cmpopts.IgnoreFields(Perf{}, "Values")
			toFloat := cmp.Transformer("ns", func(d time.Duration) float64 { return float64(d) })
			diff := cmp.Diff(want, got, ignore, toFloat, about)
			must.True(t, diff == "", "ParsePerf(%s) (-want +got):\n%s", name, diff)
		})
	}
}

func TestEveryCounterIsThereByName(t *testing.T) {
	p := must.Have(ParsePerf(captured(t, "g1")))(t)
	for name, want := range map[string]any{
		"sun.gc.policy.name":           "GarbageFirst",
		"java.rt.vmArgs":               "-XX:+UseG1GC -Xms32m -Xmx64m",
		"java.rt.vmFlags":              "", // of no length
		"java.threads.live":            int64(6),
		"sun.gc.collector.1.time":      int64(3870299),
		"java.property.java.vm.vendor": "Debian",
	} {
		must.Match(t, want, p.Values[name], "Values[%q]", name)
	}
	must.Match(t, 187, len(p.Values), "values") // as many as the prologue says
}

// build makes a file as a JVM does, in either byte order.
func build(order binary.ByteOrder, values map[string]any) []byte {
	b := []byte{0xca, 0xfe, 0xc0, 0xc0, 0, 2, 0, 1}
	if order == binary.ByteOrder(binary.LittleEndian) {
		b[4] = 1
	}
	b = append(b, make([]byte, 24)...)
	order.PutUint32(b[24:], 32)
	order.PutUint32(b[28:], uint32(len(values)))
	for name, v := range values {
		dataAt := (20 + len(name) + 1 + 7) / 8 * 8
		e := make([]byte, dataAt)
		copy(e[20:], name)
		switch v := v.(type) {
		case int64:
			e[12] = 'J'
			e = append(e, make([]byte, 8)...)
			order.PutUint64(e[dataAt:], uint64(v))
		case string:
			e[12] = 'B'
			order.PutUint32(e[8:], uint32(len(v)))
			e = append(e, v...)
		}
		order.PutUint32(e, uint32(len(e)))
		order.PutUint32(e[4:], 20)
		order.PutUint32(e[16:], uint32(dataAt))
		b = append(b, e...)
	}
	return b
}

func TestTheOldestVersionsAndTheOtherByteOrder(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
		p, err := ParsePerf(build(order, map[string]any{
			"java.property.java.version":    "1.8.0_382\x00padding",
			"java.property.java.vm.version": "25.382-b05",
			"sun.os.hrt.frequency":          int64(1000),
			"sun.os.hrt.ticks":              int64(90_000),
		}))
		must.True(t, err == nil && p.Version == "1.8.0_382" && p.Uptime == 90*time.Second,
			"ParsePerf in %v = %+v, %v, want 1.8.0_382 for 90 s", order, p, err)
	}
}

func TestAFileThatIsNotToBeReadIsAnError(t *testing.T) {
	good := captured(t, "g1")
	with := func(at int, b ...byte) []byte {
		return append(append(append([]byte(nil), good[:at]...), b...), good[at+len(b):]...)
	}
	for _, row := range []struct {
		says string
		file []byte
		want string
	}{
		{"an empty file", nil, "hsperfdata: not the file of a HotSpot JVM: it does not begin with cafec0c0"},
		{"only the magic", good[:4], "hsperfdata: not the file of a HotSpot JVM: it does not begin with cafec0c0"},
		{"another file", make([]byte, 64), "hsperfdata: not the file of a HotSpot JVM: it does not begin with cafec0c0"},
		{"the format of Java 1.4", with(5, 1), "hsperfdata: version 1.0 of the format is not known, only 2"},
		{"a JVM that begins", with(7, 0), "hsperfdata: the JVM is still starting"},
		{"half a file", good[:5000], "hsperfdata: the entry at byte 4960 cannot have 56 bytes"},
		{"an entry behind the end", with(24, 0, 0, 0, 0x7f), "hsperfdata: the entry at byte 2130706432 is behind the end"},
		{"an entry that is longer than the file", with(32, 0xff, 0xff, 0xff, 0xff), "hsperfdata: the entry at byte 32 cannot have 4294967295 bytes"},
		{"an entry that is shorter than its head", with(32, 8, 0, 0, 0), "hsperfdata: the entry at byte 32 cannot have 8 bytes"},
	} {
		_, err := ParsePerf(row.file)
		must.Match(t, row.want, fmt.Sprint(err), "%s: ParsePerf error", row.says)
	}
	_, err := ParsePerf(with(7, 0))
	must.True(t, errors.Is(err, ErrNotReady), "ParsePerf of a JVM that begins = %v, want ErrNotReady", err)
}

// FuzzParsePerf: whatever the file holds, nothing panics, a name is never longer
// than the file, no string is, and no time is below 0.
func FuzzParsePerf(f *testing.F) {
	for _, name := range []string{"g1", "z", "parallel"} {
		f.Add(captured(f, name))
	}
	f.Add(build(binary.BigEndian, map[string]any{"a": int64(-1), "sun.os.hrt.frequency": int64(1), "sun.os.hrt.ticks": int64(-1), "b": ""}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParsePerf(b)
		if err != nil {
			return
		}
		must.True(t, p.Uptime >= 0 && p.SafepointTime >= 0, "uptime %v, safepoints %v", p.Uptime, p.SafepointTime)
		for name, v := range p.Values {
			s, ok := v.(string)
			must.True(t, len(name)+len(s) <= len(b), "%q (%d bytes, string %t) is longer than the file of %d", name, len(s), ok, len(b))
		}
	})
}
