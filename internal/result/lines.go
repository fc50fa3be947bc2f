package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/kt-bench/kt/internal/codec"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// Line is one line of a run file: exactly one of the fields is set.
type Line struct {
	Header  *Header       `json:"header,omitempty"`
	Window  *stats.Window `json:"window,omitempty"`
	Sample  *host.Sample  `json:"sample,omitempty"`
	Start   *Start        `json:"start,omitempty"`
	Vitals  *host.Vitals  `json:"vitals,omitempty"`
	Trailer *Trailer      `json:"trailer,omitempty"`
	Result  *Judgement    `json:"result,omitempty"` // of a file that was thinned
}

// MaxLine bounds one line of a run file: a window with 100,000 partitions and 1,000 brokers stays below it.
const MaxLine = 64 << 20

// BadLine is the error of a line that no kt writes.
type BadLine struct {
	Number int // from 1
	Err    error
}

func (b *BadLine) Error() string { return fmt.Sprintf("line %d: %v", b.Number, b.Err) }

func (b *BadLine) Unwrap() error { return b.Err }

// errNoRunFile is the error of a first line that is not a header.
var errNoRunFile = errors.New("it is no run file and no page of kt, or was cut off in its header: name the .ktr file of a run")

// Decoder decodes the lines of a run file, one after the other. The zero value is at the first line.
type Decoder struct {
	n      int // lines so far
	totals stats.Totals
}

// Decode returns the content of the next line, which shares no memory with text. It is a BadLine if no run can have its
// numbers, and unless a header is in the first line and nowhere else.
func (d *Decoder) Decode(text []byte) (of Line, err error) {
	d.n++
	if len(text) > MaxLine {
		err = fmt.Errorf("it is longer than %d bytes: this is not a run file", MaxLine)
	} else if w, ok := scanned(text, "window", scanWindow); ok {
		of.Window = &w
	} else if s, ok := scanned(text, "sample", scanSample); ok {
		of.Sample = &s
	} else if err = json.Unmarshal(text, &of); err != nil {
		err = fmt.Errorf("it is damaged: %w", err)
	}
	switch {
	case d.n == 1 && (err != nil || of.Header == nil):
		err = errNoRunFile
	case err != nil:
	case d.n > 1 && of.Header != nil:
		err = errors.New("it is a second header: each run has a file of its own")
	case of.Header != nil && of != Line{Header: of.Header}:
		err = errors.New("its header has more than a header has")
	case of.Header != nil:
		if err = CheckSchema(of.Header.Schema); err == nil {
			err = of.Header.Environment.Check()
		}
	default:
		if of.Window != nil {
			err = d.totals.Add(of.Window)
		}
		if err == nil && of.Result != nil {
			err = of.Result.complete()
		}
		if err == nil && of.Trailer != nil { // also in one line with a window
			err = errors.Join(of.Trailer.check(), d.totals.End())
		}
		if err != nil {
			err = fmt.Errorf("its numbers are impossible: %w", err)
		}
	}
	if err != nil {
		return Line{}, &BadLine{d.n, err}
	}
	return of, nil
}

// longest bounds the seconds of a run: a century.
const longest = 100 * 365 * 24 * 3600

// check returns an error if no run can have the numbers of the trailer.
func (t *Trailer) check() error {
	for _, s := range []float64{t.ElapsedSeconds, t.SendingSeconds} {
		if s < 0 || s > longest {
			return fmt.Errorf("it lasted %g s", s)
		}
	}
	return nil
}

// scanned reads a line of one field without encoding/json, which would take most of the time of reading a file.
func scanned[T any](text []byte, field string, scan func(text []byte) (T, bool)) (v T, ok bool) {
	if text, ok = bytes.CutPrefix(text, []byte(`{"`+field+`":`)); ok {
		text, ok = bytes.CutSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("}"))
	}
	if ok {
		v, ok = scan(text)
	}
	return v, ok
}

var (
	scanWindow = stats.ScannerOf[stats.Window]()
	scanSample = stats.ScannerOf[host.Sample]()
)

// measured is the mark of members with windows, samples and vitals alone.
const measured = 1

// Cutter cuts the bytes of a run file into lines, as they come. The zero value is ready to use.
type Cutter struct {
	bytes []byte // that are not cut
	from  int    // where these begin
	lines []byte // the rest of the newest member
	text  []byte // all of it; reused
	n     int    // lines so far
}

// Add adds the next bytes of the file.
func (c *Cutter) Add(b []byte) {
	c.bytes, c.from = append(slices.Delete(c.bytes, 0, c.from), b...), 0
}

// Rest returns how many bytes were added that are not cut.
func (c *Cutter) Rest() int { return len(c.bytes) - c.from }

// Next returns the next line with its end, which is valid until the next call; nil: it needs more bytes. With skim it
// passes over windows, samples and vitals.
func (c *Cutter) Next(skim bool) ([]byte, error) {
	for len(c.lines) == 0 {
		m, size, err := codec.CutMember(c.bytes[c.from:])
		switch {
		case err == nil && size == 0:
			return nil, nil
		case err == nil && skim && c.n > 0 && m.Mark == measured:
			c.n += m.Lines
		case err == nil:
			c.text, err = m.Append(c.text[:0])
			c.lines = c.text
		}
		if err != nil {
			c.lines = nil
			return nil, fmt.Errorf("it is damaged: %w", err)
		}
		c.from += size
	}
	end := bytes.IndexByte(c.lines, '\n') + 1
	line := c.lines[:end]
	c.lines = c.lines[end:]
	c.n++
	return line, nil
}

// Lines reads a run file line by line. It passes over an incomplete member at the end, as a kill leaves it.
type Lines struct {
	Decoder
	r    io.Reader
	room []byte // for one read
	cut  Cutter
	last int // number of the last line to read; 0: no limit
}

// NewLines reads a run file up to the line with the number last, or to its end if last is 0.
func NewLines(r io.Reader, last int) *Lines {
	return &Lines{r: r, room: make([]byte, 64<<10), last: last}
}

// FirstLine returns the first line of a run file; nil: it has none.
func FirstLine(r io.Reader) []byte {
	line, _ := NewLines(r, 1).text(false)
	return line
}

// Next returns the next line, which shares no memory with l. At the end the error is io.EOF. Any other error has the number of the
// line. With skim it passes over windows, samples and vitals, which are most of a file, without decoding them.
func (l *Lines) Next(skim bool) (Line, error) {
	text, err := l.text(skim)
	switch {
	case errors.Is(err, io.EOF):
		return Line{}, io.EOF
	case err != nil && l.cut.n == 0 && errors.Is(err, codec.ErrMember):
		return Line{}, &BadLine{1, errNoRunFile}
	case err != nil:
		return Line{}, &BadLine{l.cut.n + 1, err}
	}
	l.n = l.cut.n - 1 // others may have been passed over
	return l.Decode(text)
}

// All returns the rest of the lines. An error other than the end comes last.
func (l *Lines) All() iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for {
			of, err := l.Next(false)
			if errors.Is(err, io.EOF) || !yield(of, err) || err != nil {
				return
			}
		}
	}
}

// read adds what one read gives.
func (l *Lines) read() error {
	n, err := l.r.Read(l.room)
	if l.cut.Add(l.room[:n]); n > 0 {
		return nil
	}
	return err
}

// onlyZeros reports whether nothing but zeros follows.
func (l *Lines) onlyZeros() bool {
	for err := error(nil); len(bytes.Trim(l.cut.bytes[l.cut.from:], "\x00")) == 0; err = l.read() {
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		l.cut.from = len(l.cut.bytes)
	}
	return false
}

// text returns the next line, which is valid until the next call. At the end the error is io.EOF.
func (l *Lines) text(skim bool) ([]byte, error) {
	for l.last == 0 || l.cut.n < l.last {
		line, err := l.cut.Next(skim)
		switch {
		case errors.Is(err, codec.ErrMember) && l.cut.n > 0 && l.onlyZeros(): // as a power loss leaves the end of a file
			return nil, io.EOF
		case l.last > 0 && l.cut.n > l.last: // others were passed over
			return nil, io.EOF
		case line != nil || err != nil:
			return line, err
		}
		if err = l.read(); errors.Is(err, io.EOF) && l.cut.n == 0 && l.cut.Rest() > 0 {
			return nil, codec.ErrMember
		} else if err != nil {
			return nil, err
		}
	}
	return nil, io.EOF
}
