package ledger

import (
	"bufio"
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

// line is one line of a ledger file: exactly one of the fields is set. The first
// is a header, the last an end, and all others are lanes.
type line struct {
	Header *header `json:"ledger,omitempty"`
	Lane   *Lane   `json:"lane,omitempty"`
	End    *end    `json:"end,omitempty"`
}

// header is a Book without its lanes.
type header struct {
	Schema     int     `json:"schema"`
	RunID      string  `json:"run_id"` // 16 hexadecimal digits
	Topic      string  `json:"topic"`
	TopicID    string  `json:"topic_id,omitempty"`
	Start      []int64 `json:"start_offsets"` // by partition
	Epochs     []int32 `json:"start_epochs,omitempty"`
	Headers    bool    `json:"headers,omitempty"`
	OwnValues  bool    `json:"own_values,omitempty"`
	Idempotent bool    `json:"idempotent"`
	Acks       string  `json:"acks"`
	Retries    bool    `json:"retries"`
}

// end reports whether a file is whole.
type end struct {
	Lanes int    `json:"lanes"`
	Sum   string `json:"crc32c"` // of all lines before, as 8 hexadecimal digits
}

// The bounds on the memory for a file.
const (
	maxLine       = 16 << 20 // bytes; a header with maxPartitions fits
	maxPartitions = 500_000  // of a topic: kt makes none above plan.MaxPartitions, and reads larger ones
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

// place gives a file its name, which nobody else may have taken. A link is that in
// one step. Where the file system has none, an empty file takes the name first.
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
	err := lines.Encode(line{Header: &header{
		Schema: Schema, RunID: fmt.Sprintf("%016x", b.Run), Topic: b.Topic, TopicID: b.TopicID,
		Start: b.Start, Epochs: b.StartEpochs, Headers: b.Headers, OwnValues: b.OwnValues, Idempotent: b.Idempotent, Acks: b.Acks, Retries: b.Retries,
	}})
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
	seen := newSeen()
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
		err := json.Unmarshal(text, &l)
		if err == nil && l.End != nil {
			if err := l.End.check(sum.Sum32(), len(b.Lanes), wrong, lines); err != nil {
				return nil, err
			}
			return b, nil
		}
		if wrong != nil {
			continue
		}
		if err == nil {
			err = b.add(l.Lane, seen)
		}
		if err != nil {
			wrong = fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// errNoLedger is the error of any other file.
var errNoLedger = errors.New("it is not a ledger of kt: name the .ledger file that kt produce --verify wrote")

// readHeader makes a book of the first line.
func readHeader(text []byte) (*Book, error) {
	var any struct {
		Header *struct {
			Schema int `json:"schema"`
		} `json:"ledger"`
	}
	if json.Unmarshal(text, &any) != nil || any.Header == nil {
		return nil, errNoLedger
	}
	switch n := any.Header.Schema; {
	case n < 1:
		return nil, errNoLedger
	case n != Schema:
		return nil, fmt.Errorf("its schema is %d, and this kt reads %d: check it with the kt that wrote it", n, Schema)
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, errNoLedger
	}
	h := l.Header
	run, err := strconv.ParseUint(h.RunID, 16, 64)
	if err != nil || len(h.RunID) != 16 {
		return nil, fmt.Errorf("its run id %.20q is not 16 hexadecimal digits", h.RunID)
	}
	b := &Book{
		Run: run, Topic: h.Topic, TopicID: h.TopicID, Start: h.Start, StartEpochs: h.Epochs,
		Headers: h.Headers, OwnValues: h.OwnValues, Idempotent: h.Idempotent, Acks: h.Acks, Retries: h.Retries,
	}
	return b, b.checkStart()
}

// seen is the lanes that were read, and the sources of their batches.
type seen struct {
	lanes   map[laneID]bool
	sources map[lanesSource]uint16
}

type lanesSource struct {
	source
	partition int32
}

func newSeen() seen { return seen{make(map[laneID]bool), make(map[lanesSource]uint16)} }

// add puts a lane that was read into the book.
func (b *Book) add(l *Lane, seen seen) error {
	switch {
	case l == nil:
		return errors.New("it is not a lane")
	case len(b.Lanes) >= maxLanes:
		return fmt.Errorf("it is more than %d lanes", maxLanes)
	case seen.lanes[l.id()]:
		return fmt.Errorf("producer %d has a lane of partition %d already", l.Producer, l.Partition)
	}
	if err := l.check(); err != nil {
		return err
	}
	for _, o := range l.Origins {
		if of, ok := seen.sources[lanesSource{o.source(), l.Partition}]; ok && of != l.Producer {
			return fmt.Errorf("producer id %d is that of two lanes of partition %d", o.ID, l.Partition)
		}
		seen.sources[lanesSource{o.source(), l.Partition}] = l.Producer
	}
	seen.lanes[l.id()] = true
	b.Lanes = append(b.Lanes, *l)
	return nil
}

// check returns an error unless the last line agrees with the lines before, of which wrong is
// the first that made no sense.
func (e *end) check(sum uint32, lanes int, wrong error, rest *bufio.Reader) error {
	switch {
	case e.Sum != fmt.Sprintf("%08x", sum):
		return fmt.Errorf("it was changed after it was written: its checksum is %08x and should be %.8s", sum, e.Sum)
	case wrong != nil:
		return wrong
	case e.Lanes != lanes:
		return fmt.Errorf("it has %d lanes and should have %d", lanes, e.Lanes)
	}
	if _, err := rest.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.New("it was changed after it was written: it goes on after its last line")
	}
	return nil
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
	if err := b.checkStart(); err != nil {
		return err
	}
	all := Book{}
	seen := newSeen()
	for i := range b.Lanes {
		if err := all.add(&b.Lanes[i], seen); err != nil {
			return err
		}
	}
	return nil
}

func (b *Book) checkStart() error {
	if n := max(len(b.Start), len(b.StartEpochs)); n > maxPartitions {
		return fmt.Errorf("%d partitions are more than %d", n, maxPartitions)
	}
	for p, offset := range b.Start {
		if offset < 0 {
			return fmt.Errorf("partition %d starts at offset %d", p, offset)
		}
	}
	return nil
}
