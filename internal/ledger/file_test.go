//go:build !race

package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/must"
)

func sample() *Book {
	return &Book{
		Run: 0xfedcba9876543210, Topics: []BookTopic{{"orders", "AbC-_", 1}, {"invoices", "", 1}}, Start: []int64{0, 17}, StartEpochs: []int32{-1, 3}, Idempotent: true, Acks: "all", Retries: true,
		Lanes: []Lane{
			{Producer: 0, Partition: 0, Issued: 100, Acknowledged: Ranges{{0, 50, 7}, {51, 90, 0}}, Failed: Ranges{{50, 51, 0}}, LastOffset: 99},
			{Producer: 0, Partition: 1, Issued: 5, Aborted: Ranges{{1, 3, 0}}, LastOffset: -1},
			{Producer: 9999, Partition: 0, LastOffset: -1},
		},
	}
}

func encoded(t testing.TB, b *Book) []byte {
	t.Helper()
	d := new(memory)
	must.Do(t, (&written{file: d}).add(b, time.Time{}, b.Lanes, nil, true))
	return d.text
}

// memory is a disk with room for so many bytes; 0: for any number.
type memory struct {
	text []byte
	room int
}

func (m *memory) WriteAt(p []byte, at int64) (int, error) {
	n := len(p)
	if m.room > 0 {
		n = max(0, min(n, m.room-int(at)))
	}
	m.text = append(m.text[:min(at, int64(len(m.text)))], append(bytes.Clone(p[:n]), m.text[min(int(at)+n, len(m.text)):]...)...)
	if n < len(p) {
		return n, errors.New("no room")
	}
	return n, nil
}

func (m *memory) Truncate(size int64) error  { m.text = m.text[:size]; return nil }
func (m *memory) Sync() error                { return nil }
func (m *memory) Close() error               { return nil }
func (m *memory) Stat() (fs.FileInfo, error) { return nil, fs.ErrNotExist }

func writeFile(path string, b *Book) error {
	f, err := Create(path, false)
	if err != nil {
		return err
	}
	return f.End(b)
}

// sealed is a file of these lines with the right last line.
func sealed(lines ...string) []byte {
	text := strings.Join(lines, "\n") + "\n"
	return fmt.Appendf(nil, "%s{\"mark\":{\"end\":true,\"crc32c\":\"%s\"}}\n", text, mark{End: true}.sum(crc32.Checksum([]byte(text), crcTable)))
}

const someHeader = `{"ledger":{"schema":2,"run_id":"0000000000000001","topics":[{"name":"t","partitions":1}],"start_offsets":[0],"acks":"all"}}`

func TestALedgerFileNeverReplacesAnother(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.ledger")
	if err := writeFile(filepath.Join(dir, "none", "run.ledger"), sample()); err == nil {
		t.Error("a file in no folder was written")
	}
	must.Do(t, writeFile(path, sample()))
	if err := writeFile(path, sample()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another ledger: error %v", err)
	}
	must.Match(t, sample(), must.Have(readFile(path))(t), "they differ")
	alone(t, path)
	bad := sample()
	bad.Lanes[0].Failed[0].To = 1000
	other := filepath.Join(t.TempDir(), "bad.ledger")
	if err := writeFile(other, bad); err == nil {
		t.Error("a book that cannot be read was written")
	}
	f := must.Have(Create(filepath.Join(dir, "ours"), false))(t)
	must.Do(t, f.Mark(sample(), began, func() []Lane { return nil }))
	must.Do(t, os.Remove(f.path))
	must.Do(t, os.WriteFile(f.path, []byte("somebody's"), 0o644))
	if err := f.End(sample()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("in the place of somebody's file: error %v", err)
	}
	text, err := os.ReadFile(f.path)
	must.True(t, err == nil && string(text) == "somebody's", "it holds %q, %v", text, err)
}

// Nobody may hear that a ledger is whole that is nowhere.
func TestALedgerWhoseFolderIsGoneIsAnError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	must.Do(t, os.Mkdir(dir, 0o755))
	f := must.Have(Create(filepath.Join(dir, "ours"), false))(t)
	must.Do(t, f.Mark(sample(), began, func() []Lane { return nil }))
	must.Do(t, os.RemoveAll(dir))
	if err := f.End(sample()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// A ledger that should be written anew, and cannot, grows.
func TestALedgerGrowsWhereNoOtherFileCanBeMade(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	must.Do(t, errors.Join(os.Mkdir(there+"/sub", 0o755), os.Mkdir(there+"/runs", 0o755), os.Symlink(there+"/sub", here+"/link")))
	f := must.Have(Create(here+"/link/../runs/ours", false))(t) // its folder by name is here/runs, and is none
	must.Do(t, f.Mark(sample(), began, func() []Lane { return nil }))
	f.next, f.least = time.Time{}, -maxGrown // it is large
	at := f.at.Add(time.Second)
	must.Do(t, f.Mark(sample(), at, func() []Lane { return sample().Lanes }))
	must.Match(t, at.UTC(), must.Have(readFile(f.path))(t).CutAt.UTC(), "the newest mark")
}

// alone checks that nothing else is left in a file's folder.
func alone(t *testing.T, path string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	must.True(t, err == nil && len(files) == 1 && files[0].Name() == filepath.Base(path), "files %v, %v; want %s alone", files, err, path)
}

func readFile(path string) (*Book, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Read(bytes.NewReader(text))
}

func TestWhatIsNotAWholeLedgerIsRefused(t *testing.T) {
	whole := string(encoded(t, sample()))
	refused := func(name string, file []byte, say string) {
		must.Err(t, say, must.Fail(Read(bytes.NewReader(file))), "%s", name)
	}
	for _, tc := range must.Rows[[]struct {
		Name           string
		Lines          []string
		Bare           bool
		Old, With, Say string
	}](t, "ledger") {
		file := []byte(strings.Replace(whole, tc.Old, tc.With, 1))
		if tc.Old == "" && !tc.Bare {
			tc.Lines = append([]string{someHeader}, tc.Lines...)
		}
		if tc.Old == "" {
			file = sealed(tc.Lines...)
		}
		refused(tc.Name, file, tc.Say)
	}
	refused("nothing", nil, "has not begun")
	refused("text", []byte("hello\n"), "not a ledger")
	refused("other JSON lines", []byte("{\"header\":{\"schema\":1}}\n"), "not a ledger")
	refused("a first line without end", bytes.Repeat([]byte("x"), maxLine+1), "not a ledger")
	refused("the header alone", []byte(someHeader+"\n"), "cut off after line 1")
	refused("no last line", []byte(whole[:strings.LastIndex(whole[:len(whole)-1], "\n")+1]), "cut off after line 4")
	refused("half a last line", []byte(whole[:len(whole)-3]), "cut off after line 4")
	refused("more after the end", []byte(whole+"\n"), "goes on")
}

// FuzzReadFile: whatever is read can be written, is read back as it was, and can be
// compared without contradicting itself.
func FuzzReadFile(f *testing.F) {
	f.Add(encoded(f, sample()), false)
	f.Add([]byte(someHeader+"\n"+`{"lane":{"producer":1,"issued":10,"acknowledged":[[0,10,3]],"failed":[[2,4]],"aborted":[[0,3]],"last_offset":9}}`), true)
	f.Add([]byte(someHeader), true)
	f.Add([]byte(strings.Replace(someHeader, `"acks"`, `"headers":true,"acks"`, 1)+"\n"+`{"lane":{"producer":1,"issued":10,"acknowledged":[[0,10,3]],"last_offset":9,"origins":[[7,0,0,2],[7,0,2,5]],"forgotten":1}}`), true)
	f.Fuzz(func(t *testing.T, file []byte, seal bool) {
		if seal { // else hardly any would pass
			file = sealed(string(file))
		}
		b, err := Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		again := must.Have(Read(bytes.NewReader(encoded(t, b))))(t)
		if diff := cmp.Diff(b, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
		r := NewReader(b)
		r.Begin(0, 0)
		value := make([]byte, StampSize)
		for i, seq := range []int64{0, 3, 2, 2, 7} {
			(&Stamp{Run: b.Run, Seq: seq, Producer: 1}).Put(value, Around{})
			add(r, int64(i), value)
		}
		for i, sequence := range []int32{0, 1, 3, 3, math.MaxInt32} { // of a book with Headers
			from := 5 + 3*int64(i)
			r.Log(0).AddBatch(&Batch{Offset: from, Records: 3, Whole: true, Intact: true, ProducerID: 7, Sequence: sequence}, from, from+3)
		}
		r.ReadTo(0, 20, 20)
		addsUp(t, b.Verify(r, NewReader(b)))
	})
}
