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

// MaxLine bounds one line of a run file: a window with 100,000 partitions and
// 1,000 brokers stays below it.
const MaxLine = 64 << 20

// Decoder decodes the lines of a run file, one after the other. The zero value is at the first line.
type Decoder struct {
	n      int // lines so far
	totals stats.Totals
}

// Decode returns the content of the next line, which shares no memory with text. An error has the
// number of the line.
func (d *Decoder) Decode(text []byte) (Line, error) {
	d.n++
	if len(text) > MaxLine {
		return Line{}, d.wrap(errTooLong)
	}
	l, err := d.decode(text)
	if err != nil {
		return Line{}, d.wrap(err)
	}
	return l, nil
}

// Lines reads a run file line by line.
type Lines struct {
	Decoder
	r     io.Reader
	cut   Cutter
	chunk []byte // that was read last; reused
	last  int    // number of the last line to read; 0: no limit
	torn  bool   // the end was incomplete, as a kill leaves it, and ignored
}

// NewLines reads a run file up to the line with the number last, or to its end if last is 0.
func NewLines(r io.Reader, last int) *Lines {
	return &Lines{r: r, chunk: make([]byte, 64<<10), last: last}
}

// Cutter cuts the bytes of a run file into lines, as they come: those of members, and plain ones, as zstd -dc writes them.
// The zero value is ready to use.
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
	for {
		for len(c.lines) > 0 {
			end := bytes.IndexByte(c.lines, '\n') + 1
			line := c.lines[:end]
			c.lines = c.lines[end:]
			if c.n++; len(line) > MaxLine {
				return nil, errTooLong
			}
			if !skim || c.n == 1 || !isMeasurement(line) {
				return line, nil
			}
		}
		rest := c.bytes[c.from:]
		if len(rest) < 4 || !codec.IsMember(rest) {
			end := bytes.IndexByte(rest, '\n') + 1
			if end == 0 && len(rest) <= MaxLine {
				return nil, nil
			}
			c.lines = rest[:end]
			c.from += end
			if end == 0 {
				c.n++
				return nil, errTooLong
			}
			continue
		}
		m, size, err := codec.CutMember(rest)
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
			c.n++
			c.lines = nil
			return nil, damaged{err}
		}
		c.from += size
	}
}

// FirstLine returns the first line of a run file; nil: it has none.
func FirstLine(r io.Reader) []byte {
	if line, whole, _ := NewLines(r, 1).text(false); whole {
		return line
	}
	return nil
}

// measured is the mark of members with windows, samples and vitals alone.
const measured = 1

// errNoRunFile is the error of a first line that is not a header.
var errNoRunFile = errors.New("it is no run file and no page of kt, or was cut off in its header: name the .ktr file of a run")

var errTooLong = fmt.Errorf("it is longer than %d bytes: this is not a run file", MaxLine)

// checkHeader returns an error unless line n of a run file holds a header where it should: in
// line 1, of this schema, and nowhere else.
func (l *Line) checkHeader(n int) error {
	switch {
	case n > 1 && l.Header != nil:
		return errors.New("it is a second header: each run has a file of its own")
	case n > 1:
		return nil
	case l.Header == nil:
		return errNoRunFile
	case *l != (Line{Header: l.Header}):
		return errors.New("its header has more than a header has")
	}
	return CheckSchema(l.Header.Schema)
}

// Next returns the next line, which shares no memory with l. At the end the error is io.EOF.
// Any other error has the number of the line.
func (l *Lines) Next() (Line, error) { return l.next(false) }

// All returns the rest of the lines. An error other than the end comes last.
func (l *Lines) All() iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for {
			of, err := l.Next()
			if errors.Is(err, io.EOF) || !yield(of, err) || err != nil {
				return
			}
		}
	}
}

// Skim is Next that passes over windows, samples and vitals, which are most of a file, without decoding them.
func (l *Lines) Skim() (Line, error) { return l.next(true) }

func (l *Lines) next(skim bool) (Line, error) {
	text, whole, err := l.text(skim)
	if l.n = l.cut.n; err != nil {
		return Line{}, err
	}
	of, err := l.decode(text)
	switch {
	case err != nil && !whole && l.n > 1 && errors.As(err, new(damaged)):
		l.torn = true
		return Line{}, io.EOF
	case err != nil:
		return Line{}, l.wrap(err)
	}
	return of, nil
}

// isMeasurement reports whether a line is a window, a sample or vitals.
func isMeasurement(text []byte) bool {
	for _, kind := range []string{`{"window":`, `{"sample":`, `{"vitals":`} {
		if bytes.HasPrefix(text, []byte(kind)) {
			return true
		}
	}
	return false
}

// decode returns the content of the current line, or an error if no run can have its numbers. A header is in the first
// line and nowhere else.
func (d *Decoder) decode(text []byte) (of Line, err error) {
	if w, ok := scanWindow(text); ok {
		of.Window = &w
	} else if err := json.Unmarshal(text, &of); err != nil {
		if d.n == 1 {
			return Line{}, errNoRunFile
		}
		return Line{}, damaged{err}
	}
	if err := of.checkHeader(d.n); err != nil {
		return Line{}, err
	}
	if of.Window != nil {
		err = d.totals.Add(of.Window)
	}
	if err == nil && of.Trailer != nil { // also in one line with a window
		err = errors.Join(of.Trailer.check(), d.totals.End())
	}
	if err != nil {
		return Line{}, fmt.Errorf("its numbers are impossible: %w", err)
	}
	return of, nil
}

// damaged is the error of a line that is not JSON: incomplete, or not of a run file.
type damaged struct{ error }

func (e damaged) Error() string { return "it is damaged: " + e.error.Error() }

func (e damaged) Unwrap() error { return e.error }

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

// scanWindow reads a line that is a window without encoding/json, which would take most of the time
// of reading a file.
func scanWindow(text []byte) (stats.Window, bool) {
	text, ok := bytes.CutPrefix(text, []byte(`{"window":`))
	if !ok {
		return stats.Window{}, false
	}
	text, ok = bytes.CutSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("}"))
	if !ok {
		return stats.Window{}, false
	}
	return stats.ScanWindow(text)
}

// wrap adds the number of the current line to an error.
func (d *Decoder) wrap(err error) error { return &BadLine{d.n, err} }

// BadLine is the error of a line that no kt writes.
type BadLine struct {
	Number int // from 1
	Err    error
}

func (b *BadLine) Error() string { return fmt.Sprintf("line %d: %v", b.Number, b.Err) }

func (b *BadLine) Unwrap() error { return b.Err }

// text returns the next line, which is valid until the next call. whole is false of a last one without its end.
func (l *Lines) text(skim bool) (line []byte, whole bool, err error) {
	for l.last == 0 || l.cut.n < l.last {
		line, err := l.cut.Next(skim)
		switch {
		case err != nil:
			l.n = l.cut.n
			return nil, false, l.wrap(err)
		case line != nil && l.last > 0 && l.cut.n > l.last: // others were passed over
			return nil, false, io.EOF
		case line != nil:
			return line, true, nil
		}
		n, err := l.r.Read(l.chunk)
		l.cut.Add(l.chunk[:n])
		switch rest := l.cut.bytes[l.cut.from:]; {
		case err == nil || n > 0:
		case !errors.Is(err, io.EOF):
			l.n = l.cut.n + 1
			return nil, false, l.wrap(err)
		case len(rest) > 0 && !codec.IsMember(rest):
			l.cut.n++
			l.cut.from += len(rest)
			return rest, false, nil
		case len(rest) > 0 && l.cut.n == 0:
			l.n = 1
			return nil, false, l.wrap(errNoRunFile)
		default:
			l.torn = l.torn || len(rest) > 0
			return nil, false, io.EOF
		}
	}
	return nil, false, io.EOF
}
