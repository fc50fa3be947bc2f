package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

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
	r    *bufio.Reader
	long []byte // a line longer than r's buffer; reused
	last int    // number of the last line to read; 0: no limit
	torn bool   // the last line was incomplete, as a kill leaves it, and ignored
}

// NewLines reads a run file up to the line with the number last, or to its end if last is 0.
func NewLines(r io.Reader, last int) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, 32<<10), last: last}
}

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
	for {
		text, err := l.text()
		last := errors.Is(err, io.EOF)
		switch {
		case last && len(text) == 0:
			return Line{}, io.EOF
		case err != nil && !last:
			return Line{}, l.wrap(err)
		case skim && l.n > 1 && isMeasurement(text):
			continue
		}
		of, err := l.decode(text)
		switch {
		case err != nil && last && l.n > 1 && errors.As(err, new(damaged)):
			l.torn = true
			return Line{}, io.EOF
		case err != nil:
			return Line{}, l.wrap(err)
		}
		return of, nil
	}
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

// text returns the next line. It is valid until the next call.
func (l *Lines) text() ([]byte, error) {
	if l.last > 0 && l.n >= l.last {
		return nil, io.EOF
	}
	l.n++
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.long)+len(part) > MaxLine {
			return nil, errTooLong
		}
		if len(l.long) == 0 && !errors.Is(err, bufio.ErrBufferFull) {
			return part, err
		}
		l.long = append(l.long, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.long, err
		}
	}
}
