package merge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// noon is when parts of tests agree to start, by the coordinator's clock.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// partFile is the run file of a part.
type partFile struct {
	run, epoch, host string
	process          int
	id               string        // "": of host and process
	plan             plan.Plan     // zero: as header has it
	late             time.Duration // after noon
	alone            bool          // with a start by its own clock
	whole            bool          // without a Part
	roster           []result.Member
	events           []canned.Event
	vitals           []host.Vitals
	trailer          result.Trailer // zero: the file has no end
	change           func(*result.Header)
}

func (p partFile) bytes(t testing.TB) []byte {
	t.Helper()
	h := header(1000)
	h.RunID = p.id
	if p.id == "" {
		h.RunID = fmt.Sprintf("%s-%d", p.host, p.process)
	}
	if p.plan.Command != "" {
		h.Plan = p.plan
	}
	h.StartedAt = noon.Add(p.late)
	h.Environment.Host.Hostname = p.host
	if !p.whole {
		h.Part = &result.Part{Run: p.run, Epoch: p.epoch, Host: p.host, Process: p.process, Roster: p.roster}
	}
	if p.change != nil {
		p.change(&h)
	}
	start := result.Start{At: noon.Add(p.late)}
	if !p.alone && !p.whole {
		start.Agreed = &result.Agreed{At: noon, Late: p.late, Offset: -3 * time.Millisecond, Bound: 200 * time.Microsecond}
	}
	var m canned.File
	f := must.Have(result.NewRunFile(&m, h))(t)
	f.Write(result.Line{Start: &start})
	for _, e := range p.events {
		e.To(f)
	}
	for _, v := range p.vitals {
		f.Write(result.Line{Vitals: &v})
	}
	must.Do(t, f.Close(p.trailer))
	if p.trailer.Ended == "" {
		i := bytes.LastIndex(m.Bytes(), []byte("P*M")) // where the last member begins
		return m.Bytes()[:i]
	}
	return m.Bytes()
}

// trailerOf is the trailer of a run that ended after some seconds.
func trailerOf(seconds float64) result.Trailer {
	return result.Trailer{Ended: result.Completed, ElapsedSeconds: seconds, SendingSeconds: seconds}
}

func setOf(t testing.TB, files ...[]byte) *Set {
	t.Helper()
	s := NewSet()
	for i, f := range files {
		must.Do(t, s.Add(fmt.Sprintf("file %d", i), bytes.NewReader(f), int64(len(f)), false))
	}
	return s
}

func collection(t testing.TB, s *Set) []byte {
	t.Helper()
	var b bytes.Buffer
	n := must.Have(s.WriteTo(&b))(t)
	must.Hold(t, n == int64(b.Len()), "WriteTo says %d bytes, and wrote %d", n, b.Len())
	return b.Bytes()
}

func merged(t testing.TB, files ...[]byte) result.Result {
	t.Helper()
	return must.Have(setOf(t, files...).Result(t.Context()))(t)
}

// someRun makes up the files of a run: parts on several hosts, one that is lost with a
// copy that tells less, one that is late, and a host that was watched.
func someRun(t testing.TB, seed uint64) [][]byte {
	rng := rand.New(rand.NewPCG(seed, 7))
	roster := []result.Member{{Host: "a", Processes: 3}, {Host: "b", Processes: 2}, {Host: "c", Processes: 0}}
	var files [][]byte
	for _, m := range roster {
		for n := 1; n <= m.Processes; n++ {
			seconds := 5 + rng.IntN(8)
			p := partFile{
				run: "nightly", epoch: "e1", host: m.Host, process: n, roster: roster, late: time.Duration(rng.IntN(5_000_000)),
				events: canned.Written(rng.Uint64(), seconds), trailer: trailerOf(float64(seconds)),
			}
			if m.Host == "b" && n == 2 {
				p.late = 3 * time.Second
			}
			files = append(files, p.bytes(t))
			if m.Host == "a" && n == 2 {
				p.trailer = result.Trailer{}
				for p.events = p.events[:len(p.events)/2]; p.events[len(p.events)-1].Sample == nil; { // a member is a whole second
					p.events = p.events[:len(p.events)-1]
				}
				files = append(files, p.bytes(t))
			}
		}
	}
	watch := partFile{run: "nightly", epoch: "e1", host: "c", roster: roster, trailer: trailerOf(9), change: func(h *result.Header) { h.Part.Role = "broker" }}
	for s := range 9 {
		watch.vitals = append(watch.vitals, host.Vitals{At: time.Duration(s+1) * time.Second, Interval: time.Second, Cores: 4, CPU: rng.Float64() * 4})
	}
	return append(files, watch.bytes(t))
}

// header is that of a run at a rate; 0: unlimited.
func header(rate float64) (h result.Header) {
	text, err := os.ReadFile("../testdata/header.json")
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		panic(err) // the file is a part of the tests
	}
	h.Plan = canned.Plan(rate)
	return h
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	return string(must.Have(json.MarshalIndent(v, "", " "))(t))
}

// head is the lines of a collection that are its own.
func head(b []byte) []string {
	var lines []string
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line[:min(20, len(line))], "file") {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestACollectionHasEachFileAsItIs(t *testing.T) {
	files := someRun(t, 1)
	b := collection(t, setOf(t, files...))
	for i, f := range files {
		if !bytes.Contains(b, f) { // the copy that tells less is the beginning of another
			t.Errorf("file %d is not in the collection", i)
		}
	}
	sum := sha256.Sum256(files[0])
	want := fmt.Sprintf("{\"file\":{\"sha256\":\"%s\",\"bytes\":%d}}\n%s", hex.EncodeToString(sum[:]), len(files[0]), files[0])
	first := "{\"collection\":{\"schema\":2,\"files\":6}}\n"
	must.True(t, strings.HasPrefix(string(b), first+want), "the collection begins with %.300q", b)
}

func TestOfSeveralFilesOfOneRunTheOneThatTellsMostIsKept(t *testing.T) {
	events := canned.Written(3, 6)
	whole := partFile{run: "r", host: "a", process: 1, events: events, trailer: trailerOf(6)}.bytes(t)
	short := partFile{run: "r", host: "a", process: 1, events: events[:4]}.bytes(t)
	long := partFile{run: "r", host: "a", process: 1, events: append(events, events...)}.bytes(t)
	for _, tc := range []struct {
		name  string
		files [][]byte
		want  []byte
	}{
		{"one with an end before a longer one without", [][]byte{long, whole}, whole},
		{"of two without an end the longer one", [][]byte{short, long}, long},
		{"the same one twice is one", [][]byte{short, short}, short},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 2 {
				s := setOf(t, tc.files...)
				sum := sha256.Sum256(tc.want)
				list := s.RunFiles()
				must.True(t, len(list) == 1 && list[0].SHA256 == hex.EncodeToString(sum[:]), "the set has %+v", list)
				must.True(t, len(s.Same) == 1 && strings.Contains(s.Same[0], " is the same run as "), "the set says %q", s.Same)
				tc.files[0], tc.files[1] = tc.files[1], tc.files[0]
			}
		})
	}
}

func TestTheRunIsChosenByItsNameOrEpoch(t *testing.T) {
	const day = 24 * time.Hour
	part := func(id, run, epoch, host string, late time.Duration) partFile {
		return partFile{run: run, epoch: epoch, host: host, process: 1, id: id, late: late, events: canned.Written(1, 3), trailer: trailerOf(3)}
	}
	single := func(id string, late time.Duration) partFile {
		return partFile{host: "a", id: id, whole: true, late: late, events: canned.Written(1, 3), trailer: trailerOf(3)}
	}
	began := func(id string, at time.Duration, seconds float64) partFile {
		p := part(id, "nightly", "", "a", at)
		p.alone, p.trailer = true, trailerOf(seconds)
		return p
	}
	opened := part("30", "nightly", "e3", "a", 0)
	opened.change = func(h *result.Header) { h.StartedAt = noon.Add(-1500 * time.Millisecond) }
	files := map[string]partFile{
		"nightly1": part("1", "nightly", "e1", "a", 0), "nightly2": part("2", "nightly", "e2", "a", time.Millisecond), "other": part("3", "other", "", "a", 0),
		"monday": part("4", "nightly", "", "a", -2*day), "tuesday": part("5", "nightly", "", "a", -day), "soon": part("6", "nightly", "", "b", -day+time.Minute+3*time.Second),
		"lost": {run: "nightly", host: "b", process: 2, id: "7", alone: true, late: -2*day + 40*time.Second, events: canned.Written(1, 30)},
		"late": part("8", "nightly", "", "c", -2*day+125*time.Second), "alone": single("9", -day), "single 1": single("1", 0), "single 2": single("2", 0),
		"again": part("10", "nightly", "", "a", -day+4*time.Second), "beside": part("11", "nightly", "", "b", -day+time.Second), "opened": opened,
		"gone at once":   {run: "nightly", host: "a", process: 1, id: "12", alone: true}, // with no end
		"gone after 8 s": {run: "nightly", host: "a", process: 1, id: "12", alone: true, events: canned.Written(1, 8)},
		"a at 0 s":       began("13", 0, 3), "a at 1.2 s": began("13", 1200*time.Millisecond, 3), "a at 4 s": began("14", 4*time.Second, 3), "a at 5 s": began("14", 5*time.Second, 3),
		"first": began("20", 0, 0.3), "second": began("21", 500*time.Millisecond, 0.3),
	}
	for _, tc := range must.Rows[[]struct {
		Name  string
		Files []string
		Run   string
		Want  string // ids, or "error: " and a part of it
	}](t, "set") {
		t.Run(tc.Name, func(t *testing.T) {
			var all [][]byte
			for _, name := range tc.Files {
				all = append(all, files[name].bytes(t))
			}
			s := setOf(t, all...)
			err := s.Select(tc.Run)
			if want, ok := strings.CutPrefix(tc.Want, "error: "); ok {
				must.Hold(t, err != nil && strings.Contains(err.Error(), want), "the error is %v, want %q", err, want)
				return
			}
			must.Do(t, err)
			var ids []string
			for _, one := range s.RunFiles() {
				ids = append(ids, one.RunID)
			}
			must.Match(t, tc.Want, strings.Join(ids, " "), "Select keeps")
		})
	}
}

func TestWhatIsNeitherARunFileNorACollectionIsRefused(t *testing.T) {
	run := string(partFile{run: "r", host: "a", process: 1, trailer: trailerOf(1)}.bytes(t))
	sum := sha256.Sum256([]byte(run))
	source := fmt.Sprintf(`{"file":{"sha256":"%s","bytes":%d}}`+"\n", hex.EncodeToString(sum[:]), len(run))
	const first = `{"collection":{"schema":2,"files":1}}` + "\n"
	roster := func(n, processes int) string {
		h := result.Header{Schema: result.Schema, Part: &result.Part{Host: "a", Process: 1}}
		for range n {
			h.Part.Roster = append(h.Part.Roster, result.Member{Host: "h", Processes: processes})
		}
		b := must.Have(json.Marshal(result.Line{Header: &h}))(t)
		return string(canned.Packed(string(b)))
	}
	cut := run[:len(run)-1]
	texts := strings.NewReplacer("{first}", first, "{source}", source, "{run}", run, "{cut}", cut, "{length}", strconv.Itoa(len(run)))
	for _, tc := range must.Rows[[]struct {
		Name, Text, Packed string
		Roster             []int // how many hosts, of how many processes
		Want               string
	}](t, "set") {
		tc.Text, tc.Want = texts.Replace(tc.Text), texts.Replace(tc.Want)
		switch {
		case tc.Packed != "":
			tc.Text = string(canned.Packed(tc.Packed))
		case tc.Roster != nil:
			tc.Text = roster(tc.Roster[0], tc.Roster[1])
		}
		t.Run(tc.Name, func(t *testing.T) {
			err := NewSet().Add("some.ktr", strings.NewReader(tc.Text), int64(len(tc.Text)), false)
			must.True(t, err != nil && strings.HasPrefix(err.Error(), tc.Want), "the error is %v, want %q", err, tc.Want)
			if !strings.HasPrefix(tc.Text, `{"collection"`) { // Replay's test is about run files
				return
			}
			if _, err := Read(strings.NewReader(tc.Text), int64(len(tc.Text))); err == nil {
				t.Error("Read takes it")
			}
		})
	}
}

func TestACorruptFileIsALostPartAndCostsNoOther(t *testing.T) {
	good := someRun(t, 3)
	whole := merged(t, good...)
	in := func(file []byte, old, with string) []byte {
		text := string(canned.Text(file))
		bad := strings.Replace(text, old, with, 1)
		must.Hold(t, bad != text, "there is no %s in\n%.2000s", old, text)
		return canned.Packed(bad)
	}
	for name, tc := range must.Rows[map[string]struct {
		Old, With string
		Want      string // of the reason
	}](t, "set") {
		t.Run(name, func(t *testing.T) {
			files := append([][]byte{in(good[0], tc.Old, tc.With)}, good[1:]...)
			s := setOf(t, files...)
			r := must.Have(s.Result(t.Context()))(t)
			errs := s.Lost()
			must.True(t, len(errs) == 1 && strings.HasPrefix(errs[0].Error(), "file 0: line ") && strings.Contains(errs[0].Error(), tc.Want), "corrupt are %v, want one with %q", errs, tc.Want)
			must.Hold(t, len(r.Processes) == len(whole.Processes), "%d processes, want %d", len(r.Processes), len(whole.Processes))
			for i, row := range r.Processes {
				want := whole.Processes[i]
				if row.RunID == whole.RunFiles[0].RunID {
					must.True(t, row.State == result.PartLost && !row.Counted && strings.HasPrefix(row.Note, "its run file is corrupt: line ") && strings.Contains(row.Note, tc.Want), "the part is %s, counted %v: %q", row.State, row.Counted, row.Note)
				} else if row.Records != want.Records || row.Counted != want.Counted {
					t.Errorf("%s/%d has %+v, want %+v", row.Host, row.Process, row.Records, want.Records)
				}
			}
			// As all that is merged, it is the same when it is merged again.
			file := collection(t, s)
			again, err := Read(bytes.NewReader(file), int64(len(file)))
			if diff := cmp.Diff(string(marshal(t, r)), string(marshal(t, again))); err != nil || diff != "" {
				t.Errorf("read again: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestMergingEndsWhenItIsToldTo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := setOf(t, someRun(t, 3)...).Result(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestAFileThatHasBecomeShorterIsAnError(t *testing.T) {
	run := partFile{run: "r", host: "a", process: 1, events: canned.Written(1, 3), trailer: trailerOf(3)}.bytes(t)
	if err := NewSet().Add("f", bytes.NewReader(run[:len(run)/2]), int64(len(run)), false); err == nil {
		t.Error("Add takes a file that has fewer bytes than it should")
	}
	s := NewSet()
	cut := &shrinking{Reader: bytes.NewReader(run), size: int64(len(run))}
	must.Do(t, s.Add("f", cut, int64(len(run)), false))
	cut.size /= 2
	must.Err(t, "write collection: f has become shorter", must.Fail(s.WriteTo(new(bytes.Buffer))), "the error")
}

// shrinking is a file that others write to.
type shrinking struct {
	*bytes.Reader
	size int64
}

func (s *shrinking) ReadAt(b []byte, at int64) (int, error) {
	if at >= s.size {
		return 0, io.EOF
	}
	return s.Reader.ReadAt(b[:min(int64(len(b)), s.size-at)], at)
}

func TestAFullDiskIsAnErrorOfTheCollection(t *testing.T) {
	s := setOf(t, partFile{run: "r", host: "a", process: 1, events: canned.Written(1, 3), trailer: trailerOf(3)}.bytes(t))
	if _, err := s.WriteTo(&canned.File{Room: 100}); err == nil || !strings.HasPrefix(err.Error(), "write collection: no space left") {
		t.Errorf("the error is %v", err)
	}
}

func TestAFileOfAMachineThatWasWatchedIsNoResult(t *testing.T) {
	watch := partFile{run: "r", host: "a", vitals: []host.Vitals{{At: time.Second, Interval: time.Second}}, trailer: trailerOf(1)}.bytes(t)
	must.Err(t, "give it to kt collect with the run files of the load", must.Fail(Read(bytes.NewReader(watch), int64(len(watch)))), "Read's error")
	must.Err(t, "no load", must.Fail(setOf(t, watch).Result(t.Context())), "Result's error")
}

// FuzzCollect reads what may be a run file or a collection.
//   - It never panics, nor does the result of what was read.
//   - What is taken is written as a collection that reads as the same set, and gives the
//     same result or error.
func FuzzCollect(f *testing.F) {
	w := stats.Window{End: time.Second, Offered: 2, Acknowledged: 1, Partitions: map[int32]stats.Partition{5: {Records: 1}}}
	w.Response.Record(time.Millisecond)
	load := partFile{run: "r", epoch: "e", host: "a", process: 1, roster: []result.Member{{Host: "a", Processes: 2}, {Host: "b", Processes: 0}}, events: []canned.Event{
		{Window: &w}, {Sample: &host.Sample{At: time.Second, Interval: time.Second, HostCores: 2}},
	}, trailer: trailerOf(1)}.bytes(f)
	watch := partFile{run: "r", epoch: "e", host: "b", vitals: []host.Vitals{{At: time.Second, Interval: time.Second, Disks: []host.DiskVitals{{Name: "sda"}}}}}.bytes(f)
	f.Add(load)
	f.Add(load[:len(load)*2/3])
	f.Add(collection(f, setOf(f, load, watch)))
	f.Add(canned.Packed(`{"header":{"schema":2,"started_at":"0001-01-01T00:00:00Z"}}` + "\n" + `{"start":{"at":"9999-01-01T00:00:00Z","agreed":{"late_ns":-9223372036854775808}}}` + "\n" +
		`{"window":{"start_ns":9223372036854775807,"end_ns":-5,"offered":1,"consumed":3,"partitions":{"-1":{}},"events":[{"kind":"broker_gone"}]}}` + "\n" + `{"trailer":{"ended":"completed","elapsed_seconds":1e300,"verify":{}}}`))
	f.Add([]byte(`{"collection":{"schema":2,"files":1}}` + "\n" + `{"file":{"bytes":1}}` + "\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := NewSet()
		if s.Add("f", bytes.NewReader(data), int64(len(data)), false) != nil {
			return
		}
		b := collection(t, s)
		again := setOf(t, b)
		got := collection(t, again)
		must.Hold(t, bytes.Equal(b, got), "written again it is %q, and was %q", got, b)
		r, err := s.Result(t.Context())
		q, againErr := again.Result(t.Context())
		must.Hold(t, (err == nil) == (againErr == nil), "the result of the file is %v, of the collection %v", err, againErr)
		must.Hold(t, err != nil || r.RunID == q.RunID, "the runs are %s and %s", r.RunID, q.RunID)
	})
}

// A header that also holds what no header has would be read as good by Add, and as corrupt by
// Result, again and again.
func TestAHeaderHoldsNothingElse(t *testing.T) {
	file := canned.Packed(strings.Replace(string(canned.Text(someRun(t, 1)[0])), "}\n", `,"window":{"offered":-1}}`+"\n", 1))
	must.Err(t, "line 1: its header has more", NewSet().Add("x", bytes.NewReader(file), int64(len(file)), false), "got")
}
