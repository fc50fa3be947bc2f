package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// line is one line of a run file: exactly one of the fields is set.
type line struct {
	Header  *Header       `json:"header,omitempty"`
	Window  *stats.Window `json:"window,omitempty"`
	Sample  *host.Sample  `json:"sample,omitempty"`
	Start   *Start        `json:"start,omitempty"`
	Vitals  *host.Vitals  `json:"vitals,omitempty"`
	Trailer *Trailer      `json:"trailer,omitempty"`
}

// maxLine bounds one line of a run file: a window with 100,000 partitions and
// 1,000 brokers stays below it.
const maxLine = 64 << 20

// lines reads a run file line by line.
type lines struct {
	r    *bufio.Reader
	long []byte // a line that does not fit into r's buffer; reused
	n    int    // lines so far
	upTo int    // the last line that is read; 0: all are

	totals stats.Totals
	torn   bool // the last line was incomplete, as a kill leaves it, and passed over
}

func newLines(r io.Reader) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10)}
}

// next is the next line, which shares no memory with l. At the end it is io.EOF; any
// other error tells the number of the line.
func (l *lines) next() (line, error) {
	text, err := l.text()
	last := errors.Is(err, io.EOF)
	switch {
	case last && len(text) == 0:
		return line{}, io.EOF
	case err != nil && !last:
		return line{}, l.wrap(err)
	}
	if w, ok := scanWindow(text); ok {
		return l.checked(line{Window: &w})
	}
	var decoded line
	switch err := json.Unmarshal(text, &decoded); {
	case err != nil && last && l.n > 1:
		l.torn = true
		return line{}, io.EOF
	case err != nil:
		return line{}, l.wrap(fmt.Errorf("it is not a line of a run file: %w", err))
	}
	return l.checked(decoded)
}

// checked refuses a line whose numbers no run has.
func (l *lines) checked(of line) (line, error) {
	var err error
	if of.Window != nil {
		err = l.totals.Add(of.Window)
	}
	if err == nil && of.Trailer != nil { // also in one line with a window
		err = errors.Join(of.Trailer.check(), l.totals.End())
	}
	if err != nil {
		return line{}, l.wrap(fmt.Errorf("its numbers cannot be: %w", err))
	}
	return of, nil
}

// longest is more seconds than any run has.
const longest = 100 * 365 * 24 * 3600

// check reports what a trailer cannot have.
func (t *Trailer) check() error {
	for _, s := range []float64{t.ElapsedSeconds, t.SendingSeconds} {
		if s < 0 || s > longest {
			return fmt.Errorf("it lasted %g s", s)
		}
	}
	return nil
}

// scanWindow reads a line that is a window, as most are, the fast way.
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
func (l *lines) wrap(err error) error { return &badLine{l.n, err} }

// badLine is a line that is no line of a run file.
type badLine struct {
	n   int
	err error
}

func (b *badLine) Error() string { return fmt.Sprintf("line %d: %v", b.n, b.err) }

func (b *badLine) Unwrap() error { return b.err }

// text is the bytes of the next line, until the call after this one.
func (l *lines) text() ([]byte, error) {
	if l.upTo > 0 && l.n >= l.upTo {
		return nil, io.EOF
	}
	l.n++
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.long)+len(part) > maxLine {
			return nil, fmt.Errorf("it is longer than %d bytes: this is not a run file", maxLine)
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
