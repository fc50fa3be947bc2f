package ledger

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Schema is the version of the ledger files that File writes, the only one that Read reads.
const Schema = 2

// line is one line of a ledger file: first a header, then lanes and marks. A lane replaces what an earlier line said of it.
type line struct {
	Header *header `json:"ledger,omitempty"`
	Lane   *Lane   `json:"lane,omitempty"`
	Mark   *mark   `json:"mark,omitempty"`
}

// header is a Book without its lanes.
type header struct {
	Schema int    `json:"schema"`
	RunID  string `json:"run_id"` // 16 hexadecimal digits
	Book
}

// mark says that what lies before it counts.
type mark struct {
	At  time.Time `json:"at,omitzero"`   // up to which the lanes have every outcome
	End bool      `json:"end,omitempty"` // they have all records of the run, and the file ends here
	Sum string    `json:"crc32c"`        // of all lines before, and of the mark without Sum, as 8 hexadecimal digits
}

// sum returns the Sum of a mark behind lines with that CRC-32C.
func (m mark) sum(before uint32) string {
	m.Sum = ""
	text, _ := json.Marshal(m) // it has no value that cannot be encoded
	return fmt.Sprintf("%08x", crc32.Update(before, crcTable, text))
}

// The bounds on the memory for a file.
const (
	maxLine       = 64 << 20 // bytes; a header with maxTopics and maxPartitions fits
	maxTopics     = 100_000
	maxPartitions = 1_000_000 // of all topics: kt makes no topic above plan.MaxPartitions, and reads larger ones
	maxLanes      = 1 << 23   // with those of the newest mark twice
)

// A file with more than maxGrown bytes and maxStates times those that it needs is written anew.
const maxGrown, maxStates = 4 << 20, 4

// markShare is how many times the time that a mark took passes before the next one.
const markShare = 20

// File is the ledger file of a run that goes on. Each mark adds the lanes that have changed since the last one. What lies before the
// newest whole mark counts, whatever becomes of the process or the disk. Its methods are called one after the other.
type File struct {
	path string
	sync bool
	kept bool
	next time.Time     // no mark before it
	took time.Duration // by the newest mark

	written // up to the newest mark
	at      time.Time
	lanes   []Lane // as they are in the file
	least   int64  // bytes of the file when it was written anew
}

// disk is what a File needs of an *os.File.
type disk interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Stat() (fs.FileInfo, error)
	Close() error
}

// written is a file as far as it was written.
type written struct {
	file disk
	size int64
	sum  uint32 // CRC-32C
}

// Write adds to the file.
func (w *written) Write(p []byte) (int, error) {
	n, err := w.file.WriteAt(p, w.size)
	w.size, w.sum = w.size+int64(n), crc32.Update(w.sum, crcTable, p[:n])
	return n, err
}

// Create makes an empty file. It never replaces one: the error is fs.ErrExist. With sync, each mark is on the disk when it is made, so
// that it outlasts a power cut.
func Create(path string, sync bool) (*File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	if sync {
		syncFolder(path)
	}
	return &File{path: path, sync: sync, written: written{file: f}}, nil
}

// Mark makes a mark, unless the last one took so long that it is too early. lanes returns all lanes, always in the same order, with
// every outcome up to a time; those of b do not count. After an error the file is as the mark before left it, and a later one may be made.
func (f *File) Mark(b *Book, at time.Time, lanes func() []Lane) error {
	if time.Now().Before(f.next) {
		return nil
	}
	return f.write(b, at, lanes, f.size > maxGrown+maxStates*f.least, false)
}

// End writes the whole book, whose lanes are final, and closes the file. If that fails, the file has its newest mark.
func (f *File) End(b *Book) error {
	f.kept = true
	err := b.check()
	if err == nil {
		err = f.write(b, time.Now(), func() []Lane { return b.Lanes }, true, true)
	}
	return errors.Join(err, f.file.Close())
}

// At returns the time up to which the file has every outcome.
func (f *File) At() time.Time { return f.at }

// Discard removes the file, unless End was called. f may be nil.
func (f *File) Discard() {
	if f != nil && !f.kept {
		_ = f.file.Close() // nobody has seen it
		_ = os.Remove(f.path)
	}
}

// write makes a mark, in a new file with anew if there is room for a second one and leave to make it.
func (f *File) write(b *Book, at time.Time, lanes func() []Lane, anew, end bool) (err error) {
	began, all, to, old := time.Now(), lanes(), f.written, f.lanes
	name := filepath.Join(filepath.Dir(f.path), ".kt-"+rand.Text())
	if anew {
		// Not os.CreateTemp, whose files are for nobody else: the umask is to decide.
		to.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		to.size, to.sum, old = 0, 0, nil
	}
	if err == nil {
		err = to.add(b, at, all, old, end)
	}
	took := time.Since(began)
	f.next, f.took = time.Now().Add(markShare*min(took, f.took)), took // a single pause of this process puts nothing off
	if err == nil && (f.sync || end) {
		err = to.file.Sync()
	}
	if err == nil && anew {
		err = f.replace(name)
	}
	switch {
	case err == nil && anew:
		_ = f.file.Close() // it has no name any more
		f.least = to.size
	case anew:
		if _, _ = to.file.Close(), os.Remove(name); f.missing() == nil {
			return f.write(b, at, lanes, false, end)
		}
		return err
	case err != nil:
		_ = f.file.Truncate(f.size) // the next mark overwrites the rest anyway
		return err
	}
	f.written, f.at, f.lanes = to, at, all
	return nil
}

// add writes the lanes that are not among the old ones, and a mark.
func (w *written) add(b *Book, at time.Time, all, old []Lane, end bool) error {
	buffered := bufio.NewWriterSize(w, 64<<10)
	lines := json.NewEncoder(buffered)
	var err error
	if w.size == 0 {
		err = lines.Encode(line{Header: &header{Schema, fmt.Sprintf("%016x", b.Run), *b}})
	}
	for i := 0; i < len(all) && err == nil; i++ {
		if len(old) > 0 && old[0].id() == all[i].id() {
			was := &old[0]
			if old = old[1:]; all[i].same(was) {
				continue
			}
		}
		err = lines.Encode(line{Lane: &all[i]})
	}
	if err = errors.Join(err, buffered.Flush()); err != nil {
		return err
	}
	m := &mark{At: at.UTC(), End: end}
	m.Sum = m.sum(w.sum)
	return errors.Join(lines.Encode(line{Mark: m}), buffered.Flush())
}

// replace puts a new file in the place of the one that Create made, unless that is another one by now.
func (f *File) replace(name string) error {
	if err := f.missing(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.Rename(name, f.path)
	if err == nil && f.sync {
		syncFolder(f.path)
	}
	return err
}

// syncFolder makes the name of a file outlast a power cut, where its file system can. The file is there whether it can or not.
func syncFolder(path string) {
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_, _ = dir.Sync(), dir.Close()
	}
}

// missing returns nil if the file is where Create made it, and fs.ErrExist if another one is there.
func (f *File) missing() error {
	now, err := os.Lstat(f.path)
	if err != nil {
		return err
	}
	if own, err := f.file.Stat(); err != nil || !os.SameFile(now, own) {
		return fs.ErrExist
	}
	return nil
}

// Read reads a file that a File wrote. Of one without an end it reads what lies before the newest whole mark, and sets CutAt. A file
// that is no ledger, that has no mark, that was changed before its first one, or that a kt with another Schema wrote is an error
// that says so. Memory is bounded, however long the file is.
func Read(r io.Reader) (*Book, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	lines.Split(wholeLines)
	lines.Scan()
	b, err := readHeader(lines)
	if err != nil {
		return nil, err
	}
	sum, lanes, fresh := uint32(0), make(map[laneID]Lane), make(map[laneID]Lane) // fresh: since the last mark
	var wrong error                                                              // why the next mark is not reached
	for n := 2; wrong == nil; n++ {
		sum = crc32.Update(sum, crcTable, lines.Bytes())
		whole, l := lines.Scan(), line{}
		err := json.Unmarshal(lines.Bytes(), &l)
		switch m := l.Mark; {
		case lines.Err() != nil:
			return nil, lines.Err()
		case !whole:
			wrong = fmt.Errorf("it is cut off after line %d: there is no whole mark before", n-1)
		case err != nil:
			wrong = fmt.Errorf("it was changed after it was written: line %d: %w", n, err)
		case m != nil && m.Sum != m.sum(sum):
			wrong = fmt.Errorf("it was changed after it was written: its checksum is %s and should be %.8s", m.sum(sum), m.Sum)
		case m != nil:
			maps.Copy(lanes, fresh)
			clear(fresh)
			if b.CutAt = m.At; !m.End {
				continue
			}
			if b.CutAt = (time.Time{}); lines.Scan() {
				return nil, errors.New("it was changed after it was written: it goes on after its last line")
			}
			return b, b.fill(lanes)
		case l.Lane == nil:
			wrong = fmt.Errorf("line %d: it is not a lane", n)
		case len(lanes)+len(fresh) == maxLanes:
			wrong = fmt.Errorf("line %d: it is more than %d lanes", n, maxLanes)
		default:
			fresh[l.Lane.id()] = *l.Lane
		}
	}
	if b.LedgerDamaged = len(lines.Bytes()) > 0; b.CutAt.IsZero() {
		return nil, wrong
	}
	return b, b.fill(lanes)
}

// fill gives the book its lanes.
func (b *Book) fill(lanes map[laneID]Lane) error {
	b.Lanes = slices.SortedFunc(maps.Values(lanes), func(l, o Lane) int {
		return cmp.Or(cmp.Compare(l.Producer, o.Producer), cmp.Compare(l.Partition, o.Partition))
	})
	return b.check()
}

// errNoLedger is the error of any other file.
var errNoLedger = errors.New("it is not a ledger of kt: name the .ledger file that kt produce --verify wrote")

// readHeader makes a book of the first line.
func readHeader(lines *bufio.Scanner) (*Book, error) {
	l := line{}
	err := json.Unmarshal(lines.Bytes(), &l) // it may be that of another schema, and then the rest of its fields too
	h := l.Header
	switch {
	case lines.Err() != nil:
		return nil, lines.Err()
	case len(lines.Bytes()) == 0:
		return nil, errors.New("it is not a ledger of kt, or the load of its kt has not begun: it has no whole line")
	case h == nil || h.Schema < 1:
		return nil, errNoLedger
	case h.Schema != Schema:
		return nil, fmt.Errorf("its schema is %d, and this kt reads %d: check it with the kt that wrote it", h.Schema, Schema)
	case err != nil:
		return nil, errNoLedger
	}
	run, err := strconv.ParseUint(h.RunID, 16, 64)
	if err != nil || len(h.RunID) != 16 {
		return nil, fmt.Errorf("its run id %.20q is not 16 hexadecimal digits", h.RunID)
	}
	h.Run = run
	return &h.Book, nil
}

// wholeLines splits a file into lines with their ends. It leaves out a last one without an end.
func wholeLines(data []byte, _ bool) (n int, line []byte, err error) {
	switch n = bytes.IndexByte(data, '\n') + 1; {
	case n > 0:
		return n, data[:n], nil
	case len(data) >= maxLine:
		return 0, nil, errNoLedger
	}
	return 0, nil, nil
}

// check returns why Read would not take the book, or nil.
func (b *Book) check() error {
	if n := len(b.Topics); n == 0 || n > maxTopics {
		return fmt.Errorf("it is of %d topics and not of 1 to %d", n, maxTopics)
	}
	all := 0
	for _, t := range b.Topics {
		if t.Partitions < 1 || t.Partitions > maxPartitions-all {
			return fmt.Errorf("topic %.60q has %d partitions behind %d of others: the least is 1, and the most of all topics %d", t.Name, t.Partitions, all, maxPartitions)
		}
		all += t.Partitions
	}
	if n := max(len(b.Start), len(b.StartEpochs)); n > maxPartitions {
		return fmt.Errorf("%d partitions are more than %d", n, maxPartitions)
	}
	for p, offset := range b.Start {
		if offset < 0 {
			return fmt.Errorf("partition %d starts at offset %d", p, offset)
		}
	}
	type writer struct {
		source
		partition int32
	}
	writers := make(map[writer]uint16)
	for i := range b.Lanes {
		l := &b.Lanes[i]
		err := l.check(all)
		for _, o := range l.Origins {
			w := writer{o.source(), l.Partition}
			if of, ok := writers[w]; ok && of != l.Producer {
				err = fmt.Errorf("producer id %d is that of two lanes of partition %d", o.ID, l.Partition)
			}
			writers[w] = l.Producer
		}
		if err != nil {
			return fmt.Errorf("lane %d: %w", i, err)
		}
	}
	return nil
}
