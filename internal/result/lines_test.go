package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/stats"
)

// busy makes up the run of one of several processes on a busy cluster: 5,000 records a
// second to 21 partitions on 3 brokers, whose latency is spread over four octaves.
func busy(seconds int) []canned.Event {
	rng := rand.New(rand.NewPCG(7, 7))
	rec := stats.NewRecorder()
	var events []canned.Event
	spread := func(median time.Duration) time.Duration {
		return time.Duration(math.Exp(rng.NormFloat64()*0.7) * float64(median))
	}
	for s := range seconds {
		start, end := time.Duration(s)*time.Second, time.Duration(s+1)*time.Second
		for i := range 5000 {
			due := start + time.Duration(i)*200*time.Microsecond
			delay, service := spread(300*time.Microsecond), spread(4*time.Millisecond)
			rec.Sent(stats.Measured, 1, due, due, delay, true)
			rec.Acknowledged(stats.Measured, 1, int32(i%21), 1000, service, delay+service, min(end, due+delay+service))
			if i%5 == 0 {
				rec.Broker(stats.Measured, int32(1+i%3)).Request(service, false)
				rec.Broker(stats.Measured, int32(1+i%3)).Batch(5, 5000, 5100)
			}
		}
		taken := rec.Take(new(stats.Phases), stats.Measured, start, end, time.Second)
		events = append(events, canned.Event{Window: &taken[stats.Measured]}, canned.Event{Sample: &host.Sample{At: end, Interval: time.Second, Cores: 4, ProcessCPU: 1}})
	}
	return events
}

// readLines reads all lines.
func readLines(t testing.TB, r io.Reader) (all []Line) {
	t.Helper()
	for l, err := range NewLines(r, 0).All() {
		must.Do(t, err)
		all = append(all, l)
	}
	return all
}

func TestLinesAreReadAsEncodingJSONReadsThem(t *testing.T) {
	for name, events := range map[string][]canned.Event{"written": canned.Written(5, 12), "read": canned.Read(5, 12), "busy": busy(2)} {
		t.Run(name, func(t *testing.T) {
			file := runFile(t, header(120), events, completed)
			got := readLines(t, iotest.HalfReader(bytes.NewReader(file)))
			i := 0
			for text := range bytes.Lines(canned.Text(file)) {
				var want Line
				must.Do(t, json.Unmarshal(text, &want))
				if diff := cmp.Diff(marshal(t, want), marshal(t, got[i])); diff != "" {
					t.Fatalf("line %d (-json +lines):\n%s", i+1, diff)
				}
				plain := want.Window != nil && want.Window.Events == nil && !bytes.Contains(text, []byte(`\`))
				if _, fast := scanWindow(text); fast != plain {
					t.Errorf("line %d is read the fast way: %v, want %v", i+1, fast, plain)
				}
				i++
			}
			must.Match(t, i, len(got), "lines")
		})
	}
}

func TestATornMemberIsPassedOverAtTheEndOnly(t *testing.T) {
	const header, window = `{"header":{"schema":2}}`, `{"window":{"end_ns":5}}`
	head, whole := string(canned.Packed(header)), string(canned.Packed(header+"\n"+window))
	for _, tc := range []struct {
		name, file string
		lines      int
		say        string // "": no error
	}{
		{"whole", whole, 2, ""},
		{"torn", whole[:len(whole)-1], 1, ""},
		{"torn in its frame's head", whole[:len(head)+3], 1, ""},
		{"the first is torn", head[:9], 0, "line 1: "},
		{"torn before another", whole[:len(whole)-9] + head, 1, "line 2: "},
		{"longer than the buffer", head + string(canned.Packed(window[:len(window)-2]+strings.Repeat(" ", 1<<17)+"}}\n"+window)), 3, ""},
		{"zeros behind it", whole + strings.Repeat("\x00", 4096), 2, ""},
		{"zeros and more behind it", whole + strings.Repeat("\x00", 1<<17) + "x", 2, "line 3: "},
		{"nothing", "", 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n, lines := 0, NewLines(strings.NewReader(tc.file), 0)
			for _, err := range lines.All() {
				if err == nil {
					n++
				} else if tc.say == "" || !strings.HasPrefix(err.Error(), tc.say) {
					t.Errorf("the error is %v, want %q", err, tc.say)
				}
			}
			must.Match(t, tc.lines, n, "lines")
		})
	}
}

// BenchmarkReplay reads and folds a run file of ten minutes, as a merge does 200 times.
func BenchmarkReplay(b *testing.B) {
	const seconds = 600
	file := runFile(b, header(5000), busy(seconds), completed)
	for _, bc := range []struct {
		name string
		read func() error
	}{
		{"lines", func() error {
			lines := NewLines(bytes.NewReader(file), 0)
			for {
				if _, err := lines.Next(false); err != nil {
					return err
				}
			}
		}},
		{"fold", func() error {
			_, err := Replay(bytes.NewReader(file))
			return err
		}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				if err := bc.read(); err != nil && !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N)/seconds, "µs/window")
			b.ReportMetric(float64(len(file))/seconds, "B/window")
		})
	}
}
