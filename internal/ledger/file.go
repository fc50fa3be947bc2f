package ledger

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Schema is the version of the ledger file that WriteFile writes, the only one that Read reads.
const Schema = 1

// line is one line of a ledger file: first a header, then lanes, last an end.
type line struct {
	Header *header `json:"ledger,omitempty"`
	Lane   *Lane   `json:"lane,omitempty"`
	End    *end    `json:"end,omitempty"`
}

// header is a Book without its lanes.
type header struct {
	Schema int    `json:"schema"`
	RunID  string `json:"run_id"` // 16 hexadecimal digits
	*Book
}

// end reports whether a file is whole.
type end struct {
	Lanes int    `json:"lanes"`
	Sum   string `json:"crc32c"` // of all lines before, as 8 hexadecimal digits
}

// The bounds on the memory for a file.
const (
	maxLine       = 64 << 20 // bytes; a header with maxTopics and maxPartitions fits
	maxTopics     = 100_000
	maxPartitions = 1_000_000 // of all topics: kt makes no topic above plan.MaxPartitions, and reads larger ones
	maxLanes      = 1 << 23
)

// WriteFile writes a book to a new file, in whole or not at all: it writes a second file
// next to it first. It never replaces a file: the error is fs.ErrExist.
func WriteFile(path string, b *Book) error {
	if err := b.check(); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	// Not os.CreateTemp, whose files are for nobody else: the umask is to decide.
	name := filepath.Join(filepath.Dir(path), ".kt-"+rand.Text())
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	err = errors.Join(encode(f, b), f.Sync(), f.Close())
	if err == nil {
		err = place(os.Link, name, path)
	}
	_ = os.Remove(name) // a second name of the file, or its remains
	if err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	return nil
}

// place gives a file a name that nobody has taken: by a link, or where there is none by an empty file that takes it first.
func place(link func(from, to string) error, from, to string) error {
	err := link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), os.Rename(from, to)); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

func encode(w io.Writer, b *Book) error {
	buffered := bufio.NewWriterSize(w, 64<<10)
	sum := crc32.New(crcTable)
	lines := json.NewEncoder(io.MultiWriter(buffered, sum))
	err := lines.Encode(line{Header: &header{Schema, fmt.Sprintf("%016x", b.Run), b}})
	for i := 0; i < len(b.Lanes) && err == nil; i++ {
		err = lines.Encode(line{Lane: &b.Lanes[i]})
	}
	if err == nil {
		err = lines.Encode(line{End: &end{Lanes: len(b.Lanes), Sum: fmt.Sprintf("%08x", sum.Sum32())}})
	}
	return errors.Join(err, buffered.Flush())
}

// Read reads a file that WriteFile wrote. A file that is no ledger, that ends too early, that was
// changed or that a kt with another Schema wrote is an error that says so. Memory is bounded,
// however long the file is.
func Read(r io.Reader) (*Book, error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	text, err := readLine(lines)
	if err != nil {
		return nil, err
	}
	b, err := readHeader(text)
	if err != nil {
		return nil, err
	}
	sum := crc32.New(crcTable)
	var wrong error // the first line that is not right: if the file was changed, that is the error
	for n := 2; ; n++ {
		_, _ = sum.Write(text) // it never fails
		if text, err = readLine(lines); err != nil {
			return nil, err
		}
		if text == nil {
			return nil, fmt.Errorf("it is cut off after line %d: its last line is missing", n-1)
		}
		var l line
		switch err := json.Unmarshal(text, &l); {
		case wrong != nil && l.End == nil:
		case err != nil:
			wrong = fmt.Errorf("line %d: %w", n, err)
		case l.End != nil:
			if err := l.End.check(sum.Sum32(), b, wrong, lines); err != nil {
				return nil, err
			}
			return b, nil
		case l.Lane == nil:
			wrong = fmt.Errorf("line %d: it is not a lane", n)
		case len(b.Lanes) >= maxLanes:
			wrong = fmt.Errorf("line %d: it is more than %d lanes", n, maxLanes)
		default:
			b.Lanes = append(b.Lanes, *l.Lane)
		}
	}
}

// errNoLedger is the error of any other file.
var errNoLedger = errors.New("it is not a ledger of kt: name the .ledger file that kt produce --verify wrote")

// readHeader makes a book of the first line.
func readHeader(text []byte) (*Book, error) {
	l := line{}
	err := json.Unmarshal(text, &l) // it may be that of another schema, and then the rest of its fields too
	h := l.Header
	switch {
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
	b := cmp.Or(h.Book, new(Book))
	b.Run = run
	return b, nil
}

// check returns an error unless the last line agrees with those before, of which wrong is the first that made no sense.
func (e *end) check(sum uint32, b *Book, wrong error, rest *bufio.Reader) error {
	switch {
	case e.Sum != fmt.Sprintf("%08x", sum):
		return fmt.Errorf("it was changed after it was written: its checksum is %08x and should be %.8s", sum, e.Sum)
	case wrong != nil:
		return wrong
	case e.Lanes != len(b.Lanes):
		return fmt.Errorf("it has %d lanes and should have %d", len(b.Lanes), e.Lanes)
	}
	if _, err := rest.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.New("it was changed after it was written: it goes on after its last line")
	}
	return b.check()
}

// readLine reads a line with its end, nil if there is none or if it is cut off.
func readLine(r *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := r.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > maxLine:
			return nil, errNoLedger
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		default:
			return text, nil
		}
	}
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
	lanes, writers := make(map[laneID]bool), make(map[writer]uint16)
	for i := range b.Lanes {
		l := &b.Lanes[i]
		err := l.check(all)
		if lanes[l.id()] {
			err = fmt.Errorf("producer %d has a lane of partition %d already", l.Producer, l.Partition)
		}
		lanes[l.id()] = true
		for _, o := range l.Origins {
			w := writer{o.source(), l.Partition}
			if of, ok := writers[w]; ok && of != l.Producer {
				err = fmt.Errorf("producer id %d is that of two lanes of partition %d", o.ID, l.Partition)
			}
			writers[w] = l.Producer
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", i+2, err)
		}
	}
	return nil
}
