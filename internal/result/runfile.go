package result

import (
	"bufio"
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

// RunFile writes a run as it goes: one JSON object a line, each written whole, so
// that a killed run can be read up to its last second. The first error is kept
// and ends the writing; Close returns it.
type RunFile struct {
	w   io.WriteCloser
	err error
}

// NewRunFile starts a run file on w, which it closes in the end.
func NewRunFile(w io.WriteCloser, h Header) (*RunFile, error) {
	f := &RunFile{w: w}
	f.write(line{Header: &h})
	return f, f.err
}

// AddWindow writes a window.
func (f *RunFile) AddWindow(w stats.Window) { f.write(line{Window: &w}) }

// AddSample writes a sample.
func (f *RunFile) AddSample(s host.Sample) { f.write(line{Sample: &s}) }

// Begin writes when the load began.
func (f *RunFile) Begin(s Start) { f.write(line{Start: &s}) }

// AddVitals writes how busy the machine was: of a file that tells of a machine that
// was watched, and not of a load.
func (f *RunFile) AddVitals(v host.Vitals) { f.write(line{Vitals: &v}) }

// Err is why nothing more is written, nil while all is well.
func (f *RunFile) Err() error { return f.err }

// Close writes the trailer and closes the file.
func (f *RunFile) Close(t Trailer) error {
	f.write(line{Trailer: &t})
	return errors.Join(f.err, f.w.Close())
}

func (f *RunFile) write(l line) {
	if f.err != nil {
		return
	}
	b, err := json.Marshal(l)
	if err == nil {
		_, err = f.w.Write(append(b, '\n'))
	}
	if err != nil {
		f.err = fmt.Errorf("write run file: %w", err)
	}
}

// maxLine bounds one line of a run file: a window with 100,000 partitions and
// 1,000 brokers stays below it.
const maxLine = 64 << 20

// Replay reads a run file into the same fold that a live run feeds. An incomplete
// last line, as a kill leaves it, is passed over; anything else that is not a run
// file of this schema is an error.
func Replay(r io.Reader) (*Fold, error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	var f *Fold
	for n := 1; ; n++ {
		text, err := readLine(lines)
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if len(text) > 0 {
			if f, err = replayLine(f, text, last); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		}
		if last {
			break
		}
	}
	if f == nil {
		return nil, errors.New("it is empty, not a run file")
	}
	return f, nil
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := r.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > maxLine {
			return nil, fmt.Errorf("it is longer than %d bytes: this is not a run file", maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, err
		}
	}
}

// replayLine adds one line to the fold, which it makes of the first. The last line
// may be torn.
func replayLine(f *Fold, text []byte, last bool) (*Fold, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		if last && f != nil {
			return f, nil
		}
		return nil, fmt.Errorf("it is not a line of a run file: %w", err)
	}
	switch {
	case f == nil && l.Header == nil:
		return nil, errors.New("it is not the header of a run file")
	case f == nil && l.Header.Schema != Schema:
		return nil, fmt.Errorf("its schema is %d, and this kt reads %d", l.Header.Schema, Schema)
	case f == nil:
		f = NewFold(*l.Header)
	case l.Header != nil:
		return nil, errors.New("it is a second header: each run has a file of its own")
	case l.Window != nil:
		f.AddWindow(*l.Window)
	case l.Sample != nil:
		f.AddSample(*l.Sample)
	case l.Start != nil:
		f.Begin(*l.Start)
	case l.Trailer != nil:
		f.Finish(*l.Trailer)
	}
	return f, nil
}
